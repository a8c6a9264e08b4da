"""Periods, queues and series that several parts of the table use."""

from typing import Final

from infra.environment import Environment
from infra.watch.alarm import ACCOUNT, PARTITION, REGION, Series
from postdate.runtime.metric import Metric

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
# The queues with dead letters of their own.
QUEUES: Final = ("tasks", "payments", "ticks")


def queues(environment: Environment) -> tuple[str, ...]:
    """The queues that a function reads. A queue that nobody reads has no metrics."""
    return (*QUEUES, *(("slow",) if environment.settings.slow_lane else ()))


def own(environment: Environment, function: str, emitted: Metric, statistic: str = "Sum") -> Series:
    if function not in emitted.functions:
        raise ValueError(f"{function} does not emit {emitted.name}")
    return Series(
        namespace="Postdate",
        name=emitted.name,
        statistic=statistic,
        dimensions=(("service", environment.named(function)),),
    )


def of_function(environment: Environment, function: str, name: str) -> Series:
    """A metric that Lambda counts."""
    return Series(
        namespace="AWS/Lambda",
        name=name,
        statistic="Sum",
        dimensions=(("FunctionName", environment.named(function)),),
    )


def of_machine(environment: Environment, machine: str, name: str) -> Series:
    """A metric that Step Functions counts."""
    arn = f"arn:{PARTITION}:states:{REGION}:{ACCOUNT}:stateMachine:{environment.named(machine)}"
    return Series(namespace="AWS/States", name=name, statistic="Sum", dimensions=(("StateMachineArn", arn),))


def of_queue(environment: Environment, queue: str, name: str) -> Series:
    """A metric that SQS counts."""
    return Series(
        namespace="AWS/SQS",
        name=name,
        statistic="Maximum",
        dimensions=(("QueueName", environment.named(queue)),),
    )
