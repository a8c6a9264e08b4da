"""Functions that cause events of payments, tasks and runs on a local stack."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.trigger.hands import API, Hands
from postdate.domain import settlement, transitions
from postdate.domain.retry import RetryPolicy

Fixture = Callable[[Hands], str]
ONCE: Final = {"retry": {"max_attempts": 1}}
_AGAIN: Final = {"retry": {"max_attempts": 5, "initial_seconds": 5}}
_TOO_LATE: Final = {"retry": {"max_attempts": 5, "initial_seconds": 5}, "expires_after_seconds": 3}


def payment(change: Callable[[Hands, str], Any], **given: Any) -> Fixture:
    """A payment that was scheduled, and then changed."""

    def fixture(it: Hands) -> str:
        id = it.payment(**given)
        change(it, id)
        return id

    return fixture


def nothing(_: Hands, id: str) -> None:
    """The registration alone makes the event."""


def sent(method: str, path: str, form: Any = None) -> Callable[[Hands, str], Any]:
    """A request about the item, whose id stands in the path as {}."""
    return lambda it, id: it.mine.send(method, f"{API}/{path.format(id)}", form)


def stumble(it: Hands, id: str) -> None:
    now, retry = datetime.now(UTC), RetryPolicy()
    it.settle(
        id, lambda payment: settlement.stumble(payment, now=now, why="triggered", retry=retry, draw=0.0)
    )


def park(it: Hands, id: str) -> None:
    it.settle(id, lambda payment: settlement.park(payment, now=datetime.now(UTC), why="triggered"))


def miss(it: Hands, id: str) -> None:
    """The worker that would have run it was away for too long."""
    (run,) = it.mine.get(f"{API}/tasks/{id}/runs")["runs"]
    it.run_task(
        run["run_id"], lambda task: transitions.miss(task, now=datetime.now(UTC), why="triggered: too late")
    )


def ends_of(
    make: Callable[..., Fixture], none: Callable[[Hands, str], Any], **now: Any
) -> dict[str, Fixture]:
    """Fixtures that a task and a run share: only the beginning differs."""
    return {
        "registered": make(none, **now),
        "started": make(none, **now),
        "retrying": make(none, **now, **_AGAIN),
        "succeeded": make(none, **now),
        "dead": make(none, **now, **ONCE),
        "expired": make(none, **now, **_TOO_LATE),
    }


def paused_and_resumed(it: Hands, id: str) -> None:
    for step in ("pause", "resume"):
        it.mine.post(f"{API}/tasks/{id}/{step}", {})


def tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).isoformat()


def task(change: Callable[[Hands, str], Any], **given: Any) -> Fixture:
    def fixture(it: Hands) -> str:
        id = it.task(**_addressed(it, given))
        change(it, id)
        return id

    return fixture


def run(change: Callable[[Hands, str], Any], *, runs: bool = True, **given: Any) -> Fixture:
    """A run of a recurring task, named by the recurring task."""

    def fixture(it: Hands) -> str:
        id = it.plan(runs=runs, **_addressed(it, given))
        change(it, id)
        return id

    return fixture


def _addressed(it: Hands, given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, "target": it.dead_end} if "retry" in given else dict(given)
