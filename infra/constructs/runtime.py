"""The runtime of the functions. The layer is built for the same runtime."""

from typing import Final

from aws_cdk.aws_lambda import Architecture, Runtime

from infra.environment import Environment

RUNTIME: Final = Runtime.PYTHON_3_14


def architecture(environment: Environment) -> Architecture:
    return {"arm64": Architecture.ARM_64, "x86_64": Architecture.X86_64}[environment.architecture]
