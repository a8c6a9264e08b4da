"""Asking until there is an answer: one that got lost, or tells of trouble, leaves unknown what was done."""

import http.client
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from chaos.notes import Notes
from cli.client import Answer

PATIENCE_SECONDS: Final = 45
_PAUSE_SECONDS: Final = 0.3
_LOST: Final = (OSError, http.client.HTTPException, ValueError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """`answer` is None when there was none at all; `unknown` counts tries before it that may have done something."""

    answer: Answer | None
    unknown: int

    @property
    def status(self) -> int:
        return 0 if self.answer is None else self.answer.status

    @property
    def body(self) -> dict[str, Any]:
        return self.answer.body if self.answer is not None and isinstance(self.answer.body, dict) else {}


def ask(
    what: str,
    send: Callable[[], Answer],
    notes: Notes,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    sleep: Callable[[float], bool | None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Asked:
    """`sleep` answers True when it is no use to go on."""
    notes.asked[what] += 1
    unknown, deadline = 0, now() + patience_seconds
    while True:
        answer = _sent(send)
        if answer is not None and _is_known(answer):
            granted = answer.status < 300
            (notes.granted if granted else notes.refused)[what if granted else _code(what, answer)] += 1
            return Asked(answer=answer, unknown=unknown)
        if answer is None or answer.status >= 500:
            notes.unknown[what] += 1
            unknown += 1
        if now() > deadline or sleep(_PAUSE_SECONDS):
            return Asked(answer=None, unknown=unknown)


def _sent(send: Callable[[], Answer]) -> Answer | None:
    try:
        return send()
    except _LOST:
        return None


def _is_known(answer: Answer) -> bool:
    return answer.status < 500 and answer.status != 429 and _code("", answer) != " idempotency_in_progress"


def _code(what: str, answer: Answer) -> str:
    code = answer.body.get("code") if isinstance(answer.body, dict) else None
    return f"{what} {code or answer.status}"
