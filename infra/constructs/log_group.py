from aws_cdk import RemovalPolicy, aws_logs
from constructs import Construct

from infra.environments import Environment


class LogGroup(aws_logs.LogGroup):
    """Goes with its stack, so that the stack can be made again: what must survive is in the tables."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, log_group_name: str) -> None:
        super().__init__(
            scope,
            name,
            log_group_name=log_group_name,
            retention=environment.log_retention,
            removal_policy=RemovalPolicy.DESTROY,
        )
