"""The rule that calls the address of an environment's pulse, apart from the alarm: the local engine has no CDK."""

from typing import Final

from aws_cdk import SecretValue, Stack, aws_events, aws_iam

from infra.environment import Environment
from infra.watch.pulse import NAME

# A signal that comes late is no sign of life.
_OLDEST_SECONDS: Final = 300
_TRIES: Final = 3


def add_signal(stack: Stack, *, environment: Environment) -> None:
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
        # The alarm of the pulse fires again and again while all is well: each time is a sign of life.
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
