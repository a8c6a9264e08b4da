"""The golden list as single rights, and which of them a call uses."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from typing import Final

from tests.infra.permissions import (
    ARCHIVE_OBJECTS,
    ARCHIVED_PAYMENTS,
    CONSUME,
    FOLLOW,
    GRANTED,
    GRANTED_BY_ATTRIBUTES,
    GRANTED_BY_KEYS,
    GRANTED_BY_OWNERS,
    GRANTED_IN_TRANSACTIONS,
    LOGS,
    TRACES,
)
from tests.rights.needs import Need

READER: Final = "the reader of payloads"
# Lambda reads these queues for the function.
_READ_BY_LAMBDA: Final = {
    ("sweep", "queue:ticks"),
    ("run-tasks", "queue:tasks"),
    ("run-tasks", "queue:slow"),
    ("settle", "queue:payments"),
}


class Kind(StrEnum):
    FREE = "free"
    IN_TRANSACTIONS = "in transactions"
    BY_ATTRIBUTES = "by attributes"
    BY_OWNERS = "by owners"
    BY_KEYS = "by keys"


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    role: str
    kind: Kind
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.role} | {self.action} | {self.resource} | {self.kind}"


def rights() -> Iterator[Right]:
    for kind, grants in (
        (Kind.FREE, GRANTED),
        (Kind.IN_TRANSACTIONS, GRANTED_IN_TRANSACTIONS),
        (
            Kind.BY_ATTRIBUTES,
            {
                role: {resource: actions for resource, (actions, _) in found.items()}
                for role, found in GRANTED_BY_ATTRIBUTES.items()
            },
        ),
        (
            Kind.BY_KEYS,
            {
                role: {resource: actions for resource, (actions, _) in found.items()}
                for role, found in GRANTED_BY_KEYS.items()
            },
        ),
        (Kind.BY_OWNERS, {role: found for role, (found, _) in GRANTED_BY_OWNERS.items()}),
    ):
        for role, resources in grants.items():
            for resource, actions in sorted(resources.items()):
                for action in sorted(actions):
                    yield Right(role=role, kind=kind, action=action, resource=resource)


def used_by_aws(right: Right) -> bool:
    """Rights that Lambda, EventBridge Scheduler and Step Functions use for us: no call of ours misses them."""
    return (
        right.role.startswith(("the machine", "the schedule", "the watcher"))
        or right.action in LOGS | TRACES | FOLLOW
        or (right.action in CONSUME and (right.role, right.resource) in _READ_BY_LAMBDA)
    )


def allowing(role: str, need: Need) -> Right | None:
    """The right that lets this role make this call."""
    for right in _of(role, need):
        if right in _ALL:
            return right
    return None


def _of(role: str, need: Need) -> Iterator[Right]:
    def of(kind: Kind, resource: str = need.resource) -> Right:
        return Right(role=role, kind=kind, action=need.action, resource=resource)

    yield of(Kind.FREE)
    if need.resource == ARCHIVE_OBJECTS and need.leading.startswith("payments/"):
        yield of(Kind.FREE, ARCHIVED_PAYMENTS)
    if need.in_transaction:
        yield of(Kind.IN_TRANSACTIONS)
    _, attributes = GRANTED_BY_ATTRIBUTES.get(role, {}).get(need.resource, (set(), set()))
    if need.attributes and need.attributes <= attributes:
        yield of(Kind.BY_ATTRIBUTES)
    _, pattern = GRANTED_BY_KEYS.get(role, {}).get(need.resource, (set(), ""))
    if need.leading and fnmatch(need.leading, pattern):
        yield of(Kind.BY_KEYS)
    if need.owner and role in GRANTED_BY_OWNERS:
        _, condition = GRANTED_BY_OWNERS[role]
        ((operator, values),) = condition.items()
        fits = any(fnmatch(need.owner, value) for value in values.values())
        if fits == (operator != "StringNotEquals"):
            yield of(Kind.BY_OWNERS)


_ALL: Final = frozenset(rights())
