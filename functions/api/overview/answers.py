"""The answers of the overview."""

from collections.abc import Mapping
from typing import Annotated, Final

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, described
from functions.api.destinations import answers as destinations
from functions.api.destinations.answers import Destination
from functions.api.forms import text_of
from functions.api.overview import calendar as calendars
from functions.api.overview import look as looks
from functions.api.overview.look import Looked, Minute, OfTenant
from functions.api.switches.answers import SwitchState, state_of
from postdate.domain import calendar as calendar_counts
from postdate.domain import instants
from postdate.domain.reconciling import DONE, Reconciliation
from postdate.domain.tally import PAYMENTS, TASKS, MinuteTally
from postdate.runtime.alarms import Firing
from postdate.runtime.metric import TIERS

_NOTHING: Final[calendars.Sums] = (
    calendar_counts.DueCount(),
    calendar_counts.DueCount(),
    calendar_counts.DueCount(),
)


class TaskFigures(TypedDict):
    due: Annotated[Count, described("Planned for this minute, and neither cancelled nor skipped.")]
    done: Count
    failed: Annotated[Count, described("Ended without success.")]
    retried: Annotated[Count, described("Needed more than one attempt.")]
    lateness_p50_ms: Annotated[int | None, described("From the instant to the start, to a tenth.")]
    lateness_p99_ms: int | None


class PaymentFigures(TaskFigures):
    amount: Annotated[Count, described("Sum of the amounts of the payments that were due.")]


class MinuteFigures(TypedDict):
    minute: Annotated[Instant, described("When it began.")]
    counted: Annotated[
        bool,
        described(
            "False until the sweep has closed the minute, a minute after its end. Then all figures are 0."
        ),
    ]
    tasks: TaskFigures
    payments: Annotated[PaymentFigures | None, described("Null if the key may not read payments.")]


class QueueDepth(TypedDict):
    queue: str
    waiting: Annotated[
        Count, described("Messages that a worker may take now. A message calls up to 25 items.")
    ]
    in_flight: Annotated[Count, described("Messages that a worker has.")]
    delayed: Annotated[Count, described("Messages for a later instant.")]
    oldest_seconds: Annotated[
        int | None,
        described(
            "Age of the oldest message, up to three minutes ago. Null for an empty queue, and if CloudWatch does not "
            "tell."
        ),
    ]


class HeldDestination(Destination):
    tenant: str


class PausedFlowKey(TypedDict):
    tenant: str
    key: str


class SweepState(TypedDict):
    alive: Annotated[bool, described("False after three missed heartbeats: nothing new falls due.")]
    behind_minutes: Annotated[
        Count, described("Since the first minute that should be open and is not; 60 is an hour or more.")
    ]
    swept_until: Annotated[
        Instant | None, described("The watermark: all passes of earlier minutes were made.")
    ]
    heartbeat_at: Instant | None


class Due(TypedDict):
    tasks: Annotated[
        Count,
        described(
            "One-time tasks. The operators' calendar also counts the next runs of recurring tasks; a tenant's does not."
        ),
    ]
    payments: Count
    amount: Annotated[Count, described("Sum of these payments.")]


class DueAt(Due):
    at: Annotated[Instant, described("When the minute or the hour begins.")]


class Calendar(TypedDict):
    """The items to come, by their planned instants. Payments are 0 if the key may not read them."""

    until: Annotated[
        Instant, described("Before it all is counted: a week from now, or less with more than 500 items.")
    ]
    next_hour: Due
    next_day: Due
    next_week: Due
    minutes: Annotated[list[DueAt], described("Of the next hour; those without items are left out.")]
    hours: Annotated[list[DueAt], described("Of the next week; those without items are left out.")]


class TierDue(TypedDict):
    tier: Annotated[str, described("Of tenants, as it was when the item was registered, moved or withdrawn.")]
    next_hour: Due
    next_day: Due
    next_week: Due


class ServiceCalendar(Calendar):
    tiers: Annotated[list[TierDue], described("The same sums for each tier of tenants.")]


class LastHour(TypedDict):
    at: Instant
    minutes: Annotated[list[MinuteFigures], described("Of the last hour, the oldest first.")]
    destinations: Annotated[
        list[HeldDestination],
        described("Those that are left alone, at most 100. All are in the list of destinations."),
    ]
    paused_flow_keys: Annotated[list[PausedFlowKey], described("At most 100.")]


class Overview(LastHour):
    calendar: Calendar


class FiringAlarm(TypedDict):
    alarm: str
    severity: Annotated[str, described("`page` or `ticket`.")]
    since: Instant
    meaning: str
    runbook: Annotated[str, described("The entry of the alarm in docs/runbook.md.")]


class FailingDependency(TypedDict):
    name: Annotated[
        str, described("`reads:` or `writes:` and the name of a table, or `s3`, `sts`, `kms` or `appconfig`.")
    ]
    function: Annotated[str, described("The function that feels it.")]
    since: Instant
    open_until: Annotated[Instant, described("From then on one call may try.")]
    error: Annotated[str, described("The newest failure.")]


class LastReconciliation(TypedDict):
    reconciliation_id: str
    ok: Annotated[bool, described("True if nothing contradicts anything.")]
    finished_at: Instant
    by_check: Annotated[dict[str, Count], described("The number of findings by check.")]
    to_approve: Annotated[Count, described("Proposed repairs that were not made yet.")]


