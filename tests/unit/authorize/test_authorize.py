"""A bearer's text -> a key or nobody. How the function is wired to its table is a matter of the integration tests."""

from types import SimpleNamespace

import pytest

from functions.authorize.handler import handler

NOBODY = {"tenant": "", "key_id": ""}
CONTEXT = SimpleNamespace(
    function_name="authorize",
    memory_limit_in_mb=128,
    invoked_function_arn="arn",
    aws_request_id="request-1",
    get_remaining_time_in_millis=lambda: 1000,
)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "pd_k1_secret"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic pd_k1_secret"},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Bearer pd_k1_"},
        {"authorization": "Bearer Bearer pd_k1_secret"},
        {"x-api-key": "pd_k1_secret"},
    ],
    ids=str,
)
def test_a_caller_without_a_key_of_ours_is_unknown_and_no_table_is_asked(headers):
    assert handler({"headers": headers}, CONTEXT) == {"isAuthorized": True, "context": NOBODY}
