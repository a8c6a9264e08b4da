"""Events of the service's parameters. AppConfig has no stream: the command that deploys a document tells of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from postdate.domain.event import SERVICE, Actor, Event, Subject, differences

CHANGED: Final = "config.changed"


def config_changed(given: Mapping[str, Any]) -> list[Event]:
    """The events of one deployment, which is a subject of its own: that it began, and that it was taken back. So the
    same deployment makes the same events however often it is told.

    `began` and `taken_back` (None for a deployment that stands) name an instant `at`, the author `by` and a `reason`.
    `before` and `after` are all parameters by their names."""
    subject = Subject(tenant=SERVICE, kind="config", id=f"parameters-{given['number']}")
    steps = [(given["began"], given["before"], given["after"])]
    if given["taken_back"] is not None:
        steps.append((given["taken_back"], given["after"], given["before"]))
    return [
        Event(
            subject=subject,
            type=CHANGED,
            sequence=sequence,
            occurred_at=datetime.fromisoformat(step["at"]),
            actor=Actor.parse(step["by"]),
            data={"after": after, "before": differences(before, after), "reason": step["reason"]},
        )
        for sequence, (step, before, after) in enumerate(steps, start=1)
    ]
