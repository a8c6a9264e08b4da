"""The examples are those of DynamoDB's documentation, worked out by hand."""

import pytest

from bench.capacity import Index, Row, read_units, write_units
from postdate.stores.row_size import size

LISTING = Index.of(
    {
        "KeySchema": [{"AttributeName": "listing"}, {"AttributeName": "id"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    },
    ("slot", "id"),
)


def row(bytes_: int = 0, **texts: str) -> Row:
    """A row with these attributes and, under `p`, as many bytes as make it so long."""
    attributes: Row = {name: {"S": text} for name, text in texts.items()}
    return attributes | {"p": {"S": "x" * (bytes_ - 1 - size(attributes))}} if bytes_ else attributes


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        ({"S": "äb"}, 3),
        ({"N": "0"}, 1),
        ({"N": "1790000000000"}, 3),
        ({"N": "-12345"}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"S": "c"}]}, 8),
    ],
)
def test_an_attribute_is_its_name_and_its_value(value: dict[str, object], bytes_: int) -> None:
    assert size({"né": value}) == 3 + bytes_


@pytest.mark.parametrize(("bytes_", "units"), [(200, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_a_write_is_a_unit_for_each_started_kilobyte(bytes_: int, units: int) -> None:
    assert write_units(None, row(bytes_), ()) == units


def test_a_change_is_rated_by_the_larger_of_both_rows() -> None:
    assert write_units(row(1500), row(300), ()) == 2
    assert write_units(row(300), row(1500), ()) == 2


def test_a_new_row_costs_one_more_in_an_index_that_has_its_keys() -> None:
    assert write_units(None, row(slot="s", id="i", listing="l"), [LISTING]) == 2
    assert write_units(None, row(slot="s", id="i"), [LISTING]) == 1


def test_a_change_of_what_an_index_does_not_hold_costs_nothing_there() -> None:
    before = row(slot="s", id="i", listing="l", status="PENDING")
    after = row(slot="s", id="i", listing="l", status="RUNNING")
    assert write_units(before, after, [LISTING]) == 1


def test_a_change_of_an_index_key_takes_the_entry_out_and_puts_it_in() -> None:
    before = row(slot="s", id="i", listing="l")
    after = row(slot="s", id="i", listing="m")
    assert write_units(before, after, [LISTING]) == 3


def test_a_transaction_writes_the_row_twice_and_its_indexes_once() -> None:
    new = row(slot="s", id="i", listing="l")
    assert write_units(None, new, [LISTING], in_transaction=True) == 3
    assert write_units(row(1500), row(300), (), in_transaction=True) == 4


@pytest.mark.parametrize(
    ("sizes", "consistent", "units"),
    [([], True, 1), ([], False, 0.5), ([4096], True, 1), ([4097], True, 2), ([3000, 3000], False, 1)],
)
def test_a_read_is_a_unit_for_each_started_four_kilobytes_and_half_that_when_it_may_be_old(
    sizes: list[int], consistent: bool, units: float
) -> None:
    assert read_units([row(bytes_) for bytes_ in sizes], consistent=consistent) == units
