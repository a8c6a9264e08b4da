"""Protection against deletion by hand, switched on for what stands and never part of a template.

A protected table or stack cannot be deleted, and so it cannot be rolled back either: a first deployment that failed
would need a person. The stack of a deployment is protected when the deployment is over (docs/decisions).
"""

from collections.abc import Iterator

from cli.aws import stacks
from cli.aws.account import Account
from infra.environment import Environment


def protect(account: Account, environment: Environment) -> list[str]:
    """Protects the stack of what must survive, and each of its tables. Answers what was not protected before."""
    stack = stacks.state(environment.name)
    if not environment.keeps_data or not stacks.stands(account, stack):
        return []
    return [*_protect_stack(account, stack), *_protect_tables(account, stack)]


def _protect_stack(account: Account, stack: str) -> Iterator[str]:
    formation = account.client("cloudformation")
    (described,) = formation.describe_stacks(StackName=stack)["Stacks"]
    if not described.get("EnableTerminationProtection"):
        formation.update_termination_protection(StackName=stack, EnableTerminationProtection=True)
        yield stack


def _protect_tables(account: Account, stack: str) -> Iterator[str]:
    dynamodb = account.client("dynamodb")
    for name in _tables(account, stack):
        if not dynamodb.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
            dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)
            yield name


def _tables(account: Account, stack: str) -> Iterator[str]:
    pages = account.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    for page in pages:
        for resource in page["StackResourceSummaries"]:
            gone = resource["ResourceStatus"].startswith("DELETE")
            if resource["ResourceType"] == "AWS::DynamoDB::Table" and not gone:
                yield resource["PhysicalResourceId"]
