"""DescribeAlarms of the local engine, answered from what functions have logged."""

import json
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


def test_lines_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"message": line("settle", BEGAN + 540, BooksDisagree=1)}]
    cloudwatch_logs._log_groups[LOGS] = {"streams": {"one": {"events": events}}}
    live = Live(LOCAL)
    alarms = Alarms(live, described)
    for at in (0, 10, 20):
        alarms.refresh(BEGAN + 541.0 + at)
    ((_, values),) = live.samples.of.items()
    assert len(values) == 1
