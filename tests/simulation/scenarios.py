"""What an operator may meet, as runs of the simulation, and the alarms that tell of it.

Nothing here runs: the simulation takes the place of the clock and of AWS, and this module is read without it as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.destination import QUEUE
from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix, Outage

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.hub import Actor

HEALTHY: Final = Mix(executors=2, sweepers=1, clients=0, pause=MINUTE)
SETS_IN_AFTER: Final = 10 * MINUTE
_BURNING: Final = [
    "slow",
    *(f"{speed}{window}" for speed in ("fast", "steady") for window in ("", "_long", "_short")),
]
_LATE: Final = frozenset(f"payments_late_{each}" for each in _BURNING)
_SLOW: Final = frozenset({"payment_p95_over_1s", "payment_p95_over_500ms", "payments_slow"})
_UNAVAILABLE: Final = frozenset(f"api_unavailable_{each}" for each in _BURNING)
_LETTERS_STAY: Final = ("dead_letters_payments", "dead_letters_payments_stay")
Script = Callable[["Clients", "Actor"], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """`mix` sets in after ten healthy minutes, for twenty. `fires` are the alarms that have to fire; no alarm outside
    of `fires` and `may` does. A scenario without alarms is one through which all of them stay quiet. In one that is not
    `checked` a foreign program breaks an invariant. The alarms fire within their own time, and within `after`: the
    seconds that the cause takes to show."""

    name: str
    script: Script
    mix: Mix = HEALTHY
    fires: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    after: int = 0
    checked: bool = True


def _night(minutes: int) -> Script:
    return lambda clients, actor: clients.hub.park(minutes * MINUTE)


def _payments(count: int, **more: Any) -> Script:
    """One every ten seconds, due ten seconds later."""

    def script(clients: "Clients", actor: "Actor") -> None:
        for place in range(count):
            _pay(clients, actor, f"payment-{place}", **more)
            clients.hub.park(10 * SECOND)

    return script


def _pay(clients: "Clients", actor: "Actor", key: str, **more: Any) -> str:
    form = {"from_account_id": "alice", "to_account_id": "bob", "amount": 1, "delay_seconds": 10, **more}
    answer = clients.ask(actor, "POST", "/api/v1/payments/schedule", form, key=key)
    return str((answer.body or {}).get("payment_id"))


def _tasks(count: int, *, gap: int = 10 * SECOND, **more: Any) -> Script:
    def script(clients: "Clients", actor: "Actor") -> None:
        for place in range(count):
            form = {
                "target": {"type": "sqs", "queue_url": QUEUE},
                "name": f"task-{place}",
                "delay_seconds": 5,
                **more,
            }
            clients.ask(actor, "POST", "/api/v1/tasks", form, key=f"task-{place}")
            clients.hub.park(gap)

    return script


def _peak(clients: "Clients", actor: "Actor") -> None:
    _payments(100)(clients, actor)
    _tasks(100)(clients, actor)


def _damaged(clients: "Clients", actor: "Actor") -> None:
    """A foreign program takes what the account holds for a payment."""
    clients.hub.park(SETS_IN_AFTER)
    _pay(clients, actor, "payment", delay_seconds=120, amount=50)
    clients.hub.park(30 * SECOND)
    engine = clients.functions.engine
    row = engine.row("accounts", f"{actor.tenant}#alice")
    assert row is not None
    engine.write("accounts", {**row, "reserved": {"N": "0"}})
    clients.hub.park(60 * SECOND)
    clients.ask(actor, "GET", "/api/v1/audit")
    clients.hub.park(20 * MINUTE)


SCENARIOS: Final = (
    Scenario(name="an idle night", script=_night(120)),
    Scenario(name="a peak", script=_peak),
    Scenario(name="a deployment", script=_peak, mix=replace(HEALTHY, newer=0.5)),
    Scenario(
        name="nothing wakes the sweep",
        script=_night(40),
        mix=replace(HEALTHY, ticks=False, heartbeat=False),
        fires=frozenset({"wake_ups_missing", "tick_missing", "sweep_behind", "timer_down"}),
    ),
    Scenario(
        name="the scheduler sends no tick",
        script=_night(40),
        mix=replace(HEALTHY, ticks=False),
        fires=frozenset({"tick_missing"}),
    ),
    Scenario(
        name="the database answers nothing",
        script=_peak,
        mix=replace(HEALTHY, outage=Outage(service="dynamodb", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"sweep_behind", "timer_down", *_UNAVAILABLE}),
        may=frozenset({"messages_wait_ticks"}) | _LATE,
    ),
    Scenario(
        name="the database is slow",
        script=_peak,
        mix=replace(HEALTHY, latency=1_500_000),
        fires=_SLOW | _LATE,
        may=_UNAVAILABLE,
    ),
    Scenario(
        name="the database throttles",
        script=_peak,
        mix=replace(HEALTHY, rates={Fault.THROTTLED: 0.4}),
        fires=frozenset(
            f"throttled_{table}" for table in ("items", "payments", "accounts", "journal", "idempotency")
        ),
        may=_LATE | _UNAVAILABLE | _SLOW | {"throttled_flow", "messages_wait_ticks"},
    ),
    Scenario(
        name="workers of tasks cannot reach the database",
        script=_peak,
        mix=replace(HEALTHY, outage=Outage(service="workers", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"items_wait", "leases_expire_run_tasks"}),
        may=frozenset({"messages_wait_tasks", "tasks_late"}),
        # The tasks come after the payments.
        after=10 * MINUTE // SECOND,
    ),
    Scenario(
        name="workers die",
        script=_peak,
        mix=replace(HEALTHY, fatal=0.2),
        fires=frozenset({"leases_expire_settle", "errors_settle", "errors_run_tasks", *_LETTERS_STAY}),
        may=_LATE
        | {
            "leases_expire_run_tasks",
            "workers_die",
            "messages_wait_payments",
            "messages_wait_tasks",
            "dead_letters_tasks",
            "overdue",
        },
        after=60 * MINUTE // SECOND,
    ),
    Scenario(
        name="payers have no money",
        script=_payments(200, amount=5000, funding="at_execution"),
        fires=frozenset({"payment_failures_over_1_percent"}),
    ),
    Scenario(
        name="a balance is damaged",
        script=_damaged,
        fires=frozenset({"balance_inconsistency", "audit_contradicts", "dead_letters_payments"}),
        checked=False,
    ),
    Scenario(
        name="a destination is down",
        script=_tasks(400, gap=3 * SECOND),
        mix=replace(HEALTHY, tempers=("refuses",)),
        fires=frozenset({"destination_down"}),
        may=frozenset({"tasks_late", "dead_letters_tasks"}),
    ),
    Scenario(
        name="a destination wants no task any more",
        script=_tasks(400, gap=5 * SECOND),
        mix=replace(HEALTHY, tempers=("refuses for good",)),
        fires=frozenset({"tasks_die", "dead_letters_tasks"}),
    ),
    Scenario(
        name="calls vanish",
        script=_peak,
        mix=replace(HEALTHY, lost=5),
        fires=frozenset({"overdue"}),
        may=_LATE,
        after=60 * MINUTE // SECOND,
        checked=False,
    ),
)
