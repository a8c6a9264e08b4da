"""AWS's errors as ours: what is worth another try becomes `Unavailable`, everything else is a bug and stays itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.exceptions import PynamoDBException

from postdate.domain.errors import Unavailable

PASSING = frozenset(
    {
        "InternalServerError",
        "ItemCollectionSizeLimitExceeded",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code not in PASSING:
            raise
        raise Unavailable(code) from error
    except PynamoDBException as error:
        if error.cause is None or (error.cause_response_code and error.cause_response_code not in PASSING):
            raise
        raise Unavailable(error.cause_response_code) from error
    except BotoCoreError as error:
        raise Unavailable(type(error).__name__) from error
