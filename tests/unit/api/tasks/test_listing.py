import base64
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.listing import LIMIT_DEFAULT, LIMIT_MAX, Span
from functions.api.tasks import listing
from functions.api.tasks.listing import TaskQuery
from postdate.domain import instants, transitions
from postdate.domain.errors import ValidationFailed
from postdate.domain.recurs import Recurs
from postdate.domain.sweeping import Stage, Watermark
from postdate.domain.task import State
from postdate.stores.definitions_memory import MemoryDefinitions
from postdate.stores.places import place_of
from tests.unit.api.swept import Notes, healthy, unfinished
from tests.unit.doubles import MINUTE, START, ManualClock, ScriptedTasks, a_task, claimed, in_state

STATES = list(State)


def a_cursor(after):
    return Span.of({}, "tasks", "demo", None, None, None, None, None, "False").cursor(after)


def page(query, tasks, clock=None, sweep=None):
    clock = clock or ManualClock()
    plans = MemoryDefinitions(tasks=tasks)
    shown = listing.page(query, tasks, plans, sweep or healthy(clock), clock=clock)
    return shown.items, shown.cursor


def stored(*tasks):
    table = ScriptedTasks()
    table.add(tasks)
    return table


def a_tenants_task(number, *, tenant="demo"):
    """Tasks of every state, in many minutes, every third one named and tagged."""
    task = a_task(
        number,
        due_at=START + (number * 7 % 50) * MINUTE,
        tenant=tenant,
        name="third" if number % 3 == 0 else None,
        tags=("a", "b") if number % 3 == 0 else (),
    )
    return in_state(STATES[number % len(STATES)], task)


def pages(table, tenant="demo", clock=None, sweep=None, **parameters):
    """Page after page as a client asks for them. `from` is given as `since`."""
    cursor, found = None, []
    if "since" in parameters:
        parameters["from"] = parameters.pop("since")
    while cursor is not None or not found:
        asked = {**parameters, **({} if cursor is None else {"cursor": cursor})}
        tasks, cursor = page(TaskQuery.of(tenant, asked), table, clock, sweep)
        found.append(tasks)
        assert len(found) < 1000
    return found


