"""The state machine that makes a page of a ticket, on a clock that moves when told."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from infra.environments import PROD
from infra.watch.alarm import Severity
from infra.watch.escalation_values import values
from infra.watch.table import alarms, composites
from tests.machine import RETRY, Interpreted
from tests.unit.doubles import ManualClock

START: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
PAGE: Final = "arn:aws:sns:us-east-1:000000000000:postdate-prod-page"
TICKET: Final = "arn:aws:sns:us-east-1:000000000000:postdate-prod-ticket"
HOUR: Final = timedelta(hours=1)
LOOK: Final = "arn:aws:states:::aws-sdk:cloudwatch:describeAlarms"
TELL: Final = "arn:aws:states:::sns:publish"


@dataclass(kw_only=True, slots=True, eq=False)
class Watched:
    """One alarm, whose states change at these times after the event; CloudWatch and SNS fail so many times."""

    name: str = "postdate-prod-tasks-late"
    topic: str = TICKET
    changes: list[tuple[timedelta, str]] = field(default_factory=list)
    exists: bool = True
    looks_failing: int = 0
    pages_failing: int = 0
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    pages: list[tuple[timedelta, dict[str, Any]]] = field(default_factory=list)
    walked: set[tuple[str, str]] = field(default_factory=set)

    def escalated(self) -> str:
        """The end of the execution that an event starts now."""
        machine = Interpreted(
            name="escalate",
            calls={},
            clock=self.clock,
            values=values(PROD, alarms(PROD), page=PAGE, ticket=TICKET),
            services={LOOK: self.look, TELL: self.tell},
            started_at=self.clock.now().isoformat().replace("+00:00", "Z"),
        )
        machine.start("one", {"alarm": self.name})
        machine.run()
        self.walked |= machine.walked
        return machine.status["one"]

    def look(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.looks_failing:
            self.looks_failing -= 1
            raise RuntimeError("throttled")
        assert asked == {"AlarmNames": [self.name]}
        at, state = timedelta(seconds=-1), "ALARM"
        for change in self.changes:
            if change[0] <= self.clock.now() - START:
                at, state = change
        found = {
            "AlarmName": self.name,
            "AlarmDescription": "Meaning. Runbook: docs/runbook.md#tasks_late",
            "AlarmActions": [self.topic],
            "StateValue": state,
            "StateTransitionedTimestamp": (START + at).isoformat().replace("+00:00", "Z"),
        }
        return {"MetricAlarms": [found] if self.exists else [], "CompositeAlarms": []}

    def tell(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.pages_failing:
            self.pages_failing -= 1
            raise RuntimeError("throttled")
        assert asked["TopicArn"] == PAGE
        assert len(asked["Subject"]) <= 100
        self.pages.append((self.clock.now() - START, asked["Message"]))
        return {"MessageId": "1"}


def test_a_ticket_that_stays_open_for_four_hours_becomes_a_page() -> None:
    watched = Watched()
    assert watched.escalated() == "SUCCEEDED"
    ((at, message),) = watched.pages
    assert 4 * HOUR <= at < 4 * HOUR + timedelta(seconds=5)
    assert message["AlarmName"] == watched.name
    assert message["AlarmDescription"].endswith("docs/runbook.md#tasks_late")
    assert message["NewStateValue"] == "ALARM"
    assert message["StateChangeTime"] == "2026-11-18T10:04:59Z"


def test_a_parked_payment_becomes_a_page_after_an_hour() -> None:
    watched = Watched(name=PROD.named("dead_letters_payments"))
    watched.escalated()
    ((at, _),) = watched.pages
    assert HOUR <= at < HOUR + timedelta(seconds=5)


def test_some_alarms_have_times_of_their_own() -> None:
    others = {each.name: each.pages_after for each in alarms(PROD) if each.pages_after != 4 * 3600}
    assert others == {
        "dead_letters_payments": 3600,
        "dead_letters_tasks": 86_400,
        "messages_wait_slow": 86_400,
        "reconciliation_missing": 86_400,
    }


@pytest.mark.parametrize(
    "changes",
    [
        [(timedelta(seconds=1), "OK")],
        [(4 * HOUR, "OK")],
        [(HOUR, "INSUFFICIENT_DATA")],
        [(HOUR, "OK"), (2 * HOUR, "ALARM")],
        [(timedelta(seconds=1), "OK"), (timedelta(seconds=2), "ALARM")],
    ],
    ids=["soon quiet", "quiet at the end", "without data", "fires anew", "fires anew at once"],
)
def test_an_alarm_that_was_quiet_meanwhile_makes_no_page(changes: list[tuple[timedelta, str]]) -> None:
    """One that fires anew has made an event of its own, and its time begins anew."""
    watched = Watched(changes=changes)
    assert watched.escalated() == "SUCCEEDED"
    assert watched.pages == []


def test_an_alarm_that_was_quiet_again_before_its_event_came_makes_no_page() -> None:
    watched = Watched(changes=[(timedelta(seconds=2), "OK")])
    watched.clock.sleep_until(START + timedelta(seconds=9))
    assert watched.escalated() == "SUCCEEDED"
    assert watched.pages == []


def test_a_ticket_that_fires_anew_becomes_a_page_four_hours_after_that() -> None:
    watched = Watched(changes=[(HOUR, "OK"), (2 * HOUR, "ALARM")])
    watched.clock.sleep_until(START + 2 * HOUR + timedelta(seconds=1))
    watched.escalated()
    ((at, _),) = watched.pages
    assert 6 * HOUR <= at < 6 * HOUR + timedelta(seconds=5)


@pytest.mark.parametrize("topic", [PAGE, ""], ids=["page", "part"])
def test_only_tickets_become_pages(topic: str) -> None:
    watched = Watched(topic=topic)
    watched.escalated()
    assert watched.pages == []


def test_an_alarm_that_was_removed_makes_no_page() -> None:
    watched = Watched(exists=False)
    assert watched.escalated() == "SUCCEEDED"
    assert watched.pages == []


def test_a_failing_look_and_a_failing_page_are_tried_again() -> None:
    watched = Watched(looks_failing=3, pages_failing=3)
    assert watched.escalated() == "SUCCEEDED"
    ((_, message),) = watched.pages
    assert message["NewStateReason"] == "The ticket is still open."


def test_an_alarm_that_cannot_be_looked_at_makes_a_page_that_says_so() -> None:
    watched = Watched(looks_failing=100)
    assert watched.escalated() == "SUCCEEDED"
    ((_, message),) = watched.pages
    assert message["AlarmName"] == watched.name
    assert message["NewStateReason"] == "The alarm fired, and its state could not be read again."


def test_every_edge_of_the_machine_is_walked() -> None:
    cases = [
        Watched(looks_failing=1, pages_failing=1),
        Watched(exists=False),
        Watched(looks_failing=100, pages_failing=1),
    ]
    for each in cases:
        each.escalated()
    given = values(PROD, alarms(PROD), page=PAGE, ticket=TICKET)
    machine = Interpreted(name="escalate", calls={}, clock=ManualClock(START), values=given)
    assert set.union(*(each.walked for each in cases)) == machine.edges
    assert ("PageUnseen", RETRY) in machine.edges


def test_every_ticket_is_an_alarm_on_metrics() -> None:
    """DescribeAlarms tells composite alarms to a right to all alarms alone, and the machine has a narrower one."""
    assert Severity.TICKET not in {each.severity for each in composites(PROD)}


def test_the_definition_is_json_with_every_value_filled_in() -> None:
    filled = values(PROD, alarms(PROD), page=PAGE, ticket=TICKET)
    machine = Interpreted(name="escalate", calls={}, clock=ManualClock(START), values=filled)
    assert "${" not in json.dumps(json.loads(machine._text))
