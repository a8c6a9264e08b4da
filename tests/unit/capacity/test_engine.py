"""The simulation agrees with results that can be worked out by hand."""

from dataclasses import replace

import pytest

from infra.capacity.engine import run
from infra.capacity.load import minute, placed, steady
from infra.capacity.parts import Fleet, Store, Work

AT_ONCE = Fleet(first=10, added=1, most=10)
NO_TIME = Work(cold_start=0.0, a_batch=0.0, a_commit=0.0, an_item=0.0, units=2.0)
ROOM = Store(writes=1e9, partition=1e9, partitions=1)


def waiting(count, *, at=0.0, items=1, partition=0):
    return [(at - 1.0, ((at, partition),) * items) for _ in range(count)]


def test_a_table_of_4000_units_does_2000_tasks_a_second():
    found = run(waiting(8_000), fleet=AT_ONCE, work=NO_TIME, store=replace(ROOM, writes=4_000.0))
    assert (found.items, found.throttled) == (8_000, 0)
    assert found.ended_at == pytest.approx(4.0)
    assert found.percentile(0.5) == pytest.approx(2.0, rel=0.01)


def test_a_partition_of_1000_units_does_500_tasks_a_second_and_holds_up_no_other():
    store = Store(writes=1e9, partition=1_000.0, partitions=2)
    fleet, work = replace(AT_ONCE, first=100, most=100), replace(NO_TIME, patience=9.0)
    both = run(waiting(500) + waiting(500, partition=1), fleet=fleet, work=work, store=store)
    one = run(waiting(1_000), fleet=fleet, work=work, store=store)
    assert (both.ended_at, one.ended_at) == (pytest.approx(1.0), pytest.approx(2.0))
    assert list(one.reached) == ["partition writes"]


def test_a_throttled_call_returns_after_it_was_put_off():
    """The partition takes 51 of the 100 tasks of a batch within 0.1 s, the time for tries; the others wait 2 s more."""
    work = replace(NO_TIME, patience=0.101)
    store = Store(writes=1e9, partition=1_000.0, partitions=1)
    fleet = Fleet(first=1, added=1, most=1, batch=100)
    found = run(waiting(100), fleet=fleet, work=work, store=store)
    late = sorted(found.lateness)
    assert (found.items, found.throttled) == (100, 49)
    assert late[50] == pytest.approx(0.102)
    assert late[51] == pytest.approx(2.104)


def test_calls_of_one_commit_return_after_a_whole_number_of_seconds_that_grows_with_their_lateness():
    asked = []
    work = replace(NO_TIME, patience=0.101, put_off=lambda late, draw: asked.append((late, draw)) or 2.5)
    store = Store(writes=1e9, partition=100.0, partitions=1)
    fleet = Fleet(first=1, added=1, most=1, batch=100)
    found = run(waiting(4, items=5), fleet=fleet, work=work, store=store)
    assert [round(late, 1) for late, _ in asked[:3]] == [0.1, 0.1, 0.1]
    assert len({draw for _, draw in asked}) == len(asked)
    assert min(late for late in found.lateness if late > 1) > 3


def test_workers_join_as_the_mapping_adds_them():
    """The sixth worker joins a fifth of a second after the first five."""
    fleet = Fleet(first=5, added=5, most=6, batch=1)
    messages = [(0.0, ((0.0, 0),))] * 6
    found = run(messages, fleet=fleet, work=replace(NO_TIME, a_batch=1.0), store=ROOM)
    assert sorted(found.lateness) == [pytest.approx(1.0)] * 5 + [pytest.approx(1.2)]
    assert (found.at_once, found.invocations, found.busy_seconds) == (6, 6, pytest.approx(6.0))
    assert list(found.reached) == ["start of the mapping"]


def test_a_cold_start_is_paid_once_a_worker():
    messages = [(float(at), ((float(at), 0),)) for at in (0, 5)]
    fleet = Fleet(first=1, added=1, most=1)
    found = run(messages, fleet=fleet, work=replace(NO_TIME, cold_start=2.0), store=ROOM)
    assert found.lateness == [pytest.approx(2.0), pytest.approx(0.0, abs=1e-6)]


def test_new_environments_start_at_the_rate_of_lambda():
    """Two at once, and one more each second: the fourth begins after two seconds."""
    fleet = Fleet(first=4, added=1, most=4, batch=1, starts_at_once=2.0, starts_added=1.0)
    found = run([(0.0, ((0.0, 0),))] * 4, fleet=fleet, work=replace(NO_TIME, cold_start=1.0), store=ROOM)
    assert sorted(found.lateness) == [pytest.approx(late) for late in (1.0, 1.0, 2.0, 3.0)]
    assert list(found.reached) == ["new environments"]


