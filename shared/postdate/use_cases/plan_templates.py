"""The template of a recurring task's runs as it is stored: a payload that would make each run's row expensive gets a
row of its own, which all runs name."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.definition import Definition
from postdate.domain.errors import Unavailable
from postdate.domain.recurrence import Runs
from postdate.domain.task import LIFETIME, Payload
from postdate.stores.payloads import Payloads
from postdate.stores.tasks import Tasks

# After the last run that names it.
PAYLOAD_KEPT: Final = LIFETIME + timedelta(days=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Templates:
    tasks: Tasks
    payloads: Payloads
    runs: Runs
    # The time for which a payload stays that no later run names.
    payload_kept: timedelta
    unique: Callable[[], bytes]

    def text(self, definition: Definition) -> str | None:
        payload = definition.template.payload
        return payload.text if payload.key is None else self.payloads.get(payload.key)

    def kept(self, definition: Definition, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes of a template. A payload that has the text of the stored one keeps the stored one's row."""
        stored, given = definition.template.payload, changes.get("payload")
        if stored.key is None or given is None or given.text is None or given.text != self.text(definition):
            return dict(changes)
        return {**changes, "payload": stored}

    def stored(self, definition: Definition, *, now: datetime) -> Definition:
        """The definition with its payload in the right place. Only the first payload has a fixed key, because all tries
        of a registration write the same text. Each later payload gets a new key, so no request overwrites another's."""
        text = definition.template.payload.text
        # Any instant does: what counts is how large a row is.
        run = self.runs.out_of_turn(definition, name="size", due_at=now, now=now, why="planned")
        if text is None or self.tasks.fits(run):
            return definition
        of = str(definition.version) if definition.version == 1 else self.unique().hex()
        key = f"{definition.id}#{of}"
        self.payloads.put(key, text, keep_until=instants.LAST)
        template = replace(definition.template, payload=definition.template.payload.moved_to(key))
        return replace(definition, template=template)

    def let_go(self, payload: Payload, *, now: datetime) -> None:
        """Lets a payload expire that no later run names. Runs that have begun may read it. A failure has no effect."""
        with suppress(Unavailable):
            text = None if payload.key is None else self.payloads.get(payload.key)
            if payload.key is not None and text is not None:
                self.payloads.put(payload.key, text, keep_until=now + self.payload_kept)
