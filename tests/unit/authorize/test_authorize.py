"""A bearer's text -> a key or nobody. How the function is wired to its table is a matter of the integration tests."""

from types import SimpleNamespace

import pytest

from functions.api.caller import Caller
from functions.authorize.handler import context_of, handler
from postdate.domain.errors import Forbidden
from postdate.stores.keys import ApiKey, hash_of

NOBODY = {"tenant": "", "key_id": "", "scopes": "", "accounts": ""}
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
def test_whoever_shows_no_key_of_ours_is_nobody_and_no_table_is_asked(headers):
    assert handler({"headers": headers}, CONTEXT) == {"isAuthorized": True, "context": NOBODY}


def key(**fields):
    return ApiKey(id="k1", secret_sha256=hash_of("secret"), tenant="demo", **fields)


@pytest.mark.parametrize(
    "accounts",
    [None, frozenset(), frozenset({"a"}), frozenset({"a", "b:1", "c-2"})],
    ids=["any", "no", "one", "three"],
)
def test_what_a_key_may_reaches_the_api_as_it_is(accounts):
    scopes = frozenset({"payments:write", "ops"})
    found = context_of(key(scopes=scopes, accounts=accounts))
    assert all(isinstance(value, str) for value in found.values())
    caller = Caller.of({"authorizer": {"lambda": found}})
    assert (caller.tenant, caller.key_id, caller.scopes) == ("demo", "k1", scopes)
    for account in ("a", "b:1", "c-2", "d"):
        if accounts is None or account in accounts:
            caller.pays_from(account)
        else:
            with pytest.raises(Forbidden):
                caller.pays_from(account)


def test_a_key_for_internal_calls_is_good_for_nothing_as_a_bearer():
    assert context_of(key(scopes=frozenset({"internal", "admin", "ops"})))["scopes"] == "internal"
