"""An event: one immutable record of one version of a payment, a task, an account or another subject.

Its id is a function of the subject and the version, so a change that is recorded twice makes one event.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from postdate.domain.definition import is_definition
from postdate.domain.item import kind_of
from postdate.domain.slots import is_id

# Deliveries and steps of operations are missing here: they make no events.
_KINDS: Final = {"pay": "payment", "task": "task", "run": "run"}
_PREFIX: Final = "evt"
# Owner of subjects that belong to no tenant: operators' keys, switches and parameters. No tenant can have this name.
SERVICE: Final = "@service"


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    """The author of a change."""

    # `key`, `function` or `operation`; `aws` for a person with credentials of AWS; `unknown` if the history line names
    # no author.
    type: str
    # The id of the key or operation, or the name of the function; `unknown` like the type.
    id: str

    @classmethod
    def parse(cls, text: str) -> "Actor":
        """Reads `<type>:<id>`."""
        type, _, id = text.partition(":")
        return cls(type=type, id=id) if type and id else UNKNOWN


UNKNOWN: Final = Actor(type="unknown", id="unknown")


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """The item that changed."""

    # The owner.
    tenant: str
    # The first part of the types of its events, such as `payment`.
    kind: str
    # The id of the payment, task, run or recurring task.
    id: str

    @property
    def is_item(self) -> bool:
        """True if no two tenants share the id: an event is named by the bare id."""
        return self.kind == kind_of_item(self.id)

    def event_id(self, sequence: int) -> str:
        if self.is_item:
            return f"{_PREFIX}_{sequence}_{self.id}"
        name = base64.urlsafe_b64encode(f"{self.tenant}/{self.id}".encode()).decode().rstrip("=")
        return f"{_PREFIX}_{sequence}_{self.kind}_{name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One change of one subject, made from an image of a stream by the function `record`."""

    # The item that changed.
    subject: Subject
    # The kind of the subject and the name of the change, such as `task.dead`.
    type: str
    # The subject's version: the first is 1, and none is left out.
    sequence: int
    # The instant of the change, from its history line.
    occurred_at: datetime
    # The instant of the recording, set by the feed; None before.
    recorded_at: datetime | None = None
    # The author of the change, from its history line.
    actor: Actor = UNKNOWN
    # The accounts that the change is about; empty for tasks.
    accounts: tuple[str, ...] = ()
    # The fields `after` the change and, of those that it changed, the values `before`; empty if reconstructed.
    data: Mapping[str, Any] = field(default_factory=dict)
    # True if the event was made from the subject's history, which has no values.
    reconstructed: bool = False
    # The depth of the task, see `Task.depth`; 0 for other subjects.
    depth: int = 0

    @property
    def id(self) -> str:
        return self.subject.event_id(self.sequence)


def parsed_id(tenant: str, event_id: str) -> tuple[Subject, int] | None:
    """The subject and the sequence in the id of an event; None for any other text. An item's id has no tenant, so
    `tenant` is taken as the owner and not checked. All other ids name their owner: None if that is another tenant."""
    prefix, _, rest = event_id.partition("_")
    number, _, name = rest.partition("_")
    if prefix != _PREFIX or not number.isdecimal() or not number.isascii() or len(number) > 9:
        return None
    item = kind_of_item(name)
    if item is not None:
        return Subject(tenant=tenant, kind=item, id=name), int(number)
    kind, _, encoded = name.partition("_")
    try:
        owner, _, id = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode().partition("/")
    except (binascii.Error, ValueError):
        return None
    return (Subject(tenant=tenant, kind=kind, id=id), int(number)) if owner == tenant else None


def kind_of_item(id: str) -> str | None:
    """The kind of subject that an item's id names; None for any other text, and for a step of a backfill."""
    if not is_id(id):
        return None
    return "plan" if is_definition(id) else _KINDS.get(kind_of(id))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The values before of all fields that differ."""
    return {name: value for name, value in before.items() if after.get(name) != value}
