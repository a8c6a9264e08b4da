"""The types of events that are recorded, by the kind of their subject."""

from collections.abc import Mapping
from typing import Final

from postdate.domain import payment_event
from postdate.domain.task import State

_ENDS_OF_TASKS: Final = tuple(state.value.lower() for state in State if state.end is not None)
_OF_TASKS: Final = ("registered", "changed", "started", "retrying", *_ENDS_OF_TASKS)
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "payment": payment_event.NAMES,
    "task": _OF_TASKS,
    "run": _OF_TASKS,
    "plan": ("created", "changed", "paused", "resumed", "finished", "cancelled"),
    "account": ("opened", "closed", "frozen", "unfrozen", "deposited", "adjusted", "limits_changed"),
    "tenant": ("created", "changed", "suspended", "resumed", "erased"),
    "key": ("created", "rotated", "revoked"),
    "secret": ("rotated",),
    "subscription": ("created", "changed", "ended"),
    "destination": ("opened", "closed"),
    "flow_key": ("changed",),
    "operation": ("started", "ended"),
    "switch": ("changed",),
    "config": ("changed",),
    "audit": ("failed",),
}
TYPES: Final = tuple(f"{kind}.{name}" for kind, names in NAMES.items() for name in names)


def is_wanted(text: str) -> bool:
    """True for a type, for all types of a kind (`payment.*`), and for all types (`*`)."""
    kind, _, name = text.partition(".")
    return text == "*" or (kind in NAMES and (name == "*" or name in NAMES[kind]))
