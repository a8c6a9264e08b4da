from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants
from postdate.domain.due import DELAY_MAX, PACKET_ITEMS_MAX, WAIT_MAX, Due, Packet, Via, pack
from tests.unit.doubles import SECOND, START, a_task

MILLISECOND = timedelta(milliseconds=1)
OFFSETS = st.integers(-3_600_000, 7_200_000).map(lambda count: count * MILLISECOND)
CALLS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 3_000)),
    max_size=60,
).map(
    lambda rows: [
        (tenant, Due(id=f"task_{number}", version=1, due_at=START + ms * MILLISECOND))
        for number, (tenant, ms) in enumerate(rows)
    ]
)


def packet(*due_at, **fields):
    dues = tuple(Due(id=f"t{place}", version=1, due_at=at) for place, at in enumerate(due_at))
    return Packet(tenant="demo", via=Via.SWEEP, dues=dues, **fields)


def second_of(due):
    return instants.milliseconds(due.due_at) // 1000


@given(CALLS)
def test_every_call_is_in_one_packet_of_its_tenant_and_second_with_at_most_25(calls):
    packets = list(pack(calls, Via.SWEEP))
    for each in packets:
        assert 1 <= len(each.dues) <= PACKET_ITEMS_MAX
        assert len({second_of(due) for due in each.dues}) == 1
        assert (each.via, each.not_before) == (Via.SWEEP, None)
    sent = Counter((each.tenant, due) for each in packets for due in each.dues)
    assert sent == Counter(calls)


@given(CALLS)
def test_there_are_no_more_packets_than_needed(calls):
    sizes = Counter((tenant, second_of(due)) for tenant, due in calls)
    assert len(list(pack(calls, Via.SWEEP))) == sum(-(-size // PACKET_ITEMS_MAX) for size in sizes.values())


@given(CALLS)
def test_the_soonest_calls_are_packed_first(calls):
    seconds = [second_of(each.dues[0]) for each in pack(calls, Via.SWEEP)]
    assert seconds == sorted(seconds)


def test_a_packet_holds_twenty_five_calls_and_not_one_more():
    calls = [("demo", Due(id=f"task_{number}", version=1, due_at=START)) for number in range(26)]
    assert [len(each.dues) for each in pack(calls, Via.SWEEP)] == [25, 1]


def test_the_flood_of_one_tenant_in_one_second_arrives_at_its_instant():
    """The flood is of one tenant and of one second; what is not too much arrives ahead as ever."""
    flood = [("demo", Due.of(a_task(number, due_at=START + 60 * SECOND))) for number in range(130)]
    others = [("acme", Due.of(a_task(number, due_at=START + 60 * SECOND))) for number in range(130, 150)]
    later = [("demo", Due.of(a_task(number, due_at=START + 61 * SECOND))) for number in range(150, 160)]
    found = list(pack([*flood, *others, *later], Via.SWEEP, ahead_max=75))
    late = [packet for packet in found if packet.not_before]
    assert sum(len(packet.dues) for packet in late) == 55
    assert {(packet.tenant, packet.delay(START)) for packet in late} == {("demo", 60 * SECOND)}
    assert {packet.delay(START) // SECOND for packet in found if not packet.not_before} == {59, 60}
    assert found[-len(late) :] == late
    assert not [packet for packet in pack(flood, Via.SWEEP) if packet.not_before]


@given(offset=OFFSETS)
def test_a_delay_is_whole_seconds_within_what_the_queue_takes(offset):
    delay = packet(START).delay(START - offset)
    assert timedelta(0) <= delay <= DELAY_MAX
    assert delay % SECOND == timedelta(0)


@given(offset=OFFSETS, others=st.lists(st.integers(0, 999), max_size=5))
def test_a_delay_never_makes_a_call_late(offset, others):
    now = START - offset
    delay = packet(START, *(START + ms * MILLISECOND for ms in others)).delay(now)
    assert delay == timedelta(0) or now + delay <= START - SECOND


@given(offset=st.integers(2_000, 900_000).map(lambda count: count * MILLISECOND))
def test_a_call_arrives_one_to_two_seconds_early_and_is_never_early_beyond_the_wait(offset):
    now = START - offset
    arrival = now + packet(START, START + 999 * MILLISECOND).delay(now)
    assert SECOND <= START - arrival < 2 * SECOND
    assert START + 999 * MILLISECOND - arrival < WAIT_MAX


def test_a_call_far_ahead_is_held_for_fifteen_minutes_and_no_longer():
    assert packet(START).delay(START - timedelta(days=1)) == timedelta(minutes=15)
    assert packet(START).delay(START - timedelta(minutes=15)) == timedelta(minutes=14, seconds=59)


@pytest.mark.parametrize("ago", [timedelta(0), SECOND, timedelta(days=400)])
def test_an_overdue_packet_is_sent_at_once(ago):
    assert packet(START).delay(START + ago) == timedelta(0)


@given(left=st.integers(-5_000, 900_000).map(lambda count: count * MILLISECOND))
def test_a_call_that_waits_for_a_lease_arrives_within_a_second_after_its_end(left):
    delay = packet(START, not_before=START + left).delay(START)
    assert delay % SECOND == timedelta(0)
    assert delay == timedelta(0) if left < timedelta(0) else timedelta(0) <= delay - left < SECOND


def test_a_call_carries_the_version_and_instant_of_its_task_and_nothing_else():
    task = a_task(version=4)
    assert Due.of(task) == Due(id=task.id, version=4, due_at=task.due_at)
    assert Due.__slots__ == ("id", "version", "due_at")
