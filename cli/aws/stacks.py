"""The state of an environment's stacks in an account."""

from typing import Final

from botocore.exceptions import ClientError

from cli.aws.account import Account

# The state of a stack whose first deployment failed: CloudFormation can only delete such a stack.
_NEVER_MADE: Final = frozenset(
    {"CREATE_FAILED", "CREATE_IN_PROGRESS", "REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}
)


def state(environment: str) -> str:
    return f"postdate-{environment}-state"


def stands(account: Account, stack: str) -> bool:
    """True once the stack has been made, whatever became of an update of it."""
    try:
        (described,) = account.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return False
        raise
    return described["StackStatus"] not in _NEVER_MADE
