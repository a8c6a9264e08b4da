from aws_cdk import RemovalPolicy

from infra.environment import Environment


def removal_policy(environment: Environment) -> RemovalPolicy:
    """Data that is kept outlives an update and its stack. A resource whose own creation is rolled back holds no data
    and goes, else the next deployment would find its name taken."""
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if environment.keeps_data else RemovalPolicy.DESTROY
