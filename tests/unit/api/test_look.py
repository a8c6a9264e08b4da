"""The overview follows from tallies, passes and queues alone."""

from datetime import datetime, timedelta

from functions.api.overview import answers
from functions.api.overview.calendar import REACHES, READ_MAX, Calendars
from functions.api.overview.look import MINUTES_SHOWN, Look
from functions.api.overview.remembered import Remembered
from postdate.domain import breaker as rules
from postdate.domain import flow_key as flow_keys
from postdate.domain import instants
from postdate.domain.breaker import Breaker
from postdate.domain.calendar import DueCount
from postdate.domain.flow_key import FlowKey
from postdate.domain.reconciling import SET_TO_JOURNAL, Proposal, Reconciliation
from postdate.domain.sweeping import Groups, Horizon, Stage, SweepProgress, Watermark
from postdate.domain.tally import MinuteTally
from postdate.domain.task import State
from postdate.runtime import metric
from postdate.runtime.alarms import Firing
from postdate.runtime.depths import Depth
from postdate.stores.dependencies import MemoryDependencies
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.passes_memory import MemoryPasses
from postdate.stores.switches_memory import MemorySwitches
from postdate.stores.tallies import MemoryTallies
from tests.unit.doubles import MINUTE, PLAN, SECOND, ManualClock, ScriptedTasks, a_task, in_state

ONE = MinuteTally(due=1, done=1, amount=5, lateness={0: 1})


