"""AWS's errors as ours: what is worth another try becomes `Unavailable`, everything else is a bug and stays itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.exceptions import PynamoDBException

from postdate.domain.errors import Unavailable

REFUSALS = (BotoCoreError, ClientError, PynamoDBException)
_PASSING = frozenset(
    {
        *("500", "502", "503", "504"),  # an answer without a body has its status for a code
        "InternalFailure",
        "InternalServerError",
        "ItemCollectionSizeLimitExceeded",
        "LimitExceeded",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingError",
        "TransactionConflict",
        "TransactionInProgress",
    }
)


def is_refused(error: PynamoDBException) -> bool:
    """A condition did not hold."""
    return _code(error) == "ConditionalCheckFailedException"


def was_repeated(error: PynamoDBException) -> bool:
    """True if botocore had sent the request before: the first try may have been done although its answer was lost.
    pynamodb leaves the number of tries out of its own error, which has botocore's as its context."""
    told = getattr(error.cause, "__context__", None)
    response = getattr(told, "response", None) or {}
    # Without a number nobody knows, and the careful answer is right.
    return bool(response.get("ResponseMetadata", {}).get("RetryAttempts", 1))


def _code(error: PynamoDBException) -> str | None:
    """An error without an answer, such as a time-out, has a response too: None."""
    response = getattr(error.cause, "response", None) or {}
    code: str | None = response.get("Error", {}).get("Code")
    return code


def passes(code: str) -> bool:
    """True for a code of AWS that a later try may not meet again. In the answer to a batch, codes lack the suffix that
    they have as errors."""
    return code.removesuffix("Exception") in _PASSING


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if not passes(code):
            raise
        raise Unavailable(code) from error
    except PynamoDBException as error:
        refusal = _code(error)
        # A cause without a code had no answer, as after a time-out. Another try may have one.
        if error.cause is None or (refusal and not passes(refusal)):
            raise
        raise Unavailable(refusal) from error
    except BotoCoreError as error:
        raise Unavailable(type(error).__name__) from error
