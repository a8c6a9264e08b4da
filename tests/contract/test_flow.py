"""Shared state of runs during their calls, over both stores."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest

from postdate.domain import breaker as rules
from postdate.domain import flow_key as keys
from postdate.domain import transitions
from postdate.domain.breaker import Breaker
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl, Room, enter
from postdate.domain.flow_key import FlowKey
from postdate.stores.flow import Flow, Timeline
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.tasks import Tasks
from tests.boundary import Boundary, lost, refused
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples, claim

SECOND = timedelta(seconds=1)
TENTH = timedelta(milliseconds=100)
_keys = count(1)


@pytest.fixture
def key() -> str:
    return f"key-{next(_keys)}"


@pytest.fixture
def dynamo(on_aws: OnAws) -> DynamoFlow:
    return another(on_aws)


@pytest.fixture(params=["memory", "aws"])
def flow(request: pytest.FixtureRequest) -> Flow:
    return MemoryFlow() if request.param == "memory" else request.getfixturevalue("dynamo")


def another(on_aws: OnAws) -> DynamoFlow:
    """The store as another worker has it, without any memory."""
    return DynamoFlow(table=on_aws.names["flow"], client=on_aws.dynamodb)


def test_stretches_of_a_timeline_lie_one_behind_the_other(flow: Flow, key: str, now: datetime) -> None:
    assert flow.take("acme", key, 25 * TENTH, now=now) == now
    assert flow.take("acme", key, TENTH, now=now) == now + 25 * TENTH
    assert flow.take("acme", key, TENTH, now=now + SECOND) == now + 26 * TENTH


def test_a_timeline_that_lies_behind_begins_anew(flow: Flow, key: str, now: datetime) -> None:
    flow.take("acme", key, SECOND, now=now)
    assert flow.take("acme", key, SECOND, now=now + 5 * SECOND) == now + 5 * SECOND
    assert flow.take("acme", key, SECOND, now=now + 5 * SECOND) == now + 6 * SECOND


def test_a_worker_whose_clock_is_behind_takes_nothing_twice(flow: Flow, key: str, now: datetime) -> None:
    flow.take("acme", key, SECOND, now=now)
    assert flow.take("acme", key, SECOND, now=now - 60 * SECOND) == now + SECOND


def test_a_key_is_its_tenants_own(flow: Flow, key: str, now: datetime) -> None:
    flow.take("acme", key, SECOND, now=now)
    assert flow.take("other", key, SECOND, now=now) == now
    assert flow.take("acme", f"{key}-2", SECOND, now=now) == now


@pytest.mark.parametrize("of", [Timeline.TURNS, Timeline.STARTS])
def test_a_circuits_timelines_are_no_keys_places(flow: Flow, key: str, now: datetime, of: Timeline) -> None:
    flow.take("acme", key, SECOND, now=now)
    assert flow.take("acme", key, TENTH, now=now, of=of) == now
    assert flow.take("acme", key, TENTH, now=now, of=of) == now + TENTH
    assert flow.take("acme", key, SECOND, now=now) == now + SECOND


def test_a_stretch_that_would_begin_too_late_is_not_taken(flow: Flow, key: str, now: datetime) -> None:
    late = now + 5 * SECOND
    assert flow.take_by("acme", key, 5 * SECOND, now=now, latest=now) == now
    assert flow.take_by("acme", key, SECOND, now=now, latest=late - SECOND / 1000) is None
    assert flow.take_by("acme", key, SECOND, now=now, latest=late) == late
    assert flow.take_by("acme", key, SECOND, now=now, latest=now - SECOND) is None
    assert flow.take("acme", key, SECOND, now=now) == late + SECOND


def test_a_worker_new_to_a_timeline_is_told_that_it_reaches_too_far(
    on_aws: OnAws, key: str, now: datetime
) -> None:
    another(on_aws).take("acme", key, 60 * SECOND, now=now)
    assert another(on_aws).take_by("acme", key, SECOND, now=now, latest=now + 59 * SECOND) is None


def test_up_to_when_places_are_taken_is_told_of_many_keys(flow: Flow, key: str, now: datetime) -> None:
    flow.take("acme", key, 5 * SECOND, now=now)
    flow.take("acme", f"{key}-2", 7 * SECOND, now=now)
    flow.take("other", f"{key}-3", SECOND, now=now)
    wanted = [key, f"{key}-2", f"{key}-3", key]
    assert flow.ends("acme", wanted) == {key: now + 5 * SECOND, f"{key}-2": now + 7 * SECOND}
    flow.take("acme", key, 9 * SECOND, now=now, of=Timeline.QUOTA)
    assert flow.ends("acme", wanted[:1], of=Timeline.QUOTA) == {key: now + 9 * SECOND}


def test_workers_that_take_at_once_never_get_the_same_place(on_aws: OnAws, key: str, now: datetime) -> None:
    def take(_: int) -> list[datetime]:
        store = another(on_aws)
        return [store.take("acme", key, 5 * TENTH, now=now) for _ in range(10)]

    with ThreadPoolExecutor(8) as workers:
        begun = sorted(begin for taken in workers.map(take, range(8)) for begin in taken)
    assert begun == [now + place * 5 * TENTH for place in range(80)]


def test_a_worker_that_knows_a_timeline_to_be_ahead_takes_with_one_request(
    dynamo: DynamoFlow, boundary: Boundary, key: str, now: datetime
) -> None:
    dynamo.take("acme", key, SECOND, now=now)
    boundary.calls.clear()
    dynamo.take("acme", key, SECOND, now=now)
    dynamo.take("acme", key, SECOND, now=now + 10 * SECOND)
    assert len(boundary.asked("UpdateItem")) == 2


def test_a_stretch_whose_answer_gets_lost_stays_empty(
    dynamo: DynamoFlow, boundary: Boundary, key: str, now: datetime
) -> None:
    dynamo.take("acme", key, SECOND, now=now)
    boundary.fail("UpdateItem", lost)
    assert dynamo.take("acme", key, SECOND, now=now) == now + 2 * SECOND


def test_a_run_that_cannot_take_a_place_is_told(
    dynamo: DynamoFlow, boundary: Boundary, key: str, now: datetime
) -> None:
    boundary.fail("UpdateItem", *[refused("ThrottlingException")] * 9)
    with pytest.raises(Unavailable):
        dynamo.take("acme", key, SECOND, now=now)


def go_in(flow: Flow, key: str, *runs: str, now: datetime, parallelism: int = 2) -> bool:
    before = flow.room("acme", key)
    after = enter(before, runs, parallelism=parallelism, until=now + 40 * SECOND, now=now).room
    return flow.change_room("acme", key, before, after)


def test_a_room_is_read_as_it_was_written(flow: Flow, key: str, now: datetime) -> None:
    assert flow.room("acme", key) == Room()
    entered = enter(Room(), ["a", "b", "c"], parallelism=2, until=now + 40 * SECOND, now=now).room
    assert flow.change_room("acme", key, Room(), entered)
    assert flow.room("acme", key) == entered
    again = enter(entered, ["d"], parallelism=2, until=now + 90 * SECOND, now=now + 50 * SECOND).room
    assert flow.change_room("acme", key, entered, again)
    assert flow.room("acme", key) == again
    assert flow.room("other", key) == Room()


def test_of_two_who_go_in_at_once_one_looks_again(flow: Flow, key: str, now: datetime) -> None:
    for _ in range(2):
        before = flow.room("acme", key)
        mine, others = (
            enter(before, [name], parallelism=1, until=now + 40 * SECOND, now=now).room for name in "ab"
        )
        assert flow.change_room("acme", key, before, mine)
        assert not flow.change_room("acme", key, before, others)
        assert flow.room("acme", key).runs.keys() == {"a"}


def test_a_run_that_left_while_others_went_in_stays_gone(flow: Flow, key: str, now: datetime) -> None:
    go_in(flow, key, "a", "b", now=now)
    before = flow.room("acme", key)
    flow.leave("acme", key, ["a"], stay=3 * SECOND)
    after = enter(before, ["c"], parallelism=3, until=now + 40 * SECOND, now=now).room
    assert flow.change_room("acme", key, before, after)
    room = flow.room("acme", key)
    assert (room.runs.keys(), room.stay) == ({"b", "c"}, 3 * SECOND)


def test_leaving_twice_or_without_having_been_in_is_harmless(flow: Flow, key: str, now: datetime) -> None:
    flow.leave("acme", key, ["a"], stay=None)
    assert flow.room("acme", key) == Room()
    go_in(flow, key, "a", "b", now=now)
    flow.leave("acme", key, ["a", "z"], stay=None)
    flow.leave("acme", key, ["a"], stay=None)
    assert flow.room("acme", key).runs.keys() == {"b"}


def test_a_run_that_stays_is_not_taken_for_gone(flow: Flow, key: str, now: datetime) -> None:
    go_in(flow, key, "a", now=now)
    before = flow.room("acme", key)
    flow.stay("acme", key, ["a", "z"], now + 80 * SECOND)
    assert flow.room("acme", key).runs == {"a": now + 80 * SECOND}
    without = enter(before, ["b"], parallelism=1, until=now + 90 * SECOND, now=now + 41 * SECOND).room
    assert not flow.change_room("acme", key, before, without)


def test_a_breaker_is_read_as_it_was_written(flow: Flow, key: str, now: datetime) -> None:
    circuit, unknown = ("acme", f"webhook:{key}"), ("other", f"webhook:{key}")
    closed = flow.breakers([circuit, unknown])
    assert closed == {circuit: Breaker(), unknown: Breaker()}
    opened = rules.failed(Breaker(), 10, now=now)
    assert flow.change_breaker(circuit, Breaker(), opened)
    assert flow.breakers([circuit, unknown]) == {circuit: opened, unknown: Breaker()}
    assert opened.open_until is not None
    tried = rules.probe(opened, now=opened.open_until, until=opened.open_until + 35 * SECOND)
    assert tried is not None
    assert flow.change_breaker(circuit, opened, tried)
    assert not flow.change_breaker(circuit, opened, tried)
    assert flow.breakers([circuit])[circuit] == tried
    answered = rules.answered(tried, now=now)
    assert flow.change_breaker(circuit, tried, answered)
    assert flow.breakers([circuit])[circuit] == answered


def test_of_many_who_want_to_try_one_does(on_aws: OnAws, key: str, now: datetime) -> None:
    circuit = ("acme", f"webhook:{key}")
    opened = rules.failed(Breaker(), 10, now=now)
    assert another(on_aws).change_breaker(circuit, Breaker(), opened)
    tried = rules.probe(opened, now=now + 31 * SECOND, until=now + 60 * SECOND)
    assert tried is not None
    with ThreadPoolExecutor(8) as workers:
        won = list(workers.map(lambda _: another(on_aws).change_breaker(circuit, opened, tried), range(8)))
    assert sum(won) == 1


def test_a_breaker_that_nothing_is_held_against_any_more_is_written_like_any_other(
    flow: Flow, key: str, now: datetime
) -> None:
    circuit = ("acme", f"webhook:{key}")
    stumbling = rules.failed(Breaker(), 3, now=now)
    assert flow.change_breaker(circuit, Breaker(), stumbling)
    answered = rules.answered(stumbling, now=now)
    assert flow.change_breaker(circuit, stumbling, answered)
    assert flow.breakers([circuit])[circuit] == answered == Breaker(version=2)


def test_a_destination_stays_slow_whatever_becomes_of_its_breaker(
    flow: Flow, key: str, now: datetime
) -> None:
    circuit, before = ("acme", f"webhook:{key}"), Breaker()
    for change in (
        lambda breaker: rules.slowed(breaker, now=now),
        lambda breaker: rules.failed(breaker, 10, now=now),
        lambda breaker: rules.answered(breaker, now=now),
    ):
        after = change(before)
        assert flow.change_breaker(circuit, before, after)
        before = flow.breakers([circuit])[circuit]
        assert before == after
    assert before.is_slow(now + rules.SLOW_FOR - SECOND)
    assert not before.is_slow(now + rules.SLOW_FOR)


def test_states_are_the_failing_and_slow_destinations_of_one_tenant(
    flow: Flow, key: str, now: datetime
) -> None:
    tenant = f"tenant-{key}"
    opened = rules.failed(Breaker(), 10, now=now)
    for number in range(3):
        assert flow.change_breaker((tenant, f"webhook:{number}"), Breaker(), opened)
    assert flow.change_breaker((tenant, "webhook:1"), opened, rules.answered(opened, now=now))
    slow = rules.slowed(Breaker(), now=now)
    assert flow.change_breaker((tenant, "webhook:slow"), Breaker(), slow)
    flow.take(tenant, key, SECOND, now=now)
    assert flow.states(tenant) == {"webhook:0": opened, "webhook:2": opened, "webhook:slow": slow}
    assert flow.states(f"{tenant}-2") == {}


def test_more_breakers_than_one_request_names_are_all_read(
    dynamo: DynamoFlow, key: str, now: datetime
) -> None:
    opened = rules.failed(Breaker(), 10, now=now)
    circuits = [("acme", f"webhook:{key}-{number}") for number in range(130)]
    assert dynamo.change_breaker(circuits[-1], Breaker(), opened)
    found = dynamo.breakers([*circuits, circuits[0]])
    assert (len(found), found[circuits[-1]], found[circuits[0]]) == (130, opened, Breaker())
    assert dynamo.breakers([]) == {}


def test_every_row_goes_some_time_after_it_was_last_of_use(
    on_aws: OnAws, dynamo: DynamoFlow, key: str, now: datetime
) -> None:
    tenant = f"tenant-{key}"
    dynamo.take(tenant, key, SECOND, now=now)
    opened = rules.failed(Breaker(), 10, now=now)
    assert dynamo.change_breaker((tenant, "webhook:x"), Breaker(), opened)
    room = enter(Room(), ["a"], parallelism=1, until=now + 40 * SECOND, now=now).room
    assert dynamo.change_room(tenant, key, Room(), room)
    rows = on_aws.dynamodb.query(
        TableName=on_aws.names["flow"],
        KeyConditionExpression="tenant = :tenant",
        ExpressionAttributeValues={":tenant": {"S": tenant}},
    )["Items"]
    left = {row["name"]["S"].partition("#")[0]: int(row["expires_at"]["N"]) - now.timestamp() for row in rows}
    assert left.keys() == {"rate", "breaker", "room"}
    assert all(each > timedelta(days=1).total_seconds() for each in left.values())
    assert left["rate"] > timedelta(days=366).total_seconds()


@pytest.mark.parametrize(
    "control",
    [
        FlowControl(key="k"),
        FlowControl(key="schlüssel", rate=10, period_seconds=60),
        FlowControl(key="k", parallelism=3),
    ],
)
def test_a_task_keeps_its_flow_control_and_its_place(
    tasks: Tasks, examples: Examples, control: FlowControl
) -> None:
    task = examples.task(flow=control)
    tasks.add([task])
    assert tasks.get(task.id) == task
    place = task.due_at + 7 * SECOND
    postponed = transitions.postpone(claim(task), now=task.due_at, until=place, why="not yet", placed=True)
    tasks.commit([postponed])
    found = tasks.get(task.id)
    assert found is not None
    assert (found, found.placed_at) == (postponed.after, place)


def test_the_setting_of_a_key_is_read_back_and_changed_only_from_its_present_version(
    flow: Flow, key: str, now: datetime
) -> None:
    at = ("acme", key)
    assert flow.key(at) == FlowKey()
    pinned = keys.pinned(FlowKey(), rate=5, period_seconds=60, parallelism=3)
    assert flow.change_key(at, FlowKey(), pinned)
    assert not flow.change_key(at, FlowKey(), pinned), "another change came first"
    paused = keys.paused(pinned, now=now)
    assert flow.change_key(at, pinned, paused)
    assert flow.keys([at, ("other", key)]) == {at: paused, ("other", key): FlowKey()}
    resumed = keys.resumed(keys.pinned(paused, rate=None, period_seconds=1, parallelism=None))
    assert flow.change_key(at, paused, resumed)
    assert flow.key(at) == resumed


def test_runs_are_counted_while_a_key_is_paused_and_no_longer(flow: Flow, key: str, now: datetime) -> None:
    at, paused = ("acme", key), keys.paused(FlowKey(), now=now)
    flow.add_waiting(at, 3)
    assert flow.change_key(at, FlowKey(), paused)
    flow.add_waiting(at, 3)
    flow.add_waiting(at, 2)
    assert flow.key(at).waiting == 5
    pinned = keys.pinned(flow.key(at), rate=1, period_seconds=1, parallelism=None)
    assert flow.change_key(at, paused, pinned), "a count is no change"
    assert flow.key(at).waiting == 5
    assert flow.change_key(at, pinned, keys.resumed(pinned))
    flow.add_waiting(at, 3)
    assert flow.key(at).waiting == 0


def test_keys_are_listed_once_each_by_name_whether_used_or_set(flow: Flow, key: str, now: datetime) -> None:
    tenant = f"tenant-{key}"
    flow.take_by(tenant, "b-rate", SECOND, now=now, latest=now)
    flow.take(tenant, "not-a-key", SECOND, now=now, of=Timeline.TURNS)
    entered = enter(Room(), ["run"], parallelism=1, until=now + SECOND, now=now)
    for name in ("a-room", "b-rate"):
        assert flow.change_room(tenant, name, Room(), entered.room)
    for name in ("b-rate", "c-set", "é"):
        assert flow.change_key((tenant, name), FlowKey(), keys.paused(FlowKey(), now=now))
    assert flow.keys_listed(tenant, after="", limit=9) == ["a-room", "b-rate", "c-set", "é"]
    assert flow.keys_listed(tenant, after="", limit=2) == ["a-room", "b-rate"]
    assert flow.keys_listed(tenant, after="b-rate", limit=9) == ["c-set", "é"]
    assert flow.keys_listed(f"{tenant}-2", after="", limit=9) == []


def test_a_key_tells_how_many_wait_and_how_many_are_on(flow: Flow, key: str, now: datetime) -> None:
    flow.take_by("acme", key, 4 * SECOND, now=now, latest=now, count=4)
    entered = enter(Room(), ["one", "two", "three"], parallelism=1, until=now + SECOND, now=now)
    assert flow.change_room("acme", key, Room(), entered.room)
    found = flow.used("acme", [key, f"{key}-unknown"])
    assert found[key].waiting(now) == 4
    assert found[key].running(now) == 1
    assert found[key].running(now + SECOND) == 0
    assert not found[f"{key}-unknown"].exists


def test_open_breakers_and_paused_keys_of_all_tenants_are_found_until_they_end(
    flow: Flow, key: str, now: datetime
) -> None:
    circuit, name = (f"tenant-{key}", "webhook:1"), (f"tenant-{key}", key)
    opened = rules.failed(Breaker(), 10, now=now)
    paused = keys.paused(FlowKey(), now=now)
    assert flow.change_breaker(circuit, Breaker(), opened)
    assert flow.change_key(name, FlowKey(), paused)
    circuits, paused_keys = flow.needing_attention(limit=100)
    assert circuit in circuits
    assert name in paused_keys
    assert flow.needing_attention(limit=100, tenant=circuit[0]) == ([circuit], [name])
    assert flow.needing_attention(limit=100, tenant="nobody") == ([], [])
    assert flow.change_breaker(circuit, opened, rules.answered(opened, now=now))
    assert flow.change_key(name, paused, keys.resumed(paused))
    circuits, paused_keys = flow.needing_attention(limit=100)
    assert circuit not in circuits
    assert name not in paused_keys


def test_calls_are_counted_while_a_breaker_is_open_and_no_longer(flow: Flow, key: str, now: datetime) -> None:
    circuit, opened = ("acme", f"webhook:{key}"), rules.failed(Breaker(), 10, now=now, error="no answer")
    flow.count_behind_breaker(circuit, 3)
    assert flow.change_breaker(circuit, Breaker(), opened)
    flow.count_behind_breaker(circuit, 3)
    assert flow.breakers([circuit])[circuit] == replace(opened, waiting=3)
    again = rules.tried_at_once(opened, now=now)
    assert flow.change_breaker(circuit, opened, again)
    assert flow.breakers([circuit])[circuit].waiting == 3
    assert flow.change_breaker(circuit, again, rules.reset(again, now=now))
    flow.count_behind_breaker(circuit, 3)
    assert flow.breakers([circuit])[circuit].waiting == 0


def test_a_key_that_cannot_be_read_is_not_taken_for_one_that_lets_runs_through(
    dynamo: DynamoFlow, key: str, boundary: Boundary
) -> None:
    boundary.fail("BatchGetItem", *[refused("ThrottlingException")] * 8)
    with pytest.raises(Unavailable):
        dynamo.keys([("acme", key)])


def test_counters_are_added_to_and_those_of_the_past_are_forgotten(
    flow: Flow, key: str, now: datetime
) -> None:
    assert flow.counts("acme", key, since=0) == {}
    assert flow.add("acme", key, {100: 3, 101: 1}, since=100, now=now) == {100: 3, 101: 1}
    assert flow.add("acme", key, {101: 2, 150: 5}, since=101, now=now) == {101: 3, 150: 5}
    assert flow.counts("acme", key, since=102) == {150: 5}
    assert flow.counts("other", key, since=0) == {}
