import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pynamodb.exceptions import GetError, PutError

from postdate.domain.errors import Unavailable
from postdate.stores.faults import passes, translated


def aws(code):
    return ClientError({"Error": {"Code": code, "Message": "m"}}, "PutItem")


def raised(error):
    with translated():
        raise error


@pytest.mark.parametrize(
    "code",
    [
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    ],
)
def test_errors_that_pass_by_themselves_are_unavailable(code):
    for error in (aws(code), PutError("m", cause=aws(code))):
        with pytest.raises(Unavailable, match=code):
            raised(error)


def test_a_network_that_fails_is_worth_another_try():
    broken = EndpointConnectionError(endpoint_url="e")
    for error in (broken, GetError("m", cause=broken)):
        with pytest.raises(Unavailable):
            raised(error)


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "ValidationException", "ResourceNotFoundException"]
)
def test_errors_that_another_try_will_not_change_stay_as_they_are(code):
    for error in (aws(code), PutError("m", cause=aws(code))):
        with pytest.raises(type(error)):
            raised(error)


@pytest.mark.parametrize("code", ["ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict"])
def test_a_batchs_answer_names_the_same_faults_without_their_suffix(code):
    assert passes(code)
    assert not passes("ConditionalCheckFailed")


def test_errors_that_are_no_fault_of_a_store_stay_as_they_are():
    with pytest.raises(KeyError):
        raised(KeyError("x"))
