"""The transitions of states, as the checkers know them: written down a second time, so that a mistake in the code's
table shows. A test compares the two."""

from typing import Final

TASKS: Final[dict[str, set[str]]] = {
    "PENDING": {"PENDING", "RUNNING", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"},
    "RUNNING": {"RUNNING", "SUCCEEDED", "RETRYING", "DEAD", "EXPIRED"},
    "RETRYING": {"RUNNING", "RETRYING", "CANCELLED", "EXPIRED"},
    "DEAD": {"RUNNING", "RETRYING", "EXPIRED"},
    "SUCCEEDED": set(),
    "CANCELLED": set(),
    "EXPIRED": set(),
    "SKIPPED": set(),
    "MISSED": set(),
}
PAYMENTS: Final[dict[str, set[str]]] = {
    "PENDING": {"PENDING", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED"},
    "EXECUTING": {"EXECUTING", "COMPLETED", "FAILED", "CANCELLED"},
    "COMPLETED": set(),
    "FAILED": set(),
    "CANCELLED": set(),
}
FINAL: Final = frozenset({"SUCCEEDED", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "COMPLETED", "FAILED"})
DEFINITIONS: Final[dict[str, set[str]]] = {
    "ACTIVE": {"ACTIVE", "PAUSED", "FINISHED", "CANCELLED"},
    "PAUSED": {"PAUSED", "ACTIVE", "CANCELLED"},
    "FINISHED": {"ACTIVE", "CANCELLED"},
    "CANCELLED": set(),
}
