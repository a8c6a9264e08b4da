from typing import Final

from aws_cdk import RemovalPolicy, aws_logs
from constructs import Construct

from infra.environment import Environment

RETENTION: Final = {
    1: aws_logs.RetentionDays.ONE_DAY,
    7: aws_logs.RetentionDays.ONE_WEEK,
    30: aws_logs.RetentionDays.ONE_MONTH,
    90: aws_logs.RetentionDays.THREE_MONTHS,
}


class LogGroup(aws_logs.LogGroup):
    """Goes with its stack, so that the stack can be made again: what must survive is in the tables."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, log_group_name: str) -> None:
        super().__init__(
            scope,
            name,
            log_group_name=log_group_name,
            retention=RETENTION[environment.log_retention_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
