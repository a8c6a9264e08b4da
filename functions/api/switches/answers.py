"""The answers about switches."""

from typing import Annotated

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, described
from functions.api.forms import text_of
from postdate.domain import switch as switches


class SwitchTurn(TypedDict):
    at: Instant
    on: bool
    by: Annotated[str, described("The key that turned it.")]
    reason: str


class SwitchState(TypedDict):
    name: str
    on: Annotated[bool, described("True if it works normally.")]
    off_at: Annotated[
        Instant | None,
        described(
            "Since when it is off, or was off last. Two times count as one while the first is being caught up."
        ),
    ]
    on_at: Annotated[Instant | None, described("Since when it is on again; null while it is off.")]
    caught_up_at: Annotated[
        Instant | None,
        described(
            "When the last payment that waited for it is released, at the latest; null while it is off."
        ),
    ]
    version: Annotated[Count, described("One more with each turn; 0 if it was never turned.")]


class Switch(SwitchState):
    history: Annotated[list[SwitchTurn], described("The newest first, at most 50.")]


class SwitchList(TypedDict):
    switches: list[SwitchState]


def state_of(switch: switches.Switch) -> SwitchState:
    return {
        "name": switch.name,
        "on": switch.on,
        "off_at": text_of(switch.off_at),
        "on_at": text_of(switch.on_at),
        "caught_up_at": text_of(switch.caught_up_at),
        "version": switch.version,
    }


def of(switch: switches.Switch) -> Switch:
    return {
        **state_of(switch),
        "history": [
            {"at": text_of(turn.at), "on": turn.on, "by": turn.by, "reason": turn.why}
            for turn in reversed(switch.history)
        ],
    }
