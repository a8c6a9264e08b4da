"""The caches of the simulation answer the same as the code that they replace."""

import ministack.services.dynamodb as dynamodb
import pytest

from tests.simulation import conditions, quick

_ROWS = (
    {},
    {"id": {"S": "b"}, "number": {"N": "7"}},
    {"id": {"S": "a"}, "number": {"N": "10"}, "lease": {"N": "3"}},
    {"id": {"S": "c"}, "number": {"S": "7"}},
)
_VALUES = {":text": {"S": "b"}, ":low": {"S": "a"}, ":seven": {"N": "7"}, ":nine": {"N": "9.0"}}
_NAMES = {"#id": "id", "#number": "number"}
_READ_ONCE = (
    "id = :text",
    "#id <> :text",
    "#id BETWEEN :low AND :text",
    "#number < :nine",
    "#number >= :seven AND id <= :text",
    "attribute_not_exists(id)",
    "attribute_not_exists (#id) OR #number = :seven",
    "attribute_exists(lease) AND (id = :low OR #number > :nine)",
    "lease = :missing",
    "(#number = :seven) OR (id = :low)",
)
_LEFT_TO_THE_ENGINE = (
    "begins_with(id, :low)",
    "NOT id = :text",
    "id IN (:low, :text)",
    "size(id) = :seven",
    "map.inner = :text",
    "((id = :text))",
    "id = :text AND",
)


@pytest.mark.parametrize("expression", _READ_ONCE)
def test_a_condition_that_is_read_once_holds_where_the_engine_says_so(expression: str) -> None:
    known = conditions.condition(expression)
    assert known is not None
    for row in _ROWS:
        wanted = dynamodb._evaluate_condition(expression, row, _VALUES, _NAMES)
        assert bool(known(row, _VALUES, _NAMES)) == bool(wanted), row


@pytest.mark.parametrize("expression", _LEFT_TO_THE_ENGINE)
def test_any_other_condition_is_left_to_the_engine(expression: str) -> None:
    assert conditions.condition(expression) is None


@pytest.mark.parametrize("text", ["7", "-7", "0", "1.5", "12345678901234567890"])
def test_a_number_is_what_pynamodb_reads(text: str) -> None:
    from pynamodb.attributes import NumberAttribute

    assert quick._number(text) == NumberAttribute().deserialize(text)


def test_a_copy_shares_nothing_with_what_was_copied() -> None:
    inner = {"S": "a"}
    row = {"one": inner, "two": inner, "list": [inner]}
    copy = quick.copied(row)
    copy["one"]["S"] = "b"
    assert copy["two"] == {"S": "a"}
    assert row["one"] == {"S": "a"}


def test_what_is_handed_over_unwritten_is_read_as_a_copy() -> None:
    given = {"Item": {"id": {"S": "a"}}}
    found = quick.read(quick._unwritten(given, ensure_ascii=False).encode("utf-8"))
    assert found == given
    assert found["Item"] is not given["Item"]
    assert quick.read(b'{"Item": 1}') == {"Item": 1}
