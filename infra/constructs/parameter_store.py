"""The document of parameters in AppConfig: its place, its schema, its strategies, and the alarms that take it back."""

import json
from pathlib import Path
from typing import Final

from aws_cdk import ArnFormat, Stack, aws_appconfig, aws_iam
from constructs import Construct

from infra.environment import Environment, Rollout

# Written by `GOLDEN=write pytest tests/unit/cli/test_parameters.py` from the description of the parameters.
SCHEMA: Final = Path(__file__).parents[1] / "parameters.schema.json"
PROFILE: Final = "parameters"
# The strategies of `postdate config set`, and of `postdate config set --at-once`.
STAGED: Final = "staged"
AT_ONCE: Final = "at-once"
# Alarms on metrics that a wrong value would raise soon. An environment of AppConfig takes five at most.
TAKES_BACK: Final = (
    *(
        "api_unavailable_fast_short",
        "payments_late_fast_short",
        "payment_p95_over_1s",
        "tasks_die",
        "overdue",
    ),
)


class ParameterStore(Construct):
    """The parameters in AppConfig, with the check of each document and the alarms that roll one back. Functions are
    told `place`. `watched` is false where there are no alarms (yet)."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, watched: bool) -> None:
        super().__init__(scope, name)
        monitors = self._monitors(environment)
        application = aws_appconfig.CfnApplication(
            self,
            "application",
            name=environment.named("parameters"),
            description="Values that operators change without a deployment",
        )
        stage = aws_appconfig.CfnEnvironment(
            self,
            "environment",
            application_id=application.ref,
            name=environment.name,
            # A monitor names alarms that exist, and the first deployment makes the alarms after this stack.
            monitors=monitors if watched else [],
        )
        profile = aws_appconfig.CfnConfigurationProfile(
            self,
            "profile",
            application_id=application.ref,
            name=PROFILE,
            location_uri="hosted",
            type="AWS.Freeform",
            validators=[
                aws_appconfig.CfnConfigurationProfile.ValidatorsProperty(
                    type="JSON_SCHEMA", content=json.dumps(json.loads(SCHEMA.read_text()))
                )
            ],
        )
        for strategy, rollout in ((STAGED, environment.rollout), (AT_ONCE, environment.rollout.at_once())):
            self._strategy(environment.named(strategy), rollout)
        self.place = f"{application.ref}/{stage.ref}/{profile.ref}"
        self.arn = Stack.of(self).format_arn(
            service="appconfig",
            resource="application",
            resource_name=f"{application.ref}/environment/{stage.ref}/configuration/{profile.ref}",
        )

    def _strategy(self, name: str, rollout: Rollout) -> None:
        aws_appconfig.CfnDeploymentStrategy(
            self,
            name,
            name=name,
            deployment_duration_in_minutes=rollout.minutes,
            growth_type="LINEAR",
            growth_factor=rollout.step_percent,
            final_bake_time_in_minutes=rollout.watched_minutes,
            replicate_to="NONE",
        )

    def _monitors(self, environment: Environment) -> list[aws_appconfig.CfnEnvironment.MonitorsProperty]:
        alarms = [
            Stack.of(self).format_arn(
                service="cloudwatch",
                resource="alarm",
                resource_name=environment.named(alarm),
                arn_format=ArnFormat.COLON_RESOURCE_NAME,
            )
            for alarm in TAKES_BACK
        ]
        role = aws_iam.Role(self, "role", assumed_by=aws_iam.ServicePrincipal("appconfig.amazonaws.com"))
        role.add_to_policy(aws_iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=alarms))
        return [
            aws_appconfig.CfnEnvironment.MonitorsProperty(alarm_arn=alarm, alarm_role_arn=role.role_arn)
            for alarm in alarms
        ]