class Watching:
    """Four shards a minute in two groups; the sweep has opened, closed and audited all that it should have."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.passes = MemoryPasses()
        self.tallies = MemoryTallies()
        self.flow = MemoryFlow()
        self.switches = MemorySwitches()
        self.tasks = ScriptedTasks()
        self.ledger = MemoryLedger(shards=PLAN)
        self.firing: list[Firing] | None = []
        self.reconciled: Reconciliation | None = None
        self.counts: dict[str, dict[int, DueCount]] = {}
        self.horizon = Horizon(lead=120 * SECOND, margin=60 * SECOND)
        self.look = Look(
            passes=self.passes,
            tallies=self.tallies,
            flow=self.flow,
            switches=self.switches,
            failing=MemoryDependencies(),
            calendars=Calendars(tasks=self.tasks, ledger=self.ledger),
            depths={
                "tasks": lambda: Depth(waiting=3, in_flight=2, delayed=1),
                "slow": lambda: Depth(waiting=0, in_flight=0, delayed=0),
            },
            ages=lambda: {"tasks": 34},
            alarms=lambda: self.firing,
            counts=lambda: self.counts,
            reconciled=lambda: self.reconciled,
            groups=Groups(shards=PLAN, size=2),
            horizon=self.horizon,
            beat=10 * SECOND,
            clock=self.clock,
        )
        self.now = instants.minute_of(self.clock.now())
        self.passes.raise_watermark(Watermark(minute=self.now - 62))
        for minute in range(self.now - 61, self.horizon.last_minute(self.clock.now()) + 1):
            self.passed(minute, Stage.CLOSE if minute < self.now - 1 else Stage.OPEN)

    def passed(self, minute: int, stage: Stage, groups: tuple[int, ...] = (0, 1)) -> None:
        for group in groups:
            opened_at = instants.start_of(minute)
            self.passes.record(SweepProgress(minute=minute, group=group, stage=stage, opened_at=opened_at))

    def behind(self, later: timedelta) -> int:
        self.clock.move(later)
        return self.look.at_service().sweeping.behind_minutes


def test_the_last_hour_has_a_figure_for_each_minute_the_oldest_first() -> None:
    watching = Watching()
    watching.tallies.record(watching.now - 3, 0, {"acme": {"tasks": ONE}, "other": {"payments": ONE}})
    watching.tallies.record(watching.now - 3, 1, {"acme": {"tasks": ONE}})
    told = answers.of_service(watching.look.at_service())
    begun = [datetime.fromisoformat(each["minute"]) for each in told["minutes"]]
    assert begun == [instants.start_of(watching.now - back) for back in range(MINUTES_SHOWN, 0, -1)]
    shown = told["minutes"][-3]
    assert (shown["tasks"]["due"], shown["payments"]["amount"]) == (2, 5)
    assert {each["tasks"]["due"] for each in told["minutes"][:-3]} == {0}


def test_a_minute_counts_only_when_each_group_of_it_is_closed() -> None:
    watching = Watching()
    minutes = watching.look.at_tenant("acme", payments=True).minutes
    assert [each.counted for each in minutes] == [True] * 59 + [False]
    watching.passed(watching.now - 1, Stage.CLOSE, groups=(1,))
    assert not watching.look.at_tenant("acme", payments=True).minutes[-1].counted
    watching.passed(watching.now - 1, Stage.CLOSE, groups=(0,))
    assert watching.look.at_tenant("acme", payments=True).minutes[-1].counted


def test_a_tenant_sees_its_own_share_and_payments_only_if_its_key_may_read_them() -> None:
    watching = Watching()
    watching.tallies.record(watching.now - 3, 0, {"acme": {"tasks": ONE}, "other": {"payments": ONE}})
    looked = watching.look.at_tenant("acme", payments=True)
    may, may_not = (answers.of_tenant(looked, payments=each)["minutes"][-3] for each in (True, False))
    assert may["tasks"]["due"] == 1
    assert may["payments"] is not None
    assert may["payments"]["due"] == 0
    assert may_not["payments"] is None


def test_the_calendar_of_all_tenants_sums_the_hour_the_day_and_the_week() -> None:
    watching = Watching()
    now, one = watching.now, DueCount(tasks=1, payments=2, amount=300)
    minutes = (0, 1, 59, 60, 61, 23 * 60, 25 * 60, 6 * 24 * 60, 8 * 24 * 60)
    watching.counts = {"standard": {now + minute: one for minute in minutes} | {now + 2: DueCount(tasks=-1)}}
    calendar = answers.of_service(watching.look.at_service())["calendar"]
    assert [calendar[name]["payments"] for name in ("next_hour", "next_day", "next_week")] == [4, 10, 14]  # type: ignore[literal-required]
    assert calendar["next_hour"] == {"tasks": 2, "payments": 4, "amount": 600}
    begun = [datetime.fromisoformat(each["at"]) for each in calendar["minutes"]]
    assert begun == [instants.start_of(now + minute) for minute in (1, 59)]
    assert sum(each["amount"] for each in calendar["hours"]) == calendar["next_week"]["amount"]


def test_the_calendar_of_all_tenants_tells_the_sums_of_each_tier() -> None:
    watching = Watching()
    now, one = watching.now, DueCount(tasks=1, payments=2, amount=300)
    watching.counts = {
        "standard": {now: one, now + 1: one, now + 2 * 60: one, now + 3: DueCount(tasks=-1)},
        "gold": {now + 1: one + one, now + 3: one, now + 25 * 60: one},
    }
    calendar = answers.of_service(watching.look.at_service())["calendar"]
    told = {
        each["tier"]: [each[name]["amount"] for name in ("next_hour", "next_day", "next_week")]  # type: ignore[literal-required]
        for each in calendar["tiers"]
    }
    assert told == {"standard": [300, 600, 600], "gold": [900, 900, 1200]}
    assert [calendar[name]["amount"] for name in ("next_hour", "next_day", "next_week")] == [1200, 1500, 1800]  # type: ignore[literal-required]
    assert [each["amount"] for each in calendar["minutes"]] == [900, 300]
    watching.counts = {}
    assert [each["tier"] for each in answers.of_service(watching.look.at_service())["calendar"]["tiers"]] == [
        *metric.TIERS
    ]


def test_a_tenants_own_calendar_names_no_tier() -> None:
    looked = Watching().look.at_tenant("acme", payments=True)
    assert "tiers" not in answers.of_tenant(looked, payments=True)["calendar"]


def test_a_sweep_that_stands_still_is_further_behind_with_each_minute() -> None:
    watching = Watching()
    assert watching.behind(timedelta(0)) == 0
    assert watching.behind(3 * MINUTE) == 0
    assert watching.behind(2 * MINUTE) == 2
    assert watching.behind(120 * MINUTE) == 60


def test_a_group_that_is_not_opened_counts_as_behind() -> None:
    watching = Watching()
    watching.passes._progress.pop((watching.now - 4, 1))
    assert watching.behind(timedelta(0)) == 4


def test_alarms_that_fire_are_told_with_their_entry_of_the_runbook() -> None:
    watching = Watching()
    since = watching.clock.now()
    watching.firing = [
        Firing(
            name="overdue", severity="ticket", since=since, meaning="Late.", runbook="docs/runbook.md#overdue"
        )
    ]
    (told,) = answers.of_service(watching.look.at_service())["alarms"] or ()
    assert (told["alarm"], told["severity"], told["meaning"]) == ("overdue", "ticket", "Late.")
    watching.firing = None
    assert answers.of_service(watching.look.at_service())["alarms"] is None


def test_the_newest_reconciliation_is_told_with_the_repairs_that_wait() -> None:
    watching = Watching()
    assert answers.of_service(watching.look.at_service())["reconciliation"] is None
    proposals = [
        Proposal(tenant="acme", subject=subject, repair=SET_TO_JOURNAL, outcome=outcome)
        for subject, outcome in (("rent", "done"), ("wages", ""), ("tax", "refused"))
    ]
    watching.reconciled = Reconciliation(
        id="rec_1",
        started_at=watching.clock.now(),
        finished_at=watching.clock.now(),
        by_check={"journal_gives_balances": 3},
        looked_at={},
        unjudged=0,
        events_filled=0,
        report="",
        proposals=tuple(proposals),
    )
    told = answers.of_service(watching.look.at_service())["reconciliation"]
    assert told is not None
    assert (told["reconciliation_id"], told["ok"], told["to_approve"]) == ("rec_1", False, 2)
    assert told["by_check"] == {"journal_gives_balances": 3}


def test_a_value_is_read_again_when_it_is_old() -> None:
    clock, read = ManualClock(), iter(range(9))
    remembered = Remembered(lambda: next(read), keep=5 * SECOND, clock=clock)
    assert [remembered(), remembered()] == [0, 0]
    clock.move(5 * SECOND)
    assert remembered() == 1


def test_before_the_first_sweep_everything_is_behind() -> None:
    watching = Watching()
    watching.look = Look(
        passes=MemoryPasses(),
        tallies=watching.tallies,
        flow=watching.flow,
        switches=watching.switches,
        failing=MemoryDependencies(),
        calendars=watching.look.calendars,
        depths={},
        ages=dict,
        alarms=lambda: None,
        counts=dict,
        reconciled=lambda: None,
        groups=watching.look.groups,
        horizon=watching.horizon,
        beat=10 * SECOND,
        clock=watching.clock,
    )
    told = answers.of_service(watching.look.at_service())["sweep"]
    assert told == {"alive": False, "behind_minutes": 60, "swept_until": None, "heartbeat_at": None}


def test_queues_are_told_by_their_names() -> None:
    told = answers.of_service(Watching().look.at_service())["queues"]
    assert told == [
        {"queue": "tasks", "waiting": 3, "in_flight": 2, "delayed": 1, "oldest_seconds": 34},
        {"queue": "slow", "waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None},
    ]


def test_the_sweep_is_alive_until_three_heartbeats_are_missed() -> None:
    watching = Watching()
    assert watching.passes.next_beat(0, watching.clock.now())
    watching.clock.move(29 * SECOND)
    assert watching.look.at_service().sweeping.is_alive
    watching.clock.move(SECOND)
    assert not watching.look.at_service().sweeping.is_alive


def test_open_breakers_and_paused_keys_are_shown_to_their_tenant_and_to_operators() -> None:
    watching = Watching()
    down = rules.failed(Breaker(), 10, now=watching.clock.now(), error="no answer")
    for tenant in ("acme", "other"):
        assert watching.flow.change_breaker((tenant, "webhook:https://down.example"), Breaker(), down)
    paused = flow_keys.paused(FlowKey(), now=watching.clock.now())
    assert watching.flow.change_key(("acme", "mail"), FlowKey(), paused)
    own = answers.of_tenant(watching.look.at_tenant("acme", payments=True), payments=True)
    (shown,) = own["destinations"]
    assert (shown["tenant"], shown["address"], shown["state"]) == ("acme", "https://down.example", "OPEN")
    assert own["paused_flow_keys"] == [{"tenant": "acme", "key": "mail"}]
    told = answers.of_service(watching.look.at_service())
    assert [each["tenant"] for each in told["destinations"]] == ["acme", "other"]


def test_the_calendar_counts_what_waits_by_minute_and_by_hour() -> None:
    watching = Watching()
    watching.clock.move(-20 * MINUTE)
    now = watching.clock.now()
    soon = [a_task(number, tenant="acme", due_at=now + 10 * MINUTE) for number in (1, 2)]
    later = [
        a_task(3, tenant="acme", due_at=now + 90 * MINUTE),
        a_task(4, tenant="acme", due_at=now + 47 * 60 * MINUTE),
    ]
    beyond = a_task(5, tenant="acme", due_at=now + REACHES + MINUTE)
    cancelled = in_state(State.CANCELLED, a_task(6, tenant="acme", due_at=now + 10 * MINUTE))
    watching.tasks.add(
        [*soon, *later, beyond, cancelled, a_task(7, tenant="other", due_at=now + 10 * MINUTE)]
    )
    told = answers.of_tenant(watching.look.at_tenant("acme", payments=True), payments=True)["calendar"]
    sums = [told["next_hour"], told["next_day"], told["next_week"]]
    assert [each["tasks"] for each in sums] == [2, 3, 4]
    assert [(each["at"], each["tasks"]) for each in told["minutes"]] == [
        (answers.text_of(instants.start_of(instants.minute_of(now + 10 * MINUTE))), 2)
    ]
    assert [each["tasks"] for each in told["hours"]] == [2, 1, 1]
    assert told["until"] == answers.text_of(now + REACHES)


def test_a_calendar_says_how_far_it_has_counted() -> None:
    watching = Watching()
    now = watching.clock.now()
    watching.tasks.add(
        [a_task(number, tenant="acme", due_at=now + (number + 1) * SECOND) for number in range(READ_MAX + 20)]
    )
    calendar = watching.look.at_tenant("acme", payments=True).calendar
    assert calendar.until == now + READ_MAX * SECOND
    assert calendar.sums[0].tasks == READ_MAX - 1