@given(number=st.integers(0, 45), limit=st.integers(1, 20))
def test_paging_shows_every_task_of_the_tenant_exactly_once_in_the_order_of_minutes(number, limit):
    ours = [a_tenants_task(each) for each in range(number)]
    theirs = [a_tenants_task(each, tenant="other") for each in range(100, 110)]
    found = pages(stored(*ours, *theirs), limit=str(limit))
    assert [task.id for tasks in found for task in tasks] == in_order(ours)
    assert [len(tasks) for tasks in found[:-1]] == [limit] * (len(found) - 1)
    assert len(found) == max(1, -(-number // limit))


FILTERS = {
    "status": st.sampled_from(STATES),
    "name": st.just("third"),
    "tag": st.sampled_from(["a", "b", "c"]),
    "order": st.sampled_from(["asc", "desc"]),
    "since": st.integers(-5, 55),
    "until": st.integers(-5, 55),
}


def in_order(tasks):
    return [task.id for task in sorted(tasks, key=lambda task: (task.planned_at, task.id))]


@given(number=st.integers(0, 60), limit=st.integers(1, 20), asked=st.fixed_dictionaries({}, optional=FILTERS))
def test_paging_with_filters_shows_what_passes_them_exactly_once(number, limit, asked):
    """Seen from an instant behind all of them: whatever has begun was due."""
    ours = [a_tenants_task(each) for each in range(number)]
    ends = {name: START + asked[name] * MINUTE for name in ("since", "until") if name in asked}
    wanted = in_order(
        task
        for task in ours
        if asked.get("status", task.state) == task.state
        and asked.get("name", task.name) == task.name
        and (asked.get("tag") is None or asked["tag"] in task.tags)
        and ("since" not in ends or ends["since"] <= task.planned_at)
        and ("until" not in ends or task.planned_at < ends["until"])
    )
    clock = ManualClock(START + 50 * MINUTE)
    if asked.get("status") == State.PENDING:
        ends.setdefault("since", START)
    texts = asked | {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in ends.items()}
    found = pages(stored(*ours), clock=clock, limit=str(limit), **texts)
    shown = [task.id for tasks in found for task in tasks]
    assert shown == (wanted[::-1] if asked.get("order") == "desc" else wanted)
    assert all(len(tasks) <= limit for tasks in found)


def test_a_page_that_looked_at_much_and_found_little_ends_early_and_goes_on_behind_it():
    tasks = [a_task(number) for number in range(1100)]
    last = replace(a_task(2000, due_at=START + 60 * MINUTE), name="last")
    table = stored(*tasks, last)
    first, cursor = page(TaskQuery.of("demo", {"name": "last"}), table)
    assert (first, cursor is None) == ([], False)
    assert pages(table, name="last") == [[], [last]]


@pytest.mark.parametrize("state", [State.DEAD, State.CANCELLED, State.EXPIRED, State.RETRYING])
@pytest.mark.parametrize("others", [10, 3000])
def test_a_list_of_a_rare_state_looks_at_no_other_task(state, others):
    usual = [in_state(State.SUCCEEDED, a_task(number)) for number in range(others)]
    rare = in_state(state, a_task(9000, due_at=START + 60 * MINUTE))
    table = Counting()
    table.add([*usual, rare])
    assert pages(table, status=state.value) == [[rare]]
    assert table.looked_up == [rare.id]


def test_a_list_of_what_waits_has_all_that_was_put_off_and_all_that_the_sweep_left_behind():
    """Items that have ended by then are not looked up."""
    over = [in_state(State.SUCCEEDED, a_task(number, due_at=START)) for number in range(300)]
    put_off = transitions.wait(
        a_task(400, due_at=START), now=START, until=START + timedelta(days=1), why="no place"
    ).after
    late, soon = a_task(500, due_at=START + 111 * MINUTE), a_task(501, due_at=START + 150 * MINUTE)
    table, clock = Counting(), ManualClock(START + 120 * MINUTE)
    table.add([*over, put_off, late, soon])
    assert pages(table, clock=clock, status="PENDING") == [[put_off, late, soon]]
    assert sorted(table.looked_up) == sorted([put_off.id, late.id, soon.id])
    left = a_task(600, due_at=START + MINUTE)
    table.add([left])
    notes = Notes()
    notes.close(clock.now())
    notes._watermark = Watermark(minute=left.home.minute - 1)
    for minute in range(left.home.minute + 1, instants.minute_of(clock.now()) - 60):
        notes.note(minute, Stage.AUDIT)
    notes.note(left.home.minute, Stage.CLOSE, waiting=1)
    table.looked_up.clear()
    assert pages(table, clock=clock, sweep=unfinished(notes, clock), status="PENDING") == [
        [put_off, left, late, soon]
    ]
    assert not set(table.looked_up) & {task.id for task in over}


@pytest.mark.parametrize("since", [{}, {"until": f"{START + 9 * MINUTE:%Y-%m-%dT%H:%M:%SZ}"}])
def test_a_first_attempt_that_runs_for_days_is_in_the_list_of_what_runs(since):
    running = claimed(a_task(1, due_at=START))
    after_it = [
        in_state(State.SUCCEEDED, a_task(number, due_at=START + 9 * MINUTE)) for number in range(9, 99)
    ]
    table, clock = Counting(), ManualClock(START + timedelta(days=3))
    table.add([running, *after_it])
    notes = Notes()
    notes.close(clock.now())
    notes._watermark = Watermark(minute=running.home.minute - 1)
    for minute in range(running.home.minute + 1, instants.minute_of(clock.now()) - 60):
        notes.note(minute, Stage.AUDIT)
    notes.note(running.home.minute, Stage.CLOSE)
    assert pages(table, clock=clock, sweep=unfinished(notes, clock), status="RUNNING", **since) == [[running]]
    assert table.looked_up == [running.id]


def test_a_task_that_was_put_off_for_days_is_in_the_list_of_what_runs():
    """The list is ordered by the planned instant, and the audit of that minute has ended."""
    later = START + timedelta(days=3)
    put_off = transitions.wait(a_task(1, due_at=START), now=START, until=later, why="no place").after
    running, clock = claimed(put_off), ManualClock(later)
    assert pages(stored(running), clock=clock, status="RUNNING") == [[running]]


def test_a_list_of_begun_tasks_looks_up_no_future_ones():
    done = in_state(State.SUCCEEDED, a_task(1, due_at=START))
    running = in_state(State.RUNNING, a_task(2, due_at=START))
    table = Counting()
    table.add([done, running, *(a_task(number, due_at=START + MINUTE) for number in range(100, 400))])
    assert pages(table, status="SUCCEEDED") == [[done]]
    assert pages(table, status="RUNNING", order="desc") == [[running]]
    assert set(table.looked_up) == {done.id, running.id}


def test_a_list_of_states_of_recurring_tasks_looks_at_no_other_task():
    table = Counting()
    table.add([a_task(number) for number in range(300)])
    for status in ("ACTIVE", "PAUSED", "FINISHED"):
        assert pages(table, status=status) == [[]]
    assert pages(table, status="ACTIVE", since=f"{START:%Y-%m-%dT%H:%M:%SZ}") == [[]]
    assert table.looked_up == []


def test_runs_are_in_lists_by_state_unless_they_are_left_out():
    run = replace(a_task(1), recurs=Recurs(definition=a_task(7).id, plan=1, at=START, number=1))
    run = in_state(State.DEAD, replace(run, id=run.id.replace("task_", "run_")))
    task = in_state(State.DEAD, a_task(2))
    table = stored(run, task)
    assert pages(table, status="DEAD") == [[run, task]]
    assert page(TaskQuery.of("demo", {"status": "DEAD"}, runs=False), table)[0] == [task]
    assert pages(table) == [[task]]


class Counting(ScriptedTasks):
    def __init__(self):
        super().__init__()
        self.looked_up = []

    def get_many(self, ids):
        ids = list(ids)
        self.looked_up += ids
        return super().get_many(ids)


def test_an_entry_of_the_index_without_a_task_is_passed_over():
    table, ghost = stored(a_task(1), a_task(3)), a_task(2)

    class Ahead(ScriptedTasks):
        def listed(self, wanted, *, after, limit, newest_first=False):
            places = [place_of(ghost.planned_at, ghost.id), *table.listed(wanted, after="", limit=9)]
            return [place for place in sorted(places) if place > after][:limit]

        def get_many(self, ids):
            return table.get_many(ids)

    assert sorted(task.id for tasks in pages(Ahead(), limit="1") for task in tasks) == sorted(
        [a_task(1).id, a_task(3).id]
    )


def test_a_page_that_is_full_with_the_last_that_was_looked_at_is_not_the_last():
    tasks = [a_task(number) for number in range(101)]
    assert [len(found) for found in pages(stored(*tasks), status="PENDING", limit="100")] == [100, 1]


def test_items_of_another_tenant_are_passed_over_whatever_the_index_says():
    theirs = a_task(2, tenant="other")
    table = stored(a_task(1), theirs)

    class Mixed(ScriptedTasks):
        def listed(self, wanted, *, after, limit, newest_first=False):
            places = sorted(place_of(task.planned_at, task.id) for task in (a_task(1), theirs))
            return [place for place in places if place > after][:limit]

        def get_many(self, ids):
            return table.get_many(ids)

    assert pages(Mixed()) == [[a_task(1)]]


def test_a_page_has_twenty_tasks_unless_asked_otherwise():
    found = pages(stored(*(a_task(number) for number in range(LIMIT_DEFAULT + 1))))
    assert [len(tasks) for tasks in found] == [20, 1]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": str(LIMIT_MAX + 1)}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"limit": "1.0"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"limit": "10000"}, "limit"),
        ({"limit": "0001000"}, "limit"),
        ({"limit": "0001" + "0" * 5000}, "limit"),
        ({"status": "pending"}, "status"),
        ({"status": ""}, "status"),
        ({"state": "PENDING"}, "state"),
        ({"order": "up"}, "order"),
        ({"from": "now"}, "from"),
        ({"until": "2026-11-18"}, "until"),
        ({"cursor": a_cursor("task_no-place")}, "cursor"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "no cursor"}, "cursor"),
        ({"cursor": "é"}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b"{}").decode()}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b'["a","b"]').decode()}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b'["a","b","c"]').decode()}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b"[" * 6000).decode()}, "cursor"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_a_wrong_parameter_is_refused_by_its_name(parameters, field):
    with pytest.raises(ValidationFailed) as refused:
        TaskQuery.of("demo", parameters)
    assert [name for name, _ in refused.value.fields] == [field]


