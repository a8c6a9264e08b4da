"""Makes the functions of the service's stack, all with the same layer, build and values of settings."""

from pathlib import Path

from aws_cdk import ArnFormat, Stack

from infra.constructs.function import Function
from infra.constructs.layer import Layer
from infra.environment import Environment, Size
from infra.rights import READ_PARAMETERS
from infra.state import State


class Factory:
    def __init__(
        self, scope: Stack, *, environment: Environment, state: State, build: Path, require_layer: bool
    ) -> None:
        self.scope = scope
        self.environment = environment
        self.state = state
        self._build = build
        # The functions that assume the role are told its name before the role is made.
        self.reader_name = environment.named("payload-reader")
        self.reader_arn = scope.format_arn(
            service="iam", region="", resource="role", resource_name=self.reader_name
        )
        self._values = (
            environment.settings.variables()
            | state.variables()
            | {
                "PAYLOADS_ROLE_ARN": self.reader_arn,
                "OPERATION_MACHINE_ARN": self.machine_arn("operation"),
                "ERASE_MACHINE_ARN": self.machine_arn("erase"),
                "ERASE_FUNCTION": environment.named("erase"),
                "ALARM_PREFIX": environment.named(""),
            }
        )
        self._layer = Layer(
            scope, "dependencies", environment=environment, build=build, required=require_layer
        )

    def function(self, name: str, *, recurs: bool = False) -> Function:
        made = Function(
            self.scope,
            name,
            environment=self.environment,
            values=self._values,
            layer=self._layer,
            build=self._build,
            recurs=recurs,
        )
        if "PARAMETERS" in made.settings:
            made.allow(self.state.parameters.arn, *READ_PARAMETERS)
        return made

    def size(self, name: str) -> Size:
        return self.environment.functions[name]

    def machine_arn(self, name: str) -> str:
        return self.scope.format_arn(
            service="states",
            resource="stateMachine",
            resource_name=self.environment.named(name),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

    def executions_arn(self, name: str) -> str:
        """All executions of a state machine."""
        return self.scope.format_arn(
            service="states",
            resource="execution",
            resource_name=f"{self.environment.named(name)}:*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

    def function_arn(self, name: str) -> str:
        return self.scope.format_arn(
            service="lambda",
            resource="function",
            resource_name=self.environment.named(name),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
