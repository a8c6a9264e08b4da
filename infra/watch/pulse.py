"""The pulse: a sign of life for a service outside of AWS, which calls a person when no sign comes.

An alarm fires in five minutes of each ten by the clock alone, as long as the sweep emits its metrics. Each time that
it fires, EventBridge calls the address. So a signal shows that the sweep runs, that its metrics arrive, that CloudWatch
evaluates alarms, and that EventBridge tells them.
"""

from collections.abc import Iterator
from typing import Final

from aws_cdk import SecretValue, Stack, aws_events, aws_iam

from infra.environments import Environment
from infra.watch.alarm import Alarm, Comparison, Severity
from infra.watch.series import own
from postdate.runtime import metric

NAME: Final = "pulse"
# A signal that comes late is no sign of life.
_OLDEST_SECONDS: Final = 300
_TRIES: Final = 3


def pulse_alarms(environment: Environment) -> Iterator[Alarm]:
    """None without an address."""
    if environment.heartbeat_url is not None:
        yield Alarm(
            name=NAME,
            meaning="Fires and ends every 10 minutes, so that a service outside of AWS hears of it.",
            severity=Severity.PART,
            entry=NAME,
            series={"wake_ups": own(environment, "sweep", metric.WAKE_UPS)},
            expression="MINUTE(wake_ups) - 10 * FLOOR(MINUTE(wake_ups) / 10)",
            threshold=5,
            comparison=Comparison.BELOW,
        )


def add_pulse(stack: Stack, *, environment: Environment) -> None:
    """Calls the environment's address each time that the alarm fires."""
    if environment.heartbeat_url is None:
        return
    connection = aws_events.Connection(
        stack,
        "pulse-connection",
        connection_name=environment.named(NAME),
        description="The address is the secret. EventBridge demands a header.",
        authorization=aws_events.Authorization.api_key(
            "Postdate-Environment", SecretValue.unsafe_plain_text(environment.name)
        ),
    )
    destination = aws_events.ApiDestination(
        stack,
        "pulse-destination",
        api_destination_name=environment.named(NAME),
        connection=connection,
        endpoint=environment.heartbeat_url,
        http_method=aws_events.HttpMethod.POST,
        rate_limit_per_second=1,
    )
    role = aws_iam.Role(stack, "pulse-role", assumed_by=aws_iam.ServicePrincipal("events.amazonaws.com"))
    role.add_to_policy(
        aws_iam.PolicyStatement(
            actions=["events:InvokeApiDestination"], resources=[destination.api_destination_arn]
        )
    )
    aws_events.CfnRule(
        stack,
        "pulse-rule",
        name=environment.named(NAME),
        description="Signals that the sweep, its metrics and the alarms work.",
        event_pattern={
            "source": ["aws.cloudwatch"],
            "detail-type": ["CloudWatch Alarm State Change"],
            "detail": {"alarmName": [environment.named(NAME)], "state": {"value": ["ALARM"]}},
        },
        targets=[
            aws_events.CfnRule.TargetProperty(
                id=NAME,
                arn=destination.api_destination_arn,
                role_arn=role.role_arn,
                input=f'{{"environment": "{environment.name}"}}',
                retry_policy=aws_events.CfnRule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=_OLDEST_SECONDS, maximum_retry_attempts=_TRIES
                ),
            )
        ],
    )
