"""Alarms that fire: asked of CloudWatch, or evaluated here for the local stack, whose engine evaluates none."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from infra.environment import Environment
from infra.watch import emf
from infra.watch.alarm import Alarm, Composite, Severity
from infra.watch.evaluate import State, Watch, judged
from infra.watch.samples import Samples
from infra.watch.series import QUEUES
from infra.watch.table import alarms, composites
from infra.watch.throttles import WATCHED

# As far back as most alarms look. A stack that is younger has no data before it, and data that is missing then says
# nothing: the evaluation begins with the first sample.
LOOKS_BACK: Final = timedelta(hours=1)
_MINUTE: Final = 60


def firing_on_aws(environment: Environment, client: Callable[[str], Any]) -> list[dict[str, str]]:
    pages = (
        client("cloudwatch")
        .get_paginator("describe_alarms")
        .paginate(
            AlarmNamePrefix=environment.named(""),
            AlarmTypes=["MetricAlarm", "CompositeAlarm"],
            StateValue=State.ALARM.value,
        )
    )
    states = {
        found["AlarmName"]: found["StateUpdatedTimestamp"]
        for page in pages
        for found in (*page["MetricAlarms"], *page["CompositeAlarms"])
    }
    return [
        each | {"since": states[environment.named(each["alarm"])].isoformat()}
        for each in _told(environment)
        if environment.named(each["alarm"]) in states
    ]


def firing_locally(
    environment: Environment, client: Callable[[str], Any], now: datetime
) -> list[dict[str, str]]:
    """Evaluates the alarms over the logs of the last hour. The current minute counts as if it were over."""
    samples = emitted(environment, client, since=now - LOOKS_BACK, now=now)
    judging = judged(alarms(environment), seconds=int(LOOKS_BACK.total_seconds()))
    watch = Watch(judging, composites(environment))
    watch.states = dict.fromkeys(watch.states, State.OK)
    instants = [at for series in samples.of.values() for at, _ in series]
    end = (int(now.timestamp()) // _MINUTE + 1) * _MINUTE
    began = int(min(instants, default=end)) // _MINUTE * _MINUTE
    for at in range(began + 6 * _MINUTE, end, _MINUTE):
        watch.look(samples, at=at)
    watch.look(samples, at=end)
    firing = {name: watch.fired[name] for name, state in watch.states.items() if state is State.ALARM}
    return [
        each | {"since": datetime.fromtimestamp(firing[each["alarm"]], UTC).isoformat()}
        for each in _told(environment)
        if each["alarm"] in firing
    ]


def emitted(
    environment: Environment, client: Callable[[str], Any], *, since: datetime, now: datetime
) -> Samples:
    """The metrics of the local stack: those that its functions have logged, and the present length of each queue."""
    samples = Samples()
    logs = client("logs")
    for function in environment.functions:
        for line in _lines(logs, f"/aws/lambda/{environment.named(function)}", since):
            emf.add(samples, line)
    _add_queues(samples, environment, client("sqs"), now)
    _add_throttles(samples, environment, client("cloudwatch"), since, now)
    return samples


def fires(
    environment: Environment,
    client: Callable[[str], Any],
    name: str,
    *,
    since: datetime,
    now: datetime,
    times: float = 1,
) -> bool:
    """True if the alarm fires on what was emitted since an instant, each second of it counted as so many."""
    kept = stretched(emitted(environment, client, since=since, now=now), since=since.timestamp(), times=times)
    watch = Watch(alarms(environment), composites(environment))
    watch.states = dict.fromkeys(watch.states, State.OK)
    end = since.timestamp() + (now - since).total_seconds() * times
    watch.look(kept, at=(int(end) // _MINUTE + 1) * _MINUTE)
    return watch.states[name] is State.ALARM


def stretched(samples: Samples, *, since: float, times: float) -> Samples:
    """The samples after `since`, as if time had passed so many times as fast from there on."""
    return Samples(
        of={
            key: [(since + (at - since) * times, value) for at, value in values if at >= since]
            for key, values in samples.of.items()
        }
    )


def _told(environment: Environment) -> Iterator[dict[str, str]]:
    """Pages first, then tickets."""
    rows: tuple[Alarm | Composite, ...] = (*composites(environment), *alarms(environment))
    wanted = (Severity.PAGE, Severity.TICKET)
    for each in (row for severity in wanted for row in rows if row.severity is severity):
        yield {
            "alarm": each.name,
            "severity": each.severity.value,
            "meaning": each.meaning,
            "runbook": f"docs/runbook.md#{each.runbook}",
        }


def _lines(logs: Any, group: str, since: datetime) -> Iterator[str]:
    try:
        for page in logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, startTime=int(since.timestamp() * 1000), filterPattern='"CloudWatchMetrics"'
        ):
            for event in page["events"]:
                yield event["message"]
    except logs.exceptions.ResourceNotFoundException:
        return


def _add_queues(samples: Samples, environment: Environment, sqs: Any, now: datetime) -> None:
    """Adds the present length of each queue."""
    for queue in (*QUEUES, *(f"{queue}-dlq" for queue in (*QUEUES, "events")), "slow"):
        name = environment.named(queue)
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        samples.add(
            "AWS/SQS",
            "ApproximateNumberOfMessagesVisible",
            (("QueueName", name),),
            at=now.timestamp(),
            value=float(found["Attributes"]["ApproximateNumberOfMessages"]),
        )


def _add_throttles(
    samples: Samples, environment: Environment, cloudwatch: Any, since: datetime, now: datetime
) -> None:
    """Adds the throttled writes of each table, second by second."""
    name = "WriteThrottleEvents"
    for table in map(environment.table, WATCHED):
        found = cloudwatch.get_metric_statistics(
            Namespace="AWS/DynamoDB",
            MetricName=name,
            Dimensions=[{"Name": "TableName", "Value": table}],
            StartTime=since,
            EndTime=now + timedelta(seconds=1),
            Period=1,
            Statistics=["Sum"],
        )
        for point in found["Datapoints"]:
            at = point["Timestamp"].timestamp()
            samples.add("AWS/DynamoDB", name, (("TableName", table),), at=at, value=point["Sum"])
