from aws_cdk import aws_kms
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.environment import Environment


class SecretsKey(aws_kms.Key):
    """The key that wraps the data keys. AWS rotates it once a year. The command line finds it by its alias."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        super().__init__(
            scope,
            name,
            alias=environment.named(name),
            description=environment.named(name),
            enable_key_rotation=True,
            removal_policy=removal_policy(environment),
        )