class ServiceOverview(LastHour):
    calendar: Annotated[
        ServiceCalendar,
        described("Of all tenants, counted some seconds after each change, without the minute that runs."),
    ]
    queues: list[QueueDepth]
    sweep: SweepState
    switches: Annotated[
        list[SwitchState], described("Those that are off, or whose payments are being caught up.")
    ]
    alarms: Annotated[
        list[FiringAlarm] | None,
        described("Those that fire, pages first, up to 10 s old. Null if CloudWatch does not tell."),
    ]
    dependencies: Annotated[
        list[FailingDependency],
        described("Services of AWS that a function calls no more for now, because they failed in a row."),
    ]
    reconciliation: Annotated[
        LastReconciliation | None, described("The newest; null before the first night.")
    ]


def of_tenant(looked: OfTenant, *, payments: bool) -> Overview:
    return {**_last_hour(looked, payments=payments), "calendar": _calendar(looked.calendar)}


def _last_hour(looked: looks.LastHour, *, payments: bool) -> LastHour:
    return {
        "at": text_of(looked.at),
        "minutes": [_minute(each, payments=payments) for each in looked.minutes],
        "destinations": [
            {"tenant": tenant, **destinations.of(name, breaker, looked.at)}
            for (tenant, name), breaker in looked.attention.breakers.items()
        ],
        "paused_flow_keys": [{"tenant": tenant, "key": key} for tenant, key in looked.attention.keys],
    }


def of_service(looked: Looked) -> ServiceOverview:
    sweeping = looked.sweeping
    until = None if sweeping.watermark is None else instants.end_of(sweeping.watermark)
    return {
        **_last_hour(looked, payments=True),
        "calendar": {
            **_calendar(looked.calendar),
            "tiers": [_tier(tier, looked.calendar.tiers.get(tier, _NOTHING)) for tier in TIERS],
        },
        "queues": [
            {
                "queue": name,
                "waiting": depth.waiting,
                "in_flight": depth.in_flight,
                "delayed": depth.delayed,
                "oldest_seconds": looked.ages.get(name),
            }
            for name, depth in looked.queues.items()
        ],
        "sweep": {
            "alive": sweeping.is_alive,
            "behind_minutes": sweeping.behind_minutes,
            "swept_until": text_of(until),
            "heartbeat_at": text_of(sweeping.heartbeat_at),
        },
        "switches": [state_of(each) for each in looked.switches],
        "alarms": None if looked.alarms is None else [_alarm(each) for each in looked.alarms],
        "dependencies": [
            {
                "name": each.name,
                "function": each.function,
                "since": text_of(each.since),
                "open_until": text_of(each.open_until),
                "error": each.error,
            }
            for each in looked.dependencies
        ],
        "reconciliation": None if looked.reconciliation is None else _reconciliation(looked.reconciliation),
    }


def _reconciliation(found: Reconciliation) -> LastReconciliation:
    return {
        "reconciliation_id": found.id,
        "ok": found.ok,
        "finished_at": text_of(found.finished_at),
        "by_check": dict(found.by_check),
        "to_approve": sum(each.outcome != DONE for each in found.proposals),
    }


def _alarm(firing: Firing) -> FiringAlarm:
    return {
        "alarm": firing.name,
        "severity": firing.severity,
        "since": text_of(firing.since),
        "meaning": firing.meaning,
        "runbook": firing.runbook,
    }


def _calendar(counted: calendars.Calendar) -> Calendar:
    """Returns the counts as the answer shows them. Both overviews use it; the operators' adds the tiers."""
    hour, day, week = (_due(each) for each in counted.sums)
    return {
        "until": text_of(counted.until),
        "next_hour": hour,
        "next_day": day,
        "next_week": week,
        "minutes": _by_instant(counted.minutes),
        "hours": _by_instant(counted.hours),
    }


def _tier(tier: str, sums: calendars.Sums) -> TierDue:
    hour, day, week = (_due(each) for each in sums)
    return {"tier": tier, "next_hour": hour, "next_day": day, "next_week": week}


def _by_instant(found: Mapping[int, calendar_counts.DueCount]) -> list[DueAt]:
    return [{"at": text_of(instants.start_of(minute)), **_due(found[minute])} for minute in sorted(found)]


def _due(due: calendar_counts.DueCount) -> Due:
    return {"tasks": due.tasks, "payments": due.payments, "amount": due.amount}


def _minute(minute: Minute, *, payments: bool) -> MinuteFigures:
    paid = minute.kinds.get(PAYMENTS, MinuteTally())
    return {
        "minute": text_of(instants.start_of(minute.minute)),
        "counted": minute.counted,
        "tasks": _figures(minute.kinds.get(TASKS, MinuteTally())),
        "payments": {**_figures(paid), "amount": paid.amount} if payments else None,
    }


def _figures(tally: MinuteTally) -> TaskFigures:
    return {
        "due": tally.due,
        "done": tally.done,
        "failed": tally.failed,
        "retried": tally.retried,
        "lateness_p50_ms": tally.lateness_ms(0.5),
        "lateness_p99_ms": tally.lateness_ms(0.99),
    }
