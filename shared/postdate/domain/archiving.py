"""Events as the archive keeps them: names sealed, amounts readable, and manifests that name every object.

The archive cannot be changed, so each text that may hold a name is sealed before it is written. The end of an owner's
key therefore erases the owner's names from all objects at once. Numbers and the texts in PLAIN are no names.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from postdate.domain.event import Event
from postdate.domain.event_body import body_of, instant_text

Text = Callable[[str], str]
# Fields of an event's data whose texts are words of ours or instants.
PLAIN: Final = frozenset(
    {
        *("status", "state", "funding", "tier", "overlap", "catch_up", "kind", "action", "error_code"),
        *("scheduled_time", "planned_at", "next_attempt_at", "executed_at", "finished_at", "start_at"),
        *("end_at", "off_at", "on_at", "paused_at", "down_since", "expires_at", "revoked_at"),
        "replaced_secret_until",
    }
)
# The use of the data key that seals the archive's texts.
PURPOSE: Final = "archive"
# Parts of the data that hold fields in their turn.
_FIELDS: Final = ("before", "after")
# The field that stands in place of a value that only the tenant's key opens.
_SEALED: Final = "sealed"
MANIFESTS: Final = "manifests/"


def owner_of_key(tenant: str) -> str:
    """The owner of the data key that seals a tenant's names in the archive. No tenant has a name with a stroke."""
    return f"archive/{tenant}"


def pseudonym(sealed_name: str) -> str:
    """The tenant's name in the names of objects. It follows from the tenant's key, and tells nothing without it."""
    return hashlib.sha256(sealed_name.encode()).hexdigest()[:32]


def line_of(event: Event, *, owner: str, seal: Text) -> bytes:
    """One line of an object, the same for the same event and key."""
    body = body_of(event)
    # The service makes the ids of items. Any other subject has a name that the tenant chose, and the id of
    # its event contains the name.
    if not event.subject.is_item:
        body["event_id"] = seal(body["event_id"])
        body["subject"]["id"] = seal(body["subject"]["id"])
    if event.accounts:
        body["subject"]["account_ids"] = [seal(each) for each in event.accounts]
    # A function is a part of the service. Any other author may lead to a person.
    if event.actor.type != "function":
        body["actor"]["id"] = seal(event.actor.id)
    body["data"] = {name: _part(name, value, _kept(seal)) for name, value in body["data"].items()}
    return (json.dumps({"tenant": owner, **body}, separators=(",", ":")) + "\n").encode()


def opened(line: bytes, open: Text) -> dict[str, Any]:
    """The event as it was told, without the pseudonym of its tenant. `open` returns texts that are not sealed as they
    are."""
    body: dict[str, Any] = json.loads(line)
    body.pop("tenant")
    body["event_id"] = open(body["event_id"])
    body["subject"]["id"] = open(body["subject"]["id"])
    if "account_ids" in body["subject"]:
        body["subject"]["account_ids"] = [open(each) for each in body["subject"]["account_ids"]]
    body["actor"]["id"] = open(body["actor"]["id"])

    def value_of(_: str, value: Any) -> Any:
        return json.loads(open(value[_SEALED])) if isinstance(value, Mapping) else value

    body["data"] = {name: _part(name, value, value_of) for name, value in body["data"].items()}
    return body


def _part(name: str, value: Any, each: Callable[[str, Any], Any]) -> Any:
    """Applies `each` to the fields of a part, or to a value of its own."""
    if name in _FIELDS:
        return {field: each(field, found) for field, found in value.items()}
    return each(name, value)


def _kept(seal: Text) -> Callable[[str, Any], Any]:
    def value_of(name: str, value: Any) -> Any:
        plain = value is None or isinstance(value, int | float) or (isinstance(value, str) and name in PLAIN)
        return value if plain else {_SEALED: seal(json.dumps(value))}

    return value_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """One object of the archive, as its manifest tells it."""

    # The address of the object in the archive.
    key: str
    # The first part of the types of its events.
    kind: str
    # The number of its lines.
    events: int
    # The size and the SHA-256 of the object, compressed as it is stored.
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The pages of a feed that were archived together, and the objects that hold their events. A manifest is written
    after its objects, so objects without one are the rest of a run that died."""

    # The tenant's pseudonym.
    owner: str
    # The feed, and the first and the last of its pages.
    log: str
    first_page: int
    last_page: int
    # The day on which the first page was recorded, in UTC.
    day: date
    # The instants at which the first and the last page were recorded.
    recorded_from: datetime
    recorded_until: datetime
    # One object for each kind of subject that the pages tell of.
    objects: tuple[Stored, ...]
    # Sealed ids of events that pages list and no row has; empty unless rows were removed.
    missing: tuple[str, ...] = ()
    # Pages between the manifest before and this one that expired before they were archived.
    lost_pages: int = 0
    # The key and the SHA-256 of the manifest before; empty for the first.
    previous_key: str = ""
    previous_sha256: str = ""

    @property
    def key(self) -> str:
        """Two runs that archive from the same page write the same key: the second is refused."""
        return f"{manifests_of(self.owner)}{self.day.isoformat()}/{self.log}-{self.first_page:012d}.json"

    def text(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        values["day"] = self.day.isoformat()
        values["recorded_from"] = instant_text(self.recorded_from)
        values["recorded_until"] = instant_text(self.recorded_until)
        values["objects"] = [
            {name: getattr(each, name) for name in Stored.__slots__} for each in self.objects
        ]
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def parse(cls, text: bytes) -> "Manifest":
        """Raises ValueError, KeyError or TypeError for a text that is no manifest."""
        values = json.loads(text)
        return cls(
            **values
            | {
                "day": date.fromisoformat(values["day"]),
                "recorded_from": datetime.fromisoformat(values["recorded_from"]),
                "recorded_until": datetime.fromisoformat(values["recorded_until"]),
                "objects": tuple(Stored(**each) for each in values["objects"]),
                "missing": tuple(values["missing"]),
            }
        )


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifests_of(owner: str) -> str:
    """The beginning of the keys of an owner's manifests."""
    return f"{MANIFESTS}{owner}/"


def object_key(*, owner: str, day: date, kind: str, log: str, first_page: int, content: bytes) -> str:
    """Follows from the pages and from the content, so a repeated run writes the same object again."""
    name = f"{owner}-{log}-{first_page:012d}-{hash_of(content)[:16]}"
    return f"events/day={day.isoformat()}/kind={kind}/{name}.jsonl.gz"


def by_kind(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Groups events by the kind of their subject, because the archive writes one object for each kind. Each group keeps
    the order of the feed."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.subject.kind, []).append(event)
    return found
