"""A drill: one fault, from its begin to its repair, told in lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from chaos.game.ground import Ground

Line: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drill:
    """The first line of `play` tells the fault. A drill that is `beside` the others has only to wait after it, and
    shares the stack with them."""

    name: str
    play: Callable[[Ground, Random], Iterator[Line]]
    beside: bool = False


def fault(text: str, count: int) -> Line:
    return {"what": "fault", "count": count, "ok": count > 0, "observed": text}


def seen(ok: object, text: str, **figures: float) -> Line:
    return {"what": "seen", "ok": bool(ok), "observed": text} | figures


def told(alarm: str, fires: bool) -> Line:
    return {"what": "told", "ok": fires, "observed": f"the alarm {alarm} {'fires' if fires else 'is quiet'}"}


def put_right(ok: object, text: str, **figures: float) -> Line:
    return {"what": "put right", "ok": bool(ok), "observed": text} | figures
