import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.listing import LIMIT_DEFAULT, LIMIT_MAX
from functions.api.tasks import listing
from functions.api.tasks.listing import Query
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import State
from postdate.stores.definitions import MemoryDefinitions
from tests.unit.doubles import MINUTE, START, ManualClock, ScriptedTasks, a_task, in_state

STATES = list(State)


def page(query, tasks):
    shown = listing.page(query, tasks, MemoryDefinitions(tasks=tasks), clock=ManualClock())
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


def pages(table, tenant="demo", **parameters):
    """Page after page as a client asks for them."""
    cursor, found = None, []
    while cursor is not None or not found:
        asked = {**parameters, **({} if cursor is None else {"cursor": cursor})}
        tasks, cursor = page(Query.of(tenant, asked), table)
        found.append(tasks)
        assert len(found) < 1000
    return found


@given(number=st.integers(0, 45), limit=st.integers(1, 20))
def test_paging_shows_every_task_of_the_tenant_exactly_once_in_the_order_of_minutes(number, limit):
    ours = [a_tenants_task(each) for each in range(number)]
    theirs = [a_tenants_task(each, tenant="other") for each in range(100, 110)]
    found = pages(stored(*ours, *theirs), limit=str(limit))
    assert [task.id for tasks in found for task in tasks] == sorted(task.id for task in ours)
    assert [len(tasks) for tasks in found[:-1]] == [limit] * (len(found) - 1)
    assert len(found) == max(1, -(-number // limit))


FILTERS = {
    "status": st.sampled_from(STATES),
    "name": st.just("third"),
    "tag": st.sampled_from(["a", "b", "c"]),
}


@given(number=st.integers(0, 60), limit=st.integers(1, 20), asked=st.fixed_dictionaries({}, optional=FILTERS))
def test_paging_with_filters_shows_what_passes_them_exactly_once(number, limit, asked):
    ours = [a_tenants_task(each) for each in range(number)]
    found = pages(stored(*ours), limit=str(limit), **asked)
    wanted = [
        task.id
        for task in ours
        if asked.get("status", task.state) == task.state
        and asked.get("name", task.name) == task.name
        and (asked.get("tag") is None or asked["tag"] in task.tags)
    ]
    assert [task.id for tasks in found for task in tasks] == sorted(wanted)
    assert all(len(tasks) <= limit for tasks in found)


def test_a_page_that_looked_at_much_and_found_little_ends_early_and_goes_on_behind_it():
    tasks = [a_task(number) for number in range(1100)]
    last = in_state(State.CANCELLED, a_task(2000, due_at=START + 60 * MINUTE))
    table = stored(*tasks, last)
    first, cursor = page(Query.of("demo", {"status": "CANCELLED"}), table)
    assert (first, cursor is None) == ([], False)
    assert pages(table, status="CANCELLED") == [[], [last]]


def test_an_entry_of_the_index_without_a_task_is_passed_over():
    table, ghost = stored(a_task(1), a_task(3)), a_task(2)

    class Ahead(ScriptedTasks):
        def listed(self, tenant, *, after, limit):
            return [id for id in sorted([ghost.id, *table.listed(tenant, after="", limit=9)]) if id > after][
                :limit
            ]

        def get_many(self, ids):
            return table.get_many(ids)

    assert sorted(task.id for tasks in pages(Ahead(), limit="1") for task in tasks) == sorted(
        [a_task(1).id, a_task(3).id]
    )


def test_a_page_that_is_full_with_the_last_that_was_looked_at_is_not_the_last():
    tasks = [a_task(number) for number in range(101)]
    assert [len(found) for found in pages(stored(*tasks), status="PENDING", limit="100")] == [100, 1]


def test_what_is_another_tenants_is_passed_over_whatever_the_index_says():
    theirs = a_task(2, tenant="other")
    table = stored(a_task(1), theirs)

    class Mixed(ScriptedTasks):
        def listed(self, tenant, *, after, limit):
            return [id for id in sorted([a_task(1).id, theirs.id]) if id > after][:limit]

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
        Query.of("demo", parameters)
    assert [name for name, _ in refused.value.fields] == [field]


@pytest.mark.parametrize("limit", ["1", "100"])
def test_the_bounds_of_a_limit_are_allowed(limit):
    assert Query.of("demo", {"limit": limit}).span.limit == int(limit)


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
    _, cursor = page(Query.of("demo", {"status": "PENDING", "limit": "1"}), table)
    with pytest.raises(ValidationFailed, match="cursor"):
        Query.of(tenant, {**parameters, "cursor": cursor})


def test_a_cursor_goes_on_with_pages_of_another_size():
    table = stored(*(a_task(number) for number in range(5)))
    first, cursor = page(Query.of("demo", {"limit": "2"}), table)
    rest, end = page(Query.of("demo", {"limit": "50", "cursor": cursor}), table)
    assert (len(first), len(rest), end) == (2, 3, None)


def test_what_is_registered_behind_the_cursor_is_still_seen_and_nothing_twice():
    table = stored(*(a_task(number, due_at=START + number * MINUTE) for number in range(4)))
    first, cursor = page(Query.of("demo", {"limit": "2"}), table)
    late = a_task(9, due_at=START + 9 * MINUTE)
    table.add([late, a_task(8, due_at=START - MINUTE)])
    rest, _ = page(Query.of("demo", {"limit": "20", "cursor": cursor}), table)
    assert [task.id for task in rest] == [
        a_task(2, due_at=START + 2 * MINUTE).id,
        a_task(3, due_at=START + 3 * MINUTE).id,
        late.id,
    ]
    assert not {task.id for task in first} & {task.id for task in rest}
