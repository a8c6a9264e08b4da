"""CloudWatch's alarms of the local stack, loaded into the engine itself: DescribeAlarms answers as AWS does.

The engine evaluates no math, no dimensions, no M of N and no composite alarm, and makes no metrics of log lines. Here
the alarms of the table are evaluated over the lines that functions have logged, when somebody asks for alarms, or for
parameters while a change of them is watched.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ministack.services import appconfig, cloudwatch, cloudwatch_logs, sqs

ROOT: Final = Path(__file__).parents[2]
_LOOKS_EVERY_SECONDS: Final = 5
_AGE: Final = "ApproximateAgeOfOldestMessage"
_PREFIX: Final = "postdate-local-"
_REASON: Final = "evaluated over the lines that functions have logged"


def patched(throttled: Callable[[], list[tuple[str, float]]]) -> None:
    """`throttled` tells the newest throttled requests: their tables and instants."""
    sys.path += [str(ROOT), str(ROOT / "shared")]
    from infra.environments import LOCAL
    from infra.watch.alarm import described
    from infra.watch.live import Live

    alarms = Alarms(Live(LOCAL), described, throttled)
    cloudwatch._describe_alarms = answering(cloudwatch._describe_alarms, alarms)
    cloudwatch._get_metric_data = answering(cloudwatch._get_metric_data, alarms)
    # AppConfig looks at the history of an environment's alarms while it deploys.
    appconfig._first_monitor_alarm = answering(appconfig._first_monitor_alarm, alarms)


def answering(answer: Callable[..., Any], alarms: "Alarms") -> Callable[..., Any]:
    """The same answer, from alarms that are up to date."""

    def answered(*given: Any) -> Any:
        alarms.refresh(time.time())
        return answer(*given)

    return answered


class Alarms:
    """Keeps the engine's own rows of alarms in step with the states of the table's alarms."""

    def __init__(
        self,
        live: Any,
        described: Callable[[Any], str],
        throttled: Callable[[], list[tuple[str, float]]] = list,
    ) -> None:
        self._live = live
        self._described = described
        self._throttled = throttled
        self._read: dict[tuple[str, str], int] = {}
        self._looked_at = 0.0

    def refresh(self, now: float) -> None:
        if now < self._looked_at + _LOOKS_EVERY_SECONDS:
            return
        self._looked_at = now
        for line in self._lines():
            self._live.add(line)
        for url, queue in list(sqs._queues.items()):
            name = url.rpartition("/")[2]
            if name.startswith(_PREFIX):
                visible = sum(each["visible_at"] <= now for each in queue["messages"])
                self._live.add_depth(name.removeprefix(_PREFIX), visible, at=now)
                self._aged(name, queue["messages"], now)
        for table, at in self._throttled():
            dimensions = (("TableName", table),)
            self._live.samples.add("AWS/DynamoDB", "WriteThrottleEvents", dimensions, at=at, value=1.0)
        self._live.look(now)
        for row in self._live.rows:
            self._keep(row)

    def _aged(self, queue: str, messages: list[Any], now: float) -> None:
        """Notes the age of the oldest message in the engine's metric, as SQS does; of an empty queue nothing."""
        if messages:
            age = now - min(each["sent_at"] for each in messages)
            dimensions = {"QueueName": queue}
            cloudwatch.record_metric("AWS/SQS", _AGE, max(0.0, age), "Seconds", dimensions)

    def _lines(self) -> list[str]:
        """Returns the records that were logged since the last look."""
        found: list[str] = []
        for group, content in list(cloudwatch_logs._log_groups.items()):
            if not group.startswith(f"/aws/lambda/{_PREFIX}"):
                continue
            for name, stream in list(content["streams"].items()):
                events, first = stream["events"], self._read.get((group, name), 0)
                new = events[first:]
                self._read[group, name] = first + len(new)
                found += [each["message"] for each in new if "CloudWatchMetrics" in each["message"]]
        return found

    def _keep(self, row: Any) -> None:
        name = f"{_PREFIX}{row.name.replace('_', '-')}"
        told = "" if row.severity.value == "part" else f"{_PREFIX}{row.severity.value}"
        topics = [f"arn:aws:sns:us-east-1:000000000000:{told}"] if told else []
        at = int(self._live.since[row.name])
        is_composite = not hasattr(row, "series")
        kept = cloudwatch._composite_alarms if is_composite else cloudwatch._alarms
        before, now = kept.get(name, {}).get("StateValue"), self._live.states[row.name].value
        if before not in (None, now):
            kind = "CompositeAlarm" if is_composite else "MetricAlarm"
            cloudwatch._record_history(name, before, now, _REASON, kind)
        kept[name] = {
            "AlarmName": name,
            "AlarmArn": f"arn:aws:cloudwatch:us-east-1:000000000000:alarm:{name}",
            "AlarmDescription": self._described(row),
            "AlarmActions": topics,
            "OKActions": topics,
            "InsufficientDataActions": [],
            "ActionsEnabled": True,
            "StateValue": now,
            "StateReason": _REASON,
            "StateUpdatedTimestamp": at,
            "StateTransitionedTimestamp": at,
            "AlarmConfigurationUpdatedTimestamp": 0,
            **({"AlarmRule": row.rule} if hasattr(row, "rule") else {"Dimensions": []}),
        }
