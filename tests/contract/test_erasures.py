"""Erasures are begun once, moved while they last, and finished once."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from postdate.domain.erasing import Erasure
from postdate.stores.erasures import DynamoErasures, Erasures, MemoryErasures
from postdate.stores.tenants_dynamo import DynamoTenants
from tests.contract.conftest import OnAws

NAME = "erased-aaaaaaaaaaaaaaaaaaaa"


@pytest.fixture(params=["memory", "aws"])
def erasures(request: pytest.FixtureRequest) -> Iterator[Erasures]:
    if request.param == "memory":
        yield MemoryErasures()
        return
    found: OnAws = request.getfixturevalue("on_aws")
    yield DynamoErasures(table=found.names["tenants"], client=found.dynamodb)
    found.dynamodb.delete_item(TableName=found.names["tenants"], Key={"tenant": {"S": NAME}})


@pytest.fixture
def begun(erasures: Erasures, now: datetime) -> Erasure:
    erasure = Erasure(tenant=NAME, of="acme", salt="s", by="key:1", began_at=now)
    erasures.begin(erasure)
    return erasure


def test_an_erasure_is_read_as_it_was_begun_and_begins_once(erasures: Erasures, begun: Erasure) -> None:
    erasures.begin(Erasure(tenant=NAME, of="another", salt="t", by="key:2", began_at=begun.began_at))
    assert erasures.get(NAME) == begun
    assert erasures.get("acme") is None
    assert erasures.under_way() >= {NAME, "acme"}


def test_the_place_is_read_as_it_was_noted(erasures: Erasures, begun: Erasure, now: datetime) -> None:
    there = Erasure(
        tenant=NAME,
        of="acme",
        salt="s",
        by="key:1",
        began_at=now,
        step=3,
        after="x",
        until=now + timedelta(hours=1),
        rows=7,
    )
    erasures.note_progress(there)
    assert erasures.get(NAME) == there
    erasures.note_progress(there.next())
    assert erasures.get(NAME) == there.next()


def test_after_its_end_an_erasure_neither_moves_nor_begins(
    erasures: Erasures, begun: Erasure, now: datetime
) -> None:
    for _ in range(2):
        erasures.finish(begun, now=now)
    erasures.note_progress(begun.next())
    erasures.begin(begun)
    assert erasures.get(NAME) is None
    assert not {NAME, "acme"} & erasures.under_way()


def test_an_erased_tenant_is_suspended_for_code_that_knows_no_erasure(on_aws: OnAws, now: datetime) -> None:
    erasures = DynamoErasures(table=on_aws.names["tenants"], client=on_aws.dynamodb)
    erasure = Erasure(tenant=NAME, of="acme", salt="s", by="key:1", began_at=now)
    tenants = DynamoTenants(table=on_aws.names["tenants"], client=on_aws.dynamodb)
    for step in (lambda: erasures.begin(erasure), lambda: erasures.finish(erasure, now=now)):
        step()
        found = tenants.get(NAME)
        assert found is not None
        assert (found.tenancy.suspended_because, found.tenancy.erased_as) == ("erased", NAME)
        assert NAME not in tenants.ids()
    on_aws.dynamodb.delete_item(TableName=on_aws.names["tenants"], Key={"tenant": {"S": NAME}})
