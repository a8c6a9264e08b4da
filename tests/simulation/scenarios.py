"""Situations of an operator, as runs of the simulation, and the alarms that tell of them.

Nothing here runs: the simulation takes the place of the clock and of AWS, and this module is read without it as well.
"""

from dataclasses import dataclass, replace
from typing import Final

from infra.environments import PROD
from infra.watch.throttles import WATCHED
from tests.simulation.hub import SECOND
from tests.simulation.mix import HOUR, MINUTE, Fault, Mix, Outage
from tests.simulation.scripts import (
    Script,
    damaged,
    flooded,
    letters,
    night,
    operated,
    paid_in_batches,
    payments,
    peak,
    requests,
    slowed,
    tasks,
    tasks_later,
)

HEALTHY: Final = Mix(executors=2, sweepers=1, clients=0, pause=MINUTE)
_OPERATED: Final = replace(HEALTHY, operations=0.5)
SETS_IN_AFTER: Final = 10 * MINUTE
_LASTS: Final = 20 * MINUTE
_BURNING: Final = [
    "slow",
    *(f"{speed}{window}" for speed in ("fast", "steady") for window in ("", "_long", "_short")),
]
_LATE: Final = frozenset(f"payments_late_{each}" for each in _BURNING)
_SLOW: Final = frozenset({"payment_p95_over_1s", "payment_p95_over_500ms", "payments_slow"})
_UNAVAILABLE: Final = frozenset(f"api_unavailable_{each}" for each in _BURNING)
_TIMER: Final = frozenset({"wake_ups_missing", "sweep_behind", "timer_down", "tick_missing"})
_ALL_LETTERS: Final = frozenset(f"dead_letters_{queue}" for queue in ("tasks", "payments", "ticks", "events"))
_WORKERS: Final = frozenset({"run_tasks", "settle", "record", "operate"})
_ASKED: Final = requests(5 * SECOND)
_NONE: Final[frozenset[str]] = frozenset()
_TICKS: Final = frozenset({"messages_wait_ticks"})
# The alarms that follow while nobody works, and when the messages come again.
_BEHIND: Final = (
    _LATE
    | _SLOW
    | frozenset(
        {
            "items_wait",
            "events_behind",
            "messages_wait_payments",
            "messages_wait_tasks",
            "dead_letters_payments",
            "tasks_late",
            "leases_expire_run_tasks",
            "leases_expire_settle",
        }
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OfAws:
    """Functions that cannot start, functions that Lambda refuses, functions whose workers are killed now and then, and
    queues whose mapping is disabled."""

    fails: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    killed: frozenset[str] = frozenset()
    stopped: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """`mix` and `of_aws` set in after ten healthy minutes, for `lasts`. `fires` are the alarms that have to fire; no
    alarm outside of `fires` and `may` does. A scenario without alarms is one through which all of them stay quiet. In
    one that is not `checked` a foreign program breaks an invariant. The alarms fire within their own time, and within
    `after`: the seconds that the cause takes to show. The run begins with the mix `begins`, and `goes_on` after its
    script. The alarms are those of the `environment`."""

    name: str
    script: Script
    mix: Mix = HEALTHY
    of_aws: OfAws = OfAws()
    begins: Mix = HEALTHY
    lasts: int = _LASTS
    goes_on: int = 0
    environment: str = PROD.name
    fires: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    after: int = 0
    checked: bool = True
    drained: bool = True


SCENARIOS: Final = (
    Scenario(name="an idle night", script=night(120)),
    Scenario(name="a peak", script=peak),
    Scenario(name="a deployment", script=peak, mix=replace(HEALTHY, newer=0.5)),
    Scenario(
        name="nothing wakes the sweep",
        script=night(40),
        mix=replace(HEALTHY, ticks=False, heartbeat=False),
        fires=frozenset({"wake_ups_missing", "tick_missing", "sweep_behind", "timer_down"}),
    ),
    Scenario(
        name="the scheduler sends no tick",
        script=night(40),
        mix=replace(HEALTHY, ticks=False),
        fires=frozenset({"tick_missing"}),
    ),
    Scenario(
        name="the database answers nothing",
        script=peak,
        mix=replace(HEALTHY, outage=Outage(service="dynamodb", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"sweep_behind", "timer_down", *_UNAVAILABLE}),
        may=frozenset({"messages_wait_ticks"}) | _LATE,
    ),
    Scenario(
        name="the database is slow",
        script=peak,
        mix=replace(HEALTHY, latency=1_500_000),
        fires=_SLOW | _LATE,
        # Messages of payments are hidden for two seconds at a time, and a renewal is a call that waits as well.
        may=_UNAVAILABLE | {"register_slow", "leases_expire_settle"},
    ),
    Scenario(
        name="the database throttles",
        script=peak,
        mix=replace(HEALTHY, rates={Fault.THROTTLED: 0.4}),
        fires=frozenset(f"throttled_{table}" for table in WATCHED),
        may=_LATE | _UNAVAILABLE | _SLOW | {"messages_wait_ticks", "register_slow"},
        # Tasks, whose destinations have rows in it, come after the payments.
        after=15 * MINUTE // SECOND,
    ),
    Scenario(
        name="workers of tasks cannot reach the database",
        script=peak,
        mix=replace(HEALTHY, outage=Outage(service="workers", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"items_wait", "leases_expire_run_tasks"}),
        may=frozenset({"messages_wait_tasks", "tasks_late"}),
        # The tasks come after the payments.
        after=10 * MINUTE // SECOND,
    ),
    Scenario(
        name="workers die",
        script=peak,
        mix=replace(HEALTHY, fatal=0.2),
        fires=frozenset(
            {"leases_expire_settle", "errors_settle", "errors_run_tasks", "dead_letters_payments"}
        ),
        # A lost worker's payments are back within seconds, and so late that the times of executions show it.
        may=_LATE
        | _SLOW
        | {
            "items_wait",
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
        script=payments(200, amount=5000, funding="at_execution"),
        fires=frozenset({"payment_failures_over_1_percent"}),
    ),
    Scenario(
        name="a balance is damaged",
        script=damaged,
        fires=frozenset({"balance_inconsistency", "audit_contradicts", "dead_letters_payments"}),
        checked=False,
    ),
    Scenario(
        name="workers of tasks may not open secrets",
        script=tasks_later(20),
        mix=replace(HEALTHY, outage=Outage(service="secrets", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"tasks_untried"}),
    ),
    Scenario(
        name="a destination is down",
        script=tasks(400, gap=3 * SECOND),
        mix=replace(HEALTHY, tempers=("refuses",)),
        fires=frozenset({"destination_down"}),
        may=frozenset({"tasks_late", "dead_letters_tasks"}),
    ),
    Scenario(
        name="a destination wants no task any more",
        script=tasks(400, gap=5 * SECOND),
        mix=replace(HEALTHY, tempers=("refuses for good",)),
        fires=frozenset({"tasks_die", "dead_letters_tasks"}),
    ),
    Scenario(
        name="calls vanish",
        script=peak,
        mix=replace(HEALTHY, lost=5),
        fires=frozenset({"overdue"}),
        may=_LATE,
        after=60 * MINUTE // SECOND,
        checked=False,
    ),
    Scenario(
        name="the sweep may not read payments",
        script=payments(120),
        mix=replace(HEALTHY, outage=Outage(service="sweep", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"passes_fail", "sweep_behind", "timer_down"}),
        may=frozenset({"messages_wait_ticks"}),
        # Minutes are closed a while after their end.
        after=5 * MINUTE // SECOND,
    ),
    Scenario(
        name="the table of keys cannot be read",
        script=requests(5 * SECOND),
        mix=replace(HEALTHY, outage=Outage(service="keys", start=10 * MINUTE, duration=20 * MINUTE)),
        lasts=12 * MINUTE,
        fires=frozenset({"keys_not_read"}) | _UNAVAILABLE,
    ),
    Scenario(
        name="the database is slow to answer requests",
        script=requests(10 * SECOND),
        mix=replace(HEALTHY, latency=200_000),
        fires=frozenset({"register_slow", "cancel_slow", "status_slow"}),
    ),
    Scenario(
        name="everybody pays from one account",
        script=paid_in_batches(60, of=20, every=6 * SECOND),
        begins=replace(HEALTHY, executors=8),
        mix=replace(HEALTHY, outage=Outage(service="conflicts", start=10 * MINUTE, duration=20 * MINUTE)),
        fires=frozenset({"contention"}),
        may=frozenset({"dead_letters_payments"}),
        checked=False,
        drained=False,
    ),
    Scenario(
        name="a few payers have no money",
        script=paid_in_batches(11, of=100, every=3 * MINUTE, unfunded=2),
        fires=frozenset({"payment_failures_over_0_1_percent"}),
        after=40 * MINUTE // SECOND,
        checked=False,
        drained=False,
    ),
    Scenario(
        name="messages arrive late",
        script=tasks(120),
        mix=replace(HEALTHY, delayed=0.9, waits_max=60),
        fires=frozenset({"tasks_late"}),
    ),
    Scenario(
        name="workers of tasks are killed",
        script=tasks(300, gap=4 * SECOND),
        mix=replace(HEALTHY, tempers=("is slow",)),
        of_aws=OfAws(killed=frozenset({"run_tasks"})),
        fires=frozenset({"workers_die"}),
        may=frozenset({"items_wait", "tasks_late", "messages_wait_tasks"}),
        after=20 * MINUTE // SECOND,
        drained=False,
    ),
    Scenario(
        name="nobody takes messages of tasks and payments",
        script=flooded,
        of_aws=OfAws(stopped=frozenset({"tasks", "payments"})),
        fires=frozenset({"messages_wait_payments", "messages_wait_tasks", "backlog"}),
        may=_LATE,
        # The age that the alarm is about.
        after=15 * MINUTE // SECOND,
        drained=False,
    ),
    Scenario(
        name="nobody takes messages of slow destinations",
        script=slowed,
        of_aws=OfAws(stopped=frozenset({"slow"})),
        lasts=80 * MINUTE,
        fires=frozenset({"messages_wait_slow"}),
        # The age that the alarm is about.
        after=60 * MINUTE // SECOND,
        drained=False,
    ),
    Scenario(
        name="nobody takes messages of the sweep",
        script=night(40),
        of_aws=OfAws(stopped=frozenset({"ticks"})),
        fires=frozenset({"messages_wait_ticks"}) | _TIMER,
    ),
    Scenario(
        name="nobody looks at dead letters",
        script=letters,
        mix=replace(HEALTHY, tempers=("refuses for good",)),
        goes_on=HOUR,
        fires=_ALL_LETTERS,
        may=frozenset({"messages_wait_payments", "messages_wait_ticks"}),
        after=60 * MINUTE // SECOND,
        checked=False,
        drained=False,
    ),
    *(
        Scenario(
            name=f"{who} {what}",
            script=script,
            begins=begins,
            of_aws=of_aws,
            lasts=16 * MINUTE,
            fires=frozenset(f"{alarm}_{each}" for each in functions) | fires,
            may=may,
            # Sweeps are few.
            after=5 * MINUTE // SECOND,
            drained=False,
        )
        for alarm, what in (("errors", "cannot start"), ("throttles", "is refused by Lambda"))
        for who, functions, script, begins, fires, may in (
            ("who works", _WORKERS, operated, replace(HEALTHY, recorded=True), _NONE, _BEHIND),
            (
                "who answers and sweeps",
                frozenset({"api", "sweep"}),
                _ASKED,
                HEALTHY,
                _UNAVAILABLE | _TIMER,
                _TICKS,
            ),
            ("who authorizes", frozenset({"authorize"}), _ASKED, HEALTHY, _UNAVAILABLE, _NONE),
        )
        for of_aws in (OfAws(fails=functions) if alarm == "errors" else OfAws(refused=functions),)
    ),
    Scenario(
        name="executions of operations die",
        script=operated,
        begins=_OPERATED,
        mix=replace(_OPERATED, stalled=0.5),
        goes_on=30 * MINUTE,
        fires=frozenset({"operations_stalled"}),
        # It is found when it has not changed for ten minutes, by a look every five minutes.
        after=20 * MINUTE // SECOND,
    ),
    Scenario(
        name="the recorder stands still",
        script=payments(180),
        begins=replace(HEALTHY, recorded=True),
        of_aws=OfAws(fails=frozenset({"record"})),
        fires=frozenset({"events_behind", "errors_record"}),
        after=10 * MINUTE // SECOND,
    ),
    Scenario(
        name="an account may run ten functions",
        script=tasks(160, gap=5 * SECOND),
        begins=replace(HEALTHY, executors=10),
        mix=replace(HEALTHY, tempers=("never answers",)),
        lasts=5 * MINUTE,
        environment="dev",
        fires=frozenset({"concurrency"}),
        may=frozenset({"destination_down", "tasks_late", "items_wait"}),
        drained=False,
    ),
)
