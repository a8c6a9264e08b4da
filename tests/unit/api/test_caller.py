import pytest

from functions.api.caller import ANY, Caller
from postdate.domain.errors import Forbidden
from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import plain_hash_of


def caller(*scopes, **fields):
    key = ApiKey(
        id="k1", secret_sha256=plain_hash_of("secret"), tenant="demo", scopes=frozenset(scopes), **fields
    )
    return Caller.of(key, "demo")


def test_a_caller_is_what_its_key_says():
    assert caller("tasks:read", accounts=frozenset({"a"})) == Caller(
        tenant="demo", key_id="k1", scopes=frozenset({"tasks:read"}), accounts=frozenset({"a"})
    )


def test_a_key_that_names_no_accounts_pays_from_any():
    assert caller().pays_from("anything")


@pytest.mark.parametrize("accounts", [frozenset(), frozenset({"a", "b:1"})], ids=["none", "two"])
def test_a_key_that_is_bound_to_accounts_pays_from_those_alone(accounts):
    bound = caller(accounts=accounts)
    for account in ("a", "b:1", "b", "A", "a b:1", "-", ""):
        if account in accounts:
            assert bound.pays_from(account) is bound
        else:
            with pytest.raises(Forbidden, match="this key may not pay from"):
                bound.pays_from(account)


@pytest.mark.parametrize("accounts", [frozenset(), frozenset({"a"}), None], ids=["none", "one", "any"])
def test_a_key_administers_the_accounts_that_it_pays_from_and_no_other(accounts):
    bound = caller("admin", accounts=accounts)
    for account in ("a", "b", "A", ""):
        if accounts is None or account in accounts:
            assert bound.administers(account) is bound
        else:
            with pytest.raises(Forbidden, match="this key may not administer"):
                bound.administers(account)


def test_a_tenants_key_is_no_operator_whatever_its_row_says():
    assert not caller("ops", "payments:write").operates
    assert caller("ops", "payments:write").scopes == {"payments:write"}


def test_an_operators_key_acts_for_the_tenant_that_is_named_and_keeps_its_scopes():
    key = ApiKey(
        id="o1",
        secret_sha256=plain_hash_of("secret"),
        tenant=None,
        scopes=frozenset({"ops", "payments:write"}),
    )
    acting = Caller.of(key, "acme")
    assert (acting.tenant, acting.scopes, acting.operates) == ("acme", key.scopes, True)


def test_a_key_for_internal_calls_is_good_for_nothing_as_a_bearer():
    assert caller("internal", "admin", "ops").scopes == {"internal"}


def test_a_caller_with_the_scope_may_go_on():
    reader = caller("tasks:read")
    assert reader.needs("tasks:read") is reader


@pytest.mark.parametrize("scope", ["tasks:write", "tasks", "tasks:rea", ""])
def test_a_caller_without_the_very_scope_is_refused(scope):
    with pytest.raises(Forbidden):
        caller("tasks:read", "ops").needs(scope)


def test_every_caller_may_ask_for_what_needs_no_certain_scope():
    asking = caller("tasks:read")
    assert asking.needs(ANY) is asking


def test_a_caller_without_scopes_may_do_nothing():
    with pytest.raises(Forbidden):
        caller().needs("tasks:read")
