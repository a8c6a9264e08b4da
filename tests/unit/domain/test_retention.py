"""The age from which a payment may be in the archive follows from its id."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants
from postdate.domain.retention import KEPT_MIN, archived_at, may_be_archived
from postdate.domain.slots import Slot, item_id
from tests.unit.doubles import START, unique

SECONDS = timedelta(seconds=1)


@given(minutes=st.integers(-3, 3), seconds=st.integers(0, 60), shard=st.integers(0, 1023))
def test_many_ids_are_judged_as_each_alone(minutes: int, seconds: int, shard: int) -> None:
    now = START + seconds * SECONDS
    minute = instants.minute_of(START - KEPT_MIN) + minutes
    id = item_id("pay", Slot(minute=minute, shard=shard), unique(1))
    assert archived_at(now)(id) is may_be_archived(id, now)


def test_both_answers_occur_and_the_minute_has_to_be_over() -> None:
    minute = instants.minute_of(START - KEPT_MIN)
    ids = [item_id("pay", Slot(minute=minute + each, shard=1023), unique(1)) for each in (-1, 0)]
    assert [archived_at(instants.start_of(minute) + KEPT_MIN)(id) for id in ids] == [True, False]


@given(text=st.text(max_size=30) | st.none())
def test_a_text_that_is_no_id_is_judged_the_same(text: str | None) -> None:
    assert archived_at(START)(text) is may_be_archived(text, START)
