from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cli.local.engine import copied

_ROWS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_ROWS)
def test_a_copy_of_a_row_is_equal_to_it_and_shares_nothing_that_could_change(row: Any) -> None:
    copy = copied(row)

    assert copy == row
    assert not _changeable(copy) & _changeable(row)


def _changeable(value: Any) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(_changeable, value.values()))
    return {id(value)}.union(*map(_changeable, value)) if isinstance(value, list) else set()
