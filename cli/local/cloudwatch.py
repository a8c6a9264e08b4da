"""CloudWatch's alarms of the local stack, loaded into the engine itself: DescribeAlarms answers as AWS does.

The engine evaluates no math, no dimensions, no M of N and no composite alarm, and makes no metrics of log lines. Here
the alarms of the table are evaluated over the lines that functions have logged, when somebody asks for alarms.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ministack.services import cloudwatch, cloudwatch_logs, sqs

ROOT: Final = Path(__file__).parents[2]
_LOOKS_EVERY_SECONDS: Final = 5
_PREFIX: Final = "postdate-local-"


def patched(throttled: Callable[[], list[tuple[str, float]]]) -> None:
    """`throttled` tells the newest throttled requests: their tables and instants."""
    sys.path += [str(ROOT), str(ROOT / "shared")]
    from infra.environments import LOCAL
    from infra.watch.alarm import described
    from infra.watch.live import Live

    alarms = Alarms(Live(LOCAL), described, throttled)
    cloudwatch._describe_alarms = answering(cloudwatch._describe_alarms, alarms)


def answering(describe: Callable[..., Any], alarms: "Alarms") -> Callable[..., Any]:
    def described(*given: Any) -> Any:
        alarms.refresh(time.time())
        return describe(*given)

    return described


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
        for table, at in self._throttled():
            dimensions = (("TableName", table),)
            self._live.samples.add("AWS/DynamoDB", "WriteThrottleEvents", dimensions, at=at, value=1.0)
        self._live.look(now)
        for row in self._live.rows:
            self._keep(row)

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
        kept = cloudwatch._alarms if hasattr(row, "series") else cloudwatch._composite_alarms
        kept[name] = {
            "AlarmName": name,
            "AlarmArn": f"arn:aws:cloudwatch:us-east-1:000000000000:alarm:{name}",
            "AlarmDescription": self._described(row),
            "AlarmActions": topics,
            "OKActions": topics,
            "InsufficientDataActions": [],
            "ActionsEnabled": True,
            "StateValue": self._live.states[row.name].value,
            "StateReason": "evaluated over the lines that functions have logged",
            "StateUpdatedTimestamp": at,
            "StateTransitionedTimestamp": at,
            "AlarmConfigurationUpdatedTimestamp": 0,
            **({"AlarmRule": row.rule} if hasattr(row, "rule") else {"Dimensions": []}),
        }
