"""Escalation: a ticket that stays open becomes a page.

A rule of EventBridge starts an execution for each alarm of the environment that fires. The execution waits, looks at
the alarm again, and tells the topic of pages if it is a ticket that has fired ever since.
"""

from collections.abc import Iterable
from typing import Any, Final

from aws_cdk import ArnFormat, Aws, Stack, aws_events, aws_iam, aws_sns

from infra.constructs.state_machine import StateMachine
from infra.constructs.waiver import waive
from infra.environment import Environment
from infra.watch.alarm import Alarm
from infra.watch.escalation_values import values
from infra.watch.pulse import pulse_alarms

NAME: Final = "escalate"
OWN_ALARMS: Final = "The names of an environment's alarms begin alike, and are many."


def add_escalation(
    stack: Stack,
    *,
    environment: Environment,
    alarms: Iterable[Alarm],
    page: aws_sns.Topic,
    ticket: aws_sns.Topic,
) -> None:
    """Adds the machine that escalates open tickets, and the rule that starts it for each alarm that fires. Alarms of
    the pulse start nothing: they fire all day."""
    own = stack.format_arn(
        service="cloudwatch",
        resource="alarm",
        resource_name=environment.named("*"),
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    machine = StateMachine(
        stack,
        NAME,
        environment=environment,
        calls={},
        values=values(environment, alarms, page=page.topic_arn, ticket=ticket.topic_arn),
    )
    # The machine is told by name which alarm to look at.
    machine.allow(own, "cloudwatch:DescribeAlarms")
    machine.allow(page.topic_arn, "sns:Publish")
    arn = f"arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:{environment.named('*')}"
    waive(machine.role, f"IAM5[Resource::{arn}]", OWN_ALARMS)
    role = aws_iam.Role(stack, "escalation-role", assumed_by=aws_iam.ServicePrincipal("events.amazonaws.com"))
    role.add_to_policy(
        aws_iam.PolicyStatement(actions=["states:StartExecution"], resources=[machine.attr_arn])
    )
    aws_events.CfnRule(
        stack,
        "escalation",
        name=environment.named(NAME),
        description="Starts the escalation of each alarm that fires.",
        event_pattern=_pattern(stack, environment),
        targets=[
            aws_events.CfnRule.TargetProperty(
                id=NAME,
                arn=machine.attr_arn,
                role_arn=role.role_arn,
                input_transformer=aws_events.CfnRule.InputTransformerProperty(
                    input_paths_map={"alarm": "$.detail.alarmName"}, input_template='{"alarm": <alarm>}'
                ),
            )
        ],
    )


def _pattern(stack: Stack, environment: Environment) -> dict[str, Any]:
    pulses = [
        stack.format_arn(
            service="cloudwatch",
            resource="alarm",
            resource_name=environment.named(each.name),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        for each in pulse_alarms(environment)
    ]
    return {
        "source": ["aws.cloudwatch"],
        "detail-type": ["CloudWatch Alarm State Change"],
        "account": [Aws.ACCOUNT_ID],
        "detail": {"alarmName": [{"prefix": environment.named("")}], "state": {"value": ["ALARM"]}},
        **({"resources": [{"anything-but": pulses}]} if pulses else {}),
    }
