"""DescribeAlarms of the local engine, answered from what functions have logged."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from ministack.services import cloudwatch as engine
from ministack.services import cloudwatch_logs, sqs

from cli.local.cloudwatch import Alarms, answering
from infra.environments import LOCAL
from infra.watch.alarm import RUNBOOK, described
from infra.watch.live import Live
from postdate.runtime.alarms import firing
from tests.unit.watch.test_live import BEGAN, line

WOKEN: Final = {"WakeUps": 6, "Ticks": 1, "SweepBehindMinutes": 1}
LOGS: Final = f"/aws/lambda/{LOCAL.named('settle')}"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sqs, "_queues", {})
    monkeypatch.setattr(cloudwatch_logs, "_log_groups", {})
    for kept in (engine._alarms, engine._composite_alarms):
        kept._data.clear()
    yield
    for kept in (engine._alarms, engine._composite_alarms):
        kept._data.clear()


class Client:
    """A client as the function makes it, with the engine in this process."""

    def __init__(self) -> None:
        self._described = answering(engine._describe_alarms, Alarms(Live(LOCAL), described))

    def describe_alarms(self, **asked: Any) -> Any:
        _, _, body = self._described({}, asked, False, True)
        answer = json.loads(body)
        for each in (*answer["MetricAlarms"], *answer["CompositeAlarms"]):
            each["StateUpdatedTimestamp"] = datetime.fromtimestamp(each["StateUpdatedTimestamp"], UTC)
        return answer


def test_an_alarm_of_the_local_stack_is_told_as_on_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        *({"message": line("sweep", BEGAN + 60 * minute, **WOKEN)} for minute in range(10)),
        {"message": line("settle", BEGAN + 540, BooksDisagree=1)},
        {"message": "START"},
    ]
    cloudwatch_logs._log_groups[LOGS] = {"streams": {"one": {"events": events}}}
    monkeypatch.setattr("cli.local.cloudwatch.time.time", lambda: BEGAN + 550.0)
    (told,) = firing(Client, LOCAL.named("")) or ()
    assert (told.name, told.severity) == ("balance_inconsistency", "page")
    assert told.runbook == f"{RUNBOOK}#balance_inconsistency"
    assert told.since.timestamp() == BEGAN + 550


def test_appconfig_finds_an_alarm_that_fired_since_its_deployment_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An alarm that fires is a change in the history; one that goes on firing is none."""
    monkeypatch.setattr(engine, "_alarm_history", type(engine._alarm_history)())
    arn = f"arn:aws:cloudwatch:us-east-1:000000000000:alarm:{LOCAL.named('balance_inconsistency')}"
    events = [{"message": line("sweep", BEGAN + 60 * minute, **WOKEN)} for minute in range(10)]
    cloudwatch_logs._log_groups[LOGS] = {"streams": {"one": {"events": events}}}
    alarms, began = Alarms(Live(LOCAL), described), time.time() - 1
    alarms.refresh(BEGAN + 550)
    assert engine.first_alarm_time(arn, began, time.time()) is None
    events.append({"message": line("settle", BEGAN + 555, BooksDisagree=1)})
    for at in (560, 570):
        alarms.refresh(BEGAN + at)
    fired = engine.first_alarm_time(arn, began - 1, time.time())
    assert fired is not None
    named = [each["AlarmName"] for each in engine._history_entries()]
    assert named.count(LOCAL.named("balance_inconsistency")) == 1


def test_the_oldest_message_of_a_queue_gives_its_age_as_sqs_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_metrics", type(engine._metrics)())
    messages = [{"visible_at": 0, "sent_at": BEGAN - age} for age in (5, 40, 9)]
    queues = {f"http://127.0.0.1/0/{LOCAL.named(name)}": {"messages": []} for name in ("tasks", "slow")}
    queues[f"http://127.0.0.1/0/{LOCAL.named('tasks')}"]["messages"] = messages
    monkeypatch.setattr(sqs, "_queues", queues)
    Alarms(Live(LOCAL), described).refresh(BEGAN)
    told = {
        point["Dimensions"]["QueueName"]: point["Value"]
        for (_, metric, _), points in engine._metrics.items()
        for point in points
        if metric == "ApproximateAgeOfOldestMessage"
    }
    assert told == {LOCAL.named("tasks"): 40.0}


def test_lines_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"message": line("settle", BEGAN + 540, BooksDisagree=1)}]
    cloudwatch_logs._log_groups[LOGS] = {"streams": {"one": {"events": events}}}
    live = Live(LOCAL)
    alarms = Alarms(live, described)
    for at in (0, 10, 20):
        alarms.refresh(BEGAN + 541.0 + at)
    ((_, values),) = live.samples.of.items()
    assert len(values) == 1