@pytest.mark.parametrize("limit", ["1", "100"])
def test_the_bounds_of_a_limit_are_allowed(limit):
    assert TaskQuery.of("demo", {"limit": limit}).span.limit == int(limit)


@pytest.mark.parametrize(
    ("tenant", "parameters"),
    [
        ("other", {"status": "PENDING"}),
        ("demo", {}),
        ("demo", {"status": "DEAD"}),
        ("demo", {"status": "PENDING", "tag": "a"}),
        ("demo", {"status": "PENDING", "name": "a"}),
    ],
)
def test_a_cursor_of_another_tenant_or_another_query_is_refused(tenant, parameters):
    table = stored(a_task(1), a_task(2))
    _, cursor = page(TaskQuery.of("demo", {"status": "PENDING", "limit": "1"}), table)
    with pytest.raises(ValidationFailed, match="cursor"):
        TaskQuery.of(tenant, {**parameters, "cursor": cursor})


def test_a_cursor_goes_on_with_pages_of_another_size():
    table = stored(*(a_task(number) for number in range(5)))
    first, cursor = page(TaskQuery.of("demo", {"limit": "2"}), table)
    rest, end = page(TaskQuery.of("demo", {"limit": "50", "cursor": cursor}), table)
    assert (len(first), len(rest), end) == (2, 3, None)


def test_a_task_registered_behind_the_cursor_is_seen_once():
    table = stored(*(a_task(number, due_at=START + number * MINUTE) for number in range(4)))
    first, cursor = page(TaskQuery.of("demo", {"limit": "2"}), table)
    late = a_task(9, due_at=START + 9 * MINUTE)
    table.add([late, a_task(8, due_at=START - MINUTE)])
    rest, _ = page(TaskQuery.of("demo", {"limit": "20", "cursor": cursor}), table)
    assert [task.id for task in rest] == [
        a_task(2, due_at=START + 2 * MINUTE).id,
        a_task(3, due_at=START + 3 * MINUTE).id,
        late.id,
    ]
    assert not {task.id for task in first} & {task.id for task in rest}
