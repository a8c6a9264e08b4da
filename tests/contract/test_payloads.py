"""Payloads in rows of their own."""

from datetime import datetime, timedelta

import pytest

from postdate.stores.payloads import Payloads
from tests.contract.conftest import OnAws


@pytest.fixture
def until(now: datetime) -> datetime:
    return now + timedelta(days=65)


def test_a_payload_is_read_back_as_it_was_written(payloads: Payloads, until: datetime) -> None:
    text = '{"name":"Žofie 🐈 \\u0000  \u2028","n":1e400}'
    payloads.put("task_1#1", text, keep_until=until)
    assert payloads.get("task_1#1") == text
    assert payloads.get_many(["task_1#1"]) == {"task_1#1": text}


def test_the_largest_payload_allowed_can_be_kept(payloads: Payloads, until: datetime) -> None:
    text = f'"{"🐈" * (64 * 1024)}"'
    payloads.put("large", text, keep_until=until)
    assert payloads.get("large") == text


def test_a_payload_that_was_never_written_is_not_found(payloads: Payloads) -> None:
    assert payloads.get("nothing") is None
    assert payloads.get_many(["nothing"]) == {}
    assert payloads.get_many([]) == {}


def test_writing_twice_is_writing_once(payloads: Payloads, until: datetime) -> None:
    payloads.put("twice", '"old"', keep_until=until)
    payloads.put("twice", '"new"', keep_until=until)
    assert payloads.get("twice") == '"new"'


def test_many_are_read_at_once_however_many_and_however_often_named(
    payloads: Payloads, until: datetime
) -> None:
    texts = {f"many-{number}": f"{number}" for number in range(105)}
    for key, text in texts.items():
        payloads.put(key, text, keep_until=until)
    assert payloads.get_many(iter(["many-3", *texts, "many-3", "missing"])) == texts


def test_a_payloads_row_expires_when_it_is_kept_no_longer(on_aws: OnAws, until: datetime) -> None:
    on_aws.payloads.put("expires", "1", keep_until=until)
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["payloads"], Key={"id": {"S": "expires"}})["Item"]
    assert row["expires_at"] == {"N": str(int(until.timestamp()))}
