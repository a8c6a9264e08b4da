"""Examples of the overview, built by the functions that build the real answers. They show one counted minute, and one
that the sweep has not closed yet."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.overview import answers as overview
from functions.api.overview.calendar import REACHES, Calendar
from functions.api.overview.look import Attention, Looked, Minute, OfTenant, SweepState
from postdate.domain import breaker, instants, switch
from postdate.domain.breaker import Breaker
from postdate.domain.calendar import DueCount
from postdate.domain.reconciling import Reconciliation
from postdate.domain.tally import MinuteTally, bucket_of
from postdate.runtime.alarms import Firing
from postdate.runtime.depths import Depth
from postdate.stores.dependencies import Failing

_NOW: Final = datetime(2026, 11, 18, 10, 6, 20, 117_000, tzinfo=UTC)
_MINUTE: Final = instants.minute_of(_NOW) - 2


def answers() -> dict[str, Any]:
    """The examples by the name of their schema."""
    late = bucket_of(_NOW + timedelta(milliseconds=7), _NOW)
    tasks = MinuteTally(due=41, done=38, failed=1, retried=3, lateness={late: 40})
    payments = MinuteTally(due=12, done=12, amount=30_400, lateness={late: 12})
    minutes = [
        Minute(minute=_MINUTE, counted=True, kinds={"tasks": tasks, "payments": payments}),
        Minute(minute=_MINUTE + 1, counted=False, kinds={}),
    ]
    down = breaker.failed(Breaker(), 10, now=_NOW - timedelta(seconds=4), error="connection refused")
    coming = DueCount(tasks=2, payments=1, amount=250)
    minute = instants.minute_of(_NOW) + 14
    calendar = Calendar(
        until=_NOW + REACHES,
        sums=(coming, coming, coming),
        minutes={minute: coming},
        hours={minute - minute % 60: coming},
        tiers={"standard": (coming, coming, coming)},
    )
    looked = Looked(
        at=_NOW,
        minutes=minutes,
        attention=Attention(breakers={("acme", "webhook:hooks.example.com"): down}, keys=[("acme", "mail")]),
        sweeping=SweepState(
            is_alive=True, behind_minutes=0, watermark=_MINUTE - 60, heartbeat_at=_NOW - timedelta(seconds=21)
        ),
        calendar=calendar,
        queues={"tasks": Depth(waiting=2, in_flight=7, delayed=15)},
        ages={"tasks": 3},
        switches=[
            switch.turned(switch.Switch(name="target:sqs"), on=False, now=_NOW, by="key:3f9a", why="full")
        ],
        alarms=[
            Firing(
                name="destination_down",
                severity="ticket",
                since=_NOW - timedelta(minutes=3),
                meaning="A destination failed so often that it is no longer called.",
                runbook="docs/runbook.md#destination_down",
            )
        ],
        dependencies=[
            Failing(
                name="writes:postdate-prod-payments",
                function="settle",
                since=_NOW - timedelta(seconds=4),
                open_until=_NOW + timedelta(seconds=2),
                error="ThrottlingException",
            )
        ],
        reconciliation=Reconciliation(
            id="rec_20261118T021700Z_1a2b3c4d",
            started_at=_NOW - timedelta(hours=8),
            finished_at=_NOW - timedelta(hours=7, minutes=48),
            by_check={},
            looked_at={},
            unjudged=0,
            events_filled=0,
            report="",
        ),
    )
    own = OfTenant(
        at=_NOW,
        minutes=minutes,
        attention=looked.attention,
        calendar=calendar,
    )
    return {
        "Overview": overview.of_tenant(own, payments=True),
        "ServiceOverview": overview.of_service(looked),
    }
