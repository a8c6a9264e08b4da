"""One fixture for each type of event: it causes a real event of that type on a local stack.

A fixture returns a text that the event names: mostly the id of its subject. Most fixtures are requests of the API.
Where no request makes such an event at once, the fixture commits the decision that a worker would commit.
"""

from collections.abc import Mapping
from typing import Final

from cli.trigger.hands import API
from cli.trigger.items import (
    Fixture,
    ends_of,
    miss,
    nothing,
    park,
    paused_and_resumed,
    payment,
    run,
    sent,
    stumble,
    task,
    tomorrow,
)
from cli.trigger.owners import (
    audit,
    closed,
    config,
    flow_key,
    frozen_and_unfrozen,
    of_account,
    of_key,
    of_subscription,
    of_tenant,
    opened,
    operation,
    secret,
    switch,
)

# Types that subscriptions may name, and why no event has them.
NEVER: Final[Mapping[str, str]] = {
    "task.skipped": "Only runs of recurring tasks are skipped: postdate trigger run.skipped",
    "task.missed": "Only runs of recurring tasks are missed: postdate trigger run.missed",
    "tenant.erased": "An erased tenant has no feed any more: the service's own feed tells it, a day later",
}
_CHANGE: Final = {"name": "triggered"}
_SUSPENDED: Final = {"pending": "run", "reason": "triggered"}


FIXTURES: Final[Mapping[str, Fixture]] = {
    "payment.scheduled": payment(nothing),
    "payment.changed": payment(sent("PATCH", "payments/{}", {"description": "triggered again"})),
    "payment.rescheduled": payment(
        lambda it, id: it.mine.patch(f"{API}/payments/{id}", {"scheduled_time": tomorrow()})
    ),
    "payment.executing": payment(stumble),
    "payment.parked": payment(park),
    "payment.completed": payment(nothing, delay_seconds=1),
    "payment.failed": payment(nothing, delay_seconds=1, balance=0, funding="at_execution"),
    "payment.cancelled": payment(sent("DELETE", "payments/{}/cancel")),
    **{f"task.{name}": each for name, each in ends_of(task, nothing, delay_seconds=0).items()},
    "task.changed": task(lambda it, id: it.mine.patch(f"{API}/tasks/{id}", {"run_at": tomorrow()})),
    "task.cancelled": task(sent("DELETE", "tasks/{}")),
    **{f"run.{name}": each for name, each in ends_of(run, nothing).items()},
    "run.changed": run(nothing, ack="explicit", timeout_seconds=60),
    "run.cancelled": run(sent("DELETE", "tasks/{}"), runs=False),
    "run.skipped": run(sent("POST", "tasks/{}/pause", {}), runs=False),
    "run.missed": run(miss, runs=False),
    "plan.created": run(nothing, runs=False),
    "plan.changed": run(sent("PATCH", "tasks/{}", _CHANGE), runs=False),
    "plan.paused": run(sent("POST", "tasks/{}/pause", {}), runs=False),
    "plan.resumed": run(paused_and_resumed, runs=False),
    "plan.finished": run(nothing, runs=False, cron="* * * * *", max_runs=1),
    "plan.cancelled": run(sent("DELETE", "tasks/{}"), runs=False),
    "account.opened": of_account(nothing),
    "account.closed": of_account(sent("POST", "accounts/{}/close", {})),
    "account.frozen": of_account(sent("POST", "accounts/{}/freeze", {})),
    "account.unfrozen": of_account(frozen_and_unfrozen),
    "account.deposited": of_account(lambda it, id: it.deposit(id, 10)),
    "account.adjusted": of_account(
        lambda it, id: it.keyed(f"accounts/{id}/adjustments", {"amount": 1, "reason": "triggered"})
    ),
    "account.limits_changed": of_account(sent("PATCH", "accounts/{}", {"limits": {"amount_max": 50}})),
    "tenant.created": of_tenant(),
    "tenant.changed": of_tenant(("PATCH", "ops/tenants/{}", {"spread_seconds": 1})),
    "tenant.suspended": of_tenant(("POST", "ops/tenants/{}/suspend", _SUSPENDED)),
    "tenant.resumed": of_tenant(
        ("POST", "ops/tenants/{}/suspend", _SUSPENDED), ("POST", "ops/tenants/{}/resume", {})
    ),
    "key.created": of_key(("DELETE", "keys/{}", None)),
    "key.rotated": of_key(("POST", "keys/{}/rotate", {}), ("DELETE", "keys/{}", None)),
    "key.revoked": of_key(("DELETE", "keys/{}", None)),
    "secret.rotated": secret,
    "subscription.created": of_subscription(),
    "subscription.changed": of_subscription(("PATCH", "subscriptions/{}", {"description": "changed"})),
    "subscription.ended": of_subscription(),
    "destination.opened": opened,
    "destination.closed": closed,
    "flow_key.changed": flow_key,
    "operation.started": operation,
    "operation.ended": operation,
    "switch.changed": switch,
    "config.changed": config,
    "audit.failed": audit,
}
