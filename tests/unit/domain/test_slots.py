from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants
from postdate.domain.errors import NotFound
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, Slot, home, is_id, item_id, unique_part
from tests.unit.doubles import PLAN, START, a_task

MINUTES = st.integers(0, 2**30 - 1)
SHARDS = st.integers(0, 1023)
SLOTS = st.builds(Slot, minute=MINUTES, shard=SHARDS)
UNIQUES = st.binary(min_size=UNIQUE_BYTES, max_size=UNIQUE_BYTES)
CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz"
BODY = "0w8qk4r03m9c0000000000zz"


@given(slot=SLOTS, unique=UNIQUES)
def test_an_id_gives_back_the_slot_and_the_part_it_was_made_of(slot, unique):
    id = item_id("task", slot, unique)
    assert (is_id(id), home(id), unique_part(id)) == (True, slot, unique)


@given(first=SLOTS, second=SLOTS, unique=UNIQUES, other=UNIQUES)
def test_ids_sort_by_minute_then_by_shard(first, second, unique, other):
    if first != second:
        assert (item_id("task", first, unique) < item_id("task", second, other)) == (first < second)


@given(slot=SLOTS, unique=UNIQUES, other=UNIQUES)
def test_two_ids_are_equal_only_when_all_they_are_made_of_is(slot, unique, other):
    assert (item_id("task", slot, unique) == item_id("task", slot, other)) == (unique == other)


@pytest.mark.parametrize(
    "id",
    [
        "",
        "_",
        "task_",
        "task",
        f"task_{BODY[:-1]}",
        f"task_{BODY}0",
        f"task_{BODY[:-1]}i",
        f"task_{BODY[:-1]}U",
        f"task_{BODY[:-1]}-",
        f"task_{BODY[:-1]} ",
        f"task_{BODY[:-1]}٣",
        f"task_{BODY}~2",
        f"task_{BODY}_",
        "x" * 10_000,
    ],
)
def test_a_text_that_is_no_id_of_ours_is_not_found(id):
    assert not is_id(id)
    with pytest.raises(NotFound):
        home(id)
    with pytest.raises(NotFound):
        unique_part(id)


@pytest.mark.parametrize("item", [None, 5, b"task_", ["task"]])
def test_a_value_that_is_no_text_is_no_id(item):
    assert not is_id(item)


@given(
    st.text(alphabet="_~#0zaAiulo \x00\u0663\ud800", max_size=40)
    | st.text(alphabet=CHARACTERS, min_size=24, max_size=24)
)
def test_no_text_breaks_the_reading_of_ids(text):
    try:
        slot = home(text)
    except NotFound:
        return
    assert item_id("task", slot, unique_part(text)).endswith(text.rpartition("_")[2])


def test_a_refusal_does_not_repeat_a_text_of_any_length():
    with pytest.raises(NotFound) as refused:
        home("x" * 10_000)
    assert len(str(refused.value)) < 100


@given(minutes=st.lists(st.integers(0, 40_000_000), min_size=2, max_size=6, unique=True), shard=SHARDS)
def test_the_keys_of_a_shards_slots_sort_as_their_minutes_do(minutes, shard):
    keys = [Slot(minute=minute, shard=shard).key for minute in minutes]
    assert len(set(keys)) == len(minutes)
    assert sorted(keys) == [Slot(minute=minute, shard=shard).key for minute in sorted(minutes)]


def test_a_slots_key_reads_as_minute_and_shard():
    assert Slot(minute=instants.minute_of(START), shard=7).key == "2026-11-18T10:05#07"


def test_a_slot_holds_its_own_minute_and_nothing_else():
    slot = a_task().home
    last = timedelta(seconds=59, milliseconds=999)
    assert slot.holds(START)
    assert slot.holds(START + last)
    assert not slot.holds(START - timedelta(milliseconds=1))
    assert not slot.holds(START + timedelta(minutes=1))


@given(unique=UNIQUES, offset=st.integers(0, 59_999))
def test_the_slot_for_an_instant_depends_on_its_minute_and_the_unique_part_alone(unique, offset):
    slot = PLAN.slot(START + timedelta(milliseconds=offset), unique)
    assert slot == PLAN.slot(START, unique)
    assert 0 <= slot.shard < 4


def test_the_shards_of_a_minute_share_the_load():
    shards = [PLAN.slot(START, number.to_bytes(UNIQUE_BYTES)).shard for number in range(400)]
    assert all(70 <= shards.count(shard) <= 130 for shard in range(4))


def test_a_shard_plan_steps_at_its_minutes_and_nowhere_else():
    plan = ShardPlan.parse("200=16,0=4,100=8")
    steps = {minute: plan.count(minute) for minute in (0, 99, 100, 199, 200, 10**8)}
    assert steps == {0: 4, 99: 4, 100: 8, 199: 8, 200: 16, 10**8: 16}


@pytest.mark.parametrize("text", ["", "0", "0=", "1=4", "0=0", "0=1025", "0=4,100=0", "0=-1", "a=4", "0=4,"])
def test_a_plan_that_leaves_a_minute_without_shards_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        ShardPlan.parse(text)
