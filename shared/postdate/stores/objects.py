"""Payloads that tenants keep themselves, each tenant's behind credentials that reach no other's."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableObject:
    """The answer for an object that could not be read."""

    # The reason, in words for the owner.
    why: str
    # True if another try cannot succeed with the same object.
    final: bool = False


Found: TypeAlias = bytes | UnreadableObject
TOO_LARGE = UnreadableObject(why="the payload is larger than 256 KB", final=True)
MISSING = UnreadableObject(why="the payload is missing")


class Objects(Protocol):
    def read(self, tenant: str, name: str) -> Found:
        """The content of the object, or the reason why it cannot be read; raises nothing. `name` begins with the
        tenant's prefix."""


class MemoryObjects:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def read(self, tenant: str, name: str) -> Found:
        found = self.kept.get(name) if name.startswith(f"{tenant}/") else None
        if found is None:
            return MISSING
        return found if len(found) <= PAYLOAD_BYTES_MAX else TOO_LARGE
