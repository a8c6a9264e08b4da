"""The one factory of state machines."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import ArnFormat, Aws, Stack, TimeZone, aws_iam, aws_scheduler, aws_stepfunctions
from constructs import Construct

from infra.constructs.function import Function
from infra.constructs.waiver import waive
from infra.definitions import definition, filled
from infra.environment import Environment

NIGHTLY: Final = "cron(17 2 * * ? *)"
BEFORE_RECONCILIATION: Final = "cron(17 1 * * ? *)"


class StateMachine(aws_stepfunctions.CfnStateMachine):
    """`statemachines/<name>.asl.json`, with a role of its own that calls these functions. `values` stand in the
    definition too. `allow` gives the machine further rights."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        calls: Mapping[str, Function],
        values: Mapping[str, str] | None = None,
    ) -> None:
        role = aws_iam.Role(
            scope, f"{name}-machine-role", assumed_by=aws_iam.ServicePrincipal("states.amazonaws.com")
        )
        arns = {called: function.function_arn for called, function in calls.items()}
        if arns:
            role.add_to_policy(
                aws_iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=list(arns.values()))
            )
        super().__init__(
            scope,
            f"{name}-machine",
            state_machine_name=environment.named(name),
            role_arn=role.role_arn,
            definition_string=filled(definition(name), {**arns, **(values or {})}),
        )
        waive(self, "SF1", "Its functions log each step; the execution's own history is kept for 90 days.")
        waive(self, "SF2", "An operation is followed by its row, and each of its functions by its log.")
        self.node.add_dependency(role)
        self.role = role
        self._own_name = name
        self._environment = environment

    def allow(self, resource: str, *actions: str) -> None:
        self.role.add_to_policy(aws_iam.PolicyStatement(actions=list(actions), resources=[resource]))

    def allow_child_executions(self) -> None:
        """Allows the machine to run the items of its distributed Maps as executions of their own."""
        name, stack = self._environment.named(self._own_name), Stack.of(self)
        machine, executions = (
            stack.format_arn(
                service="states",
                resource=resource,
                resource_name=resource_name,
                arn_format=ArnFormat.COLON_RESOURCE_NAME,
            )
            for resource, resource_name in (("stateMachine", name), ("execution", f"{name}:*"))
        )
        self.allow(machine, "states:StartExecution")
        self.allow(executions, "states:DescribeExecution", "states:StopExecution")
        found = executions.replace(Aws.PARTITION, "<AWS::Partition>")
        found = found.replace(Aws.REGION, "<AWS::Region>").replace(Aws.ACCOUNT_ID, "<AWS::AccountId>")
        waive(self.role, f"IAM5[Resource::{found}]", "Step Functions names the executions.")

    def nightly(self, at: str = NIGHTLY) -> None:
        """Starts an execution each night. One that cannot be started is missed: the next night does the same."""
        role = aws_iam.Role(
            self, "schedule-role", assumed_by=aws_iam.ServicePrincipal("scheduler.amazonaws.com")
        )
        role.add_to_policy(
            aws_iam.PolicyStatement(actions=["states:StartExecution"], resources=[self.attr_arn])
        )
        aws_scheduler.CfnSchedule(
            self,
            "schedule",
            name=self._environment.named(f"{self._own_name}-nightly"),
            schedule_expression=at,
            schedule_expression_timezone=TimeZone.ETC_UTC.timezone_name,
            flexible_time_window=aws_scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=aws_scheduler.CfnSchedule.TargetProperty(
                arn=self.attr_arn, role_arn=role.role_arn, input="{}"
            ),
        )
