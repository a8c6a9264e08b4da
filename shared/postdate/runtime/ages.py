"""Ages of the oldest messages of queues, as CloudWatch tells them: SQS itself tells none."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger

if TYPE_CHECKING:
    from botocore.client import BaseClient

_PERIOD: Final = timedelta(minutes=1)
# The newest figures are a minute or two late.
_LOOKS_BACK: Final = timedelta(minutes=5)


def oldest_seconds(
    client: "Callable[[], BaseClient]", urls: Mapping[str, str], clock: Clock
) -> Mapping[str, int]:
    """The newest ages by the names that `urls` has for the queues. A queue that was empty has none, and so have all if
    CloudWatch does not answer: an overview without ages is better than none."""
    now, names = clock.now(), list(urls)
    asked = [
        {
            "Id": f"q{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/SQS",
                    "MetricName": "ApproximateAgeOfOldestMessage",
                    "Dimensions": [{"Name": "QueueName", "Value": urls[name].rpartition("/")[2]}],
                },
                "Period": int(_PERIOD.total_seconds()),
                "Stat": "Maximum",
            },
        }
        for number, name in enumerate(names)
    ]
    try:
        answer = client().get_metric_data(
            MetricDataQueries=asked,
            StartTime=now - _LOOKS_BACK,
            EndTime=now + _PERIOD,
            ScanBy="TimestampDescending",
        )
    except (BotoCoreError, ClientError, Unavailable):
        logger.exception("the ages of queues are not known now", extra={"action": "ages_not_read"})
        return {}
    return {
        names[int(each["Id"][1:])]: int(each["Values"][0])
        for each in answer["MetricDataResults"]
        if each["Values"]
    }