def test_invocations_begin_at_their_rate():
    fleet = Fleet(first=100, added=1, most=100, batch=1, invocations=10.0)
    found = run(waiting(21), fleet=fleet, work=NO_TIME, store=ROOM)
    assert max(found.lateness) == pytest.approx(1.0)


def test_provisioned_pollers_take_ten_messages_a_second_for_each_consumer():
    fleet = Fleet(first=10, added=0, most=10, receives=1.0, warm=10)
    found = run(waiting(1_000), fleet=fleet, work=NO_TIME, store=ROOM)
    assert found.ended_at == pytest.approx(9.0, rel=0.02)


def test_messages_in_flight_stay_below_their_limit():
    fleet = Fleet(first=10, added=1, most=10, batch=1, in_flight=2)
    found = run(waiting(10), fleet=fleet, work=replace(NO_TIME, a_batch=1.0), store=ROOM)
    assert (found.at_once, found.items) == (2, 10)


def test_a_worker_waits_for_each_instant_of_its_batch():
    messages = [(-1.0, ((0.0, 0),)), (-1.0, ((0.5, 0),))]
    fleet = Fleet(first=1, added=1, most=1, warm=1)
    found = run(messages, fleet=fleet, work=replace(NO_TIME, a_commit=0.01), store=ROOM)
    assert found.lateness == [pytest.approx(0.01)] * 2
    assert found.busy_seconds == pytest.approx(1.51)


def test_a_window_gathers_messages_before_the_worker_begins():
    """Sixty messages, one each 0.1 s, make seven batches of up to ten or eleven."""
    messages = [(number / 10, ((number / 10 + 2, 0),)) for number in range(60)]
    fleet = Fleet(first=1, added=1, most=5, batch=50, window=1.0, warm=5)
    found = run(messages, fleet=fleet, work=NO_TIME, store=ROOM)
    alone = run(messages, fleet=replace(fleet, first=60, batch=1, window=0), work=NO_TIME, store=ROOM)
    assert (found.invocations, alone.invocations) == (7, 60)
    assert found.busy_seconds < alone.busy_seconds / 2
    assert max(found.lateness) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "messages",
    [
        minute(3_000, tenants=7, over=0, partitions=placed(8, 4), group=4),
        minute(3_000, tenants=3_000, over=60, partitions=placed(8, 4), group=4, largest=0.5),
        steady(50, 20, partitions=4),
    ],
)
@pytest.mark.parametrize("window", [0.0, 1.0])
def test_each_item_ends_once_and_none_early(messages, window):
    fleet = replace(AT_ONCE, first=3, window=window, batch=20)
    store = Store(writes=4_000.0, partition=300.0, partitions=4)
    found = run(messages, fleet=fleet, work=replace(NO_TIME, a_commit=0.01), store=store)
    assert found.items == sum(len(items) for _, items in messages)
    assert min(found.lateness) >= 0.01


@pytest.mark.parametrize(
    "less",
    [
        {"fleet": replace(AT_ONCE, first=2, added=0.2)},
        {"fleet": replace(AT_ONCE, most=2)},
        {"store": Store(writes=1_000.0, partition=1_000.0, partitions=4)},
        {"store": Store(writes=4_000.0, partition=100.0, partitions=4)},
        {"work": replace(NO_TIME, a_commit=0.5)},
    ],
)
def test_less_of_anything_makes_a_peak_later(less):
    messages = minute(3_000, tenants=3_000, over=0, partitions=placed(8, 4), group=4)
    enough = {
        "fleet": AT_ONCE,
        "store": Store(writes=4_000.0, partition=1_000.0, partitions=4),
        "work": replace(NO_TIME, a_commit=0.05),
    }
    now, then = run(messages, **enough), run(messages, **enough | less)
    assert then.percentile(0.99) > now.percentile(0.99) * 1.1


def test_the_same_load_has_the_same_outcome():
    def once():
        messages = minute(2_000, tenants=50, over=30, partitions=placed(8, 4), group=4)
        return run(
            messages, fleet=AT_ONCE, work=NO_TIME, store=Store(writes=500.0, partition=200.0, partitions=4)
        )

    assert once().lateness == once().lateness
