"""The loads have the packets that the sweep sends."""

from collections import Counter

import pytest

from functions.run_tasks import batch
from functions.sweep import sweep_group
from infra.capacity import limits, load
from infra.capacity.load import minute, placed, steady
from infra.capacity.setting import setting
from infra.environments import PROD

ONE = placed(4, 1)


def test_a_tenants_packets_beyond_the_first_250_tasks_of_a_group_arrive_at_the_instant():
    messages = minute(1_000, tenants=1, over=0, partitions=ONE, group=4)
    ahead = [items for visible_at, items in messages if visible_at < 0]
    assert (sum(map(len, ahead)), len(messages)) == (250, 40)


def test_a_packet_has_tasks_of_one_tenant_one_second_and_one_group():
    assert len(minute(1_000, tenants=1_000, over=0, partitions=ONE, group=4)) == 1_000
    assert 40 < len(minute(1_000, tenants=1, over=0, partitions=ONE, group=1)) < 45
    over = minute(1_000, tenants=1, over=10, partitions=ONE, group=4)
    assert 40 <= len(over) < 50
    assert all(int(items[0][0]) == int(items[-1][0]) for _, items in over)


def test_the_largest_tenant_has_its_share_in_full_packets():
    messages = minute(1_000, tenants=1_000, over=0, partitions=ONE, group=4, largest=0.5)
    sizes = Counter(len(items) for _, items in messages)
    assert sizes == {25: 20, 1: 500}


def test_all_tasks_are_due_within_the_minute_and_their_calls_come_before():
    messages = minute(6_000, tenants=6_000, over=60, partitions=ONE, group=4)
    instants = sorted(due_at for _, items in messages for due_at, _ in items)
    assert (len(instants), instants[0], instants[-1] < 60) == (6_000, 0.0, True)
    assert all(1 <= items[0][0] - visible_at <= 2 for visible_at, items in messages)


def test_a_steady_stream_has_its_rate():
    messages = steady(50, 20, partitions=4)
    assert len(messages) == 1_000
    assert all(1 <= due_at - visible_at <= 2 for visible_at, ((due_at, _),) in messages)


@pytest.mark.parametrize(("shards", "partitions", "fullest"), [(128, 40, 10), (128, 100, 5), (512, 40, 24)])
def test_shards_share_partitions_unevenly(shards, partitions, fullest):
    drawn = placed(shards, partitions)
    assert (len(drawn), max(map(drawn.count, set(drawn)))) == (shards, fullest)


def test_the_model_uses_the_numbers_of_the_functions():
    assert load.AHEAD_MAX == sweep_group._TASKS_AHEAD_MAX
    assert setting(PROD, "run_tasks", limits.stated()).work.put_off is batch.put_off_seconds
