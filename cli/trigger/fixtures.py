"""One fixture for each type of event: it causes a real event of that type on a local stack.

A fixture returns a text that the event names: mostly the id of its subject. Most fixtures are requests of the API.
Where no request makes such an event at once, the fixture commits the decision that a worker would commit.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from cli.trigger.hands import API, Hands
from postdate.domain import money, transitions
from postdate.domain.breaker import FAILURES_TO_OPEN
from postdate.domain.retry import RetryPolicy

Fixture = Callable[[Hands], str]
# Types that subscriptions may name, and why no event has them.
NEVER: Final[Mapping[str, str]] = {
    "task.skipped": "Only runs of recurring tasks are skipped: postdate trigger run.skipped",
    "task.missed": "Only runs of recurring tasks are missed: postdate trigger run.missed",
    "tenant.erased": "An erased tenant has no feed any more: the service's own feed tells it, a day later",
}
_ONCE: Final = {"retry": {"max_attempts": 1}}
_AGAIN: Final = {"retry": {"max_attempts": 5, "initial_seconds": 5}}
_TOO_LATE: Final = {"retry": {"max_attempts": 5, "initial_seconds": 5}, "expires_after_seconds": 3}
_CHANGE: Final = {"name": "triggered"}
_SUSPENDED: Final = {"pending": "run", "reason": "triggered"}


def _payment(change: Callable[[Hands, str], Any], **given: Any) -> Fixture:
    """A payment that was scheduled, and then changed."""

    def fixture(it: Hands) -> str:
        id = it.payment(**given)
        change(it, id)
        return id

    return fixture


def _nothing(_: Hands, id: str) -> None:
    """The registration alone makes the event."""


def _sent(method: str, path: str, form: Any = None) -> Callable[[Hands, str], Any]:
    """A request about the item, whose id stands in the path as {}."""
    return lambda it, id: it.mine.send(method, f"{API}/{path.format(id)}", form)


def _stumble(it: Hands, id: str) -> None:
    now, retry = datetime.now(UTC), RetryPolicy()
    it.settle(id, lambda payment: money.stumble(payment, now=now, why="triggered", retry=retry, draw=0.0))


def _park(it: Hands, id: str) -> None:
    it.settle(id, lambda payment: money.park(payment, now=datetime.now(UTC), why="triggered"))


def _miss(it: Hands, id: str) -> None:
    """The worker that would have run it was away for too long."""
    (run,) = it.mine.get(f"{API}/tasks/{id}/runs")["runs"]
    it.run_task(
        run["run_id"], lambda task: transitions.miss(task, now=datetime.now(UTC), why="triggered: too late")
    )


def _of_account(change: Callable[[Hands, str], Any], amount: int = 0) -> Fixture:
    def fixture(it: Hands) -> str:
        id = it.account(amount)
        change(it, id)
        return id

    return fixture


def _of_tenant(*steps: tuple[str, str, Any]) -> Fixture:
    """A new tenant, and requests of an operator about it."""

    def fixture(it: Hands) -> str:
        id = it.other
        for method, path, form in steps:
            it.operator.send(method, f"{API}/{path.format(id)}", form)
        return id

    return fixture


def _of_key(*steps: tuple[str, str, Any]) -> Fixture:
    def fixture(it: Hands) -> str:
        id = str(it.mine.post(f"{API}/keys", {"name": "triggered", "scopes": ["events:read"]})["key_id"])
        for method, path, form in steps:
            it.mine.send(method, f"{API}/{path.format(id)}", form)
        return id

    return fixture


def _of_subscription(*steps: tuple[str, str, Any]) -> Fixture:
    def fixture(it: Hands) -> str:
        form = {"target": it.dead_end, "types": ["audit.failed"], "description": "triggered"}
        id = str(it.mine.post(f"{API}/subscriptions", form)["subscription_id"])
        for method, path, given in (*steps, ("DELETE", "subscriptions/{}", None)):
            it.mine.send(method, f"{API}/{path.format(id)}", given)
        return id

    return fixture


def _opened(it: Hands) -> str:
    """So many refused calls in a row open the breaker of their destination."""
    for _ in range(FAILURES_TO_OPEN):
        it.task(target=it.dead_end, delay_seconds=0, **_ONCE)
    port = it.dead_end["url"].rpartition("/")[0].rpartition(":")[2]
    it.seen("destination.opened", port)
    return port


def _closed(it: Hands) -> str:
    port = _opened(it)
    destinations = it.mine.get(f"{API}/destinations?limit=100")["destinations"]
    id = next(each["id"] for each in destinations if port in each["address"])
    it.mine.post(f"{API}/destinations/{quote(id, safe='')}/reset", {})
    return port


def _flow_key(it: Hands) -> str:
    name = f"triggered-{uuid4().hex[:12]}"
    it.mine.patch(f"{API}/flow-keys/{name}", {"rate": 5})
    return name


def _operation(it: Hands) -> str:
    form = {
        "action": "cancel",
        "kind": "tasks",
        "ids": [it.task()],
        "reason": "triggered",
        "dry_run": False,
    }
    return str(it.mine.post(f"{API}/operations", form)["operation_id"])


def _audit(it: Hands) -> str:
    """The reconciliation tells the recorder what it found."""
    run = f"triggered-{uuid4().hex[:12]}"
    tenant = it.mine.get(f"{API}/whoami")["tenant"]
    it.record(action="audit_failed", run=run, found={"tenant": tenant, "checks": ["events_complete"]})
    return run


def _secret(it: Hands) -> str:
    """Rotates the signing secret of a tenant of its own: receivers of the demo tenant keep theirs."""
    it.other  # noqa: B018 - the operator then acts for it
    it.operator.post(f"{API}/signing-secrets/rotate", {"overlap_seconds": 0})
    return "signing-secret"


def _switch(it: Hands) -> str:
    name = f"tenant:{it.other}"
    for on in (False, True):
        it.operator.put(f"{API}/ops/switches/{quote(name, safe='')}", {"on": on, "reason": "triggered"})
    return name


def _ends_of(
    make: Callable[..., Fixture], none: Callable[[Hands, str], Any], **now: Any
) -> dict[str, Fixture]:
    """Fixtures that a task and a run share: only the beginning differs."""
    return {
        "registered": make(none, **now),
        "started": make(none, **now),
        "retrying": make(none, **now, **_AGAIN),
        "succeeded": make(none, **now),
        "dead": make(none, **now, **_ONCE),
        "expired": make(none, **now, **_TOO_LATE),
    }


def _frozen_and_unfrozen(it: Hands, id: str) -> None:
    for step in ("freeze", "unfreeze"):
        it.mine.post(f"{API}/accounts/{id}/{step}", {})


def _paused_and_resumed(it: Hands, id: str) -> None:
    for step in ("pause", "resume"):
        it.mine.post(f"{API}/tasks/{id}/{step}", {})


def _tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).isoformat()


def _task(change: Callable[[Hands, str], Any], **given: Any) -> Fixture:
    def fixture(it: Hands) -> str:
        id = it.task(**_addressed(it, given))
        change(it, id)
        return id

    return fixture


def _run(change: Callable[[Hands, str], Any], *, runs: bool = True, **given: Any) -> Fixture:
    """A run of a recurring task, named by the recurring task."""

    def fixture(it: Hands) -> str:
        id = it.plan(runs=runs, **_addressed(it, given))
        change(it, id)
        return id

    return fixture


def _addressed(it: Hands, given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, "target": it.dead_end} if "retry" in given else dict(given)


FIXTURES: Final[Mapping[str, Fixture]] = {
    "payment.scheduled": _payment(_nothing),
    "payment.changed": _payment(_sent("PATCH", "payments/{}", {"description": "triggered again"})),
    "payment.rescheduled": _payment(
        lambda it, id: it.mine.patch(f"{API}/payments/{id}", {"scheduled_time": _tomorrow()})
    ),
    "payment.executing": _payment(_stumble),
    "payment.parked": _payment(_park),
    "payment.completed": _payment(_nothing, delay_seconds=1),
    "payment.failed": _payment(_nothing, delay_seconds=1, balance=0, funding="at_execution"),
    "payment.cancelled": _payment(_sent("DELETE", "payments/{}/cancel")),
    **{f"task.{name}": each for name, each in _ends_of(_task, _nothing, delay_seconds=0).items()},
    "task.changed": _task(lambda it, id: it.mine.patch(f"{API}/tasks/{id}", {"run_at": _tomorrow()})),
    "task.cancelled": _task(_sent("DELETE", "tasks/{}")),
    **{f"run.{name}": each for name, each in _ends_of(_run, _nothing).items()},
    "run.changed": _run(_nothing, ack="explicit", timeout_seconds=60),
    "run.cancelled": _run(_sent("DELETE", "tasks/{}"), runs=False),
    "run.skipped": _run(_sent("POST", "tasks/{}/pause", {}), runs=False),
    "run.missed": _run(_miss, runs=False),
    "plan.created": _run(_nothing, runs=False),
    "plan.changed": _run(_sent("PATCH", "tasks/{}", _CHANGE), runs=False),
    "plan.paused": _run(_sent("POST", "tasks/{}/pause", {}), runs=False),
    "plan.resumed": _run(_paused_and_resumed, runs=False),
    "plan.finished": _run(_nothing, runs=False, cron="* * * * *", max_runs=1),
    "plan.cancelled": _run(_sent("DELETE", "tasks/{}"), runs=False),
    "account.opened": _of_account(_nothing),
    "account.closed": _of_account(_sent("POST", "accounts/{}/close", {})),
    "account.frozen": _of_account(_sent("POST", "accounts/{}/freeze", {})),
    "account.unfrozen": _of_account(_frozen_and_unfrozen),
    "account.deposited": _of_account(lambda it, id: it.deposit(id, 10)),
    "account.adjusted": _of_account(
        lambda it, id: it.keyed(f"accounts/{id}/adjustments", {"amount": 1, "reason": "triggered"})
    ),
    "account.limits_changed": _of_account(_sent("PATCH", "accounts/{}", {"limits": {"amount_max": 50}})),
    "tenant.created": _of_tenant(),
    "tenant.changed": _of_tenant(("PATCH", "ops/tenants/{}", {"spread_seconds": 1})),
    "tenant.suspended": _of_tenant(("POST", "ops/tenants/{}/suspend", _SUSPENDED)),
    "tenant.resumed": _of_tenant(
        ("POST", "ops/tenants/{}/suspend", _SUSPENDED), ("POST", "ops/tenants/{}/resume", {})
    ),
    "key.created": _of_key(("DELETE", "keys/{}", None)),
    "key.rotated": _of_key(("POST", "keys/{}/rotate", {}), ("DELETE", "keys/{}", None)),
    "key.revoked": _of_key(("DELETE", "keys/{}", None)),
    "secret.rotated": _secret,
    "subscription.created": _of_subscription(),
    "subscription.changed": _of_subscription(("PATCH", "subscriptions/{}", {"description": "changed"})),
    "subscription.ended": _of_subscription(),
    "destination.opened": _opened,
    "destination.closed": _closed,
    "flow_key.changed": _flow_key,
    "operation.started": _operation,
    "operation.ended": _operation,
    "switch.changed": _switch,
    "audit.failed": _audit,
}
