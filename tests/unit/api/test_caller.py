import pytest

from functions.api.caller import Caller
from postdate.domain.errors import Forbidden, Unauthenticated, Unavailable


def context(**found):
    return {"authorizer": {"lambda": found}}


def test_a_caller_is_whom_the_authorizer_found():
    caller = Caller.of(context(tenant="demo", key_id="k1", scopes="tasks:read tasks:write"))
    assert caller == Caller(tenant="demo", key_id="k1", scopes=frozenset({"tasks:read", "tasks:write"}))


@pytest.mark.parametrize("found", [{}, {"accounts": ""}, {"accounts": None}], ids=str)
def test_a_key_that_names_no_accounts_pays_from_any(found):
    caller = Caller.of(context(tenant="demo", key_id="k1", scopes="", **found))
    assert caller.accounts is None
    assert caller.pays_from("anything") is caller


def test_a_key_that_names_accounts_pays_from_those_alone():
    caller = Caller.of(context(tenant="demo", key_id="k1", scopes="", accounts="a b:1"))
    for account in ("a", "b:1"):
        assert caller.pays_from(account) is caller
    for account in ("b", "A", "a b:1", "-"):
        with pytest.raises(Forbidden, match=account):
            caller.pays_from(account)


@pytest.mark.parametrize(
    "request_context",
    [
        {},
        {"authorizer": None},
        {"authorizer": {}},
        {"authorizer": {"lambda": None}},
        context(tenant="", key_id="", scopes=""),
        context(tenant=None, key_id="k", scopes="tasks:read"),
    ],
    ids=str,
)
def test_nobody_is_not_a_caller(request_context):
    with pytest.raises(Unauthenticated):
        Caller.of(request_context)


def test_a_key_that_could_not_be_read_is_no_wrong_key():
    with pytest.raises(Unavailable):
        Caller.of(context(tenant="", key_id="", scopes="", unavailable="true"))


def test_a_caller_with_the_scope_may_go_on():
    caller = Caller.of(context(tenant="demo", key_id="k", scopes="tasks:read"))
    assert caller.needs("tasks:read") is caller


@pytest.mark.parametrize("scope", ["tasks:write", "tasks", "tasks:rea", ""])
def test_a_caller_without_the_very_scope_is_refused(scope):
    with pytest.raises(Forbidden):
        Caller.of(context(tenant="demo", key_id="k", scopes="tasks:read ops")).needs(scope)


def test_a_caller_without_scopes_may_do_nothing():
    with pytest.raises(Forbidden):
        Caller.of(context(tenant="demo", key_id="k", scopes="")).needs("tasks:read")
