"""All runs of a tenant, page by page: each of them once, in either order, and nothing else."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.runs.of_tenant import TenantRunQuery, page_of_tenant
from functions.api.tasks.listing import TaskQuery
from postdate.domain.definition import HOME_MINUTE
from postdate.domain.errors import ValidationFailed
from postdate.domain.recurs import Recurs
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import DELIVERY_KIND, KIND, RUN_KIND, State
from tests.unit.api.swept import healthy
from tests.unit.api.tasks.test_listing import page as page_of_tasks
from tests.unit.doubles import MINUTE, START, ManualClock, ScriptedTasks, a_task, in_state

PLANS: Final = [item_id(KIND, Slot(minute=HOME_MINUTE, shard=1), bytes([each] * 10)) for each in range(3)]
STATES: Final = list(State)


def a_run(number, *, tenant="demo", kind=RUN_KIND, of=None, state=None):
    """Runs of every state and of three plans, in many minutes, some of them jittered into their minutes."""
    due_at = START + (number * 7 % 50) * MINUTE + timedelta(milliseconds=number * 137)
    recurs = Recurs(definition=of or PLANS[number % 3], plan=1, at=due_at, number=number)
    task = a_task(number, due_at=due_at, tenant=tenant, recurs=recurs)
    return in_state(state or STATES[number % len(STATES)], replace(task, id=task.id.replace(KIND, kind)))


def stored(*tasks):
    table = ScriptedTasks()
    table.add(tasks)
    return table


def others():
    """Items that no list of runs has."""
    return [
        *(a_run(each, tenant="other") for each in range(100, 110)),
        *(a_run(each, kind=DELIVERY_KIND, of="sub_1") for each in range(110, 120)),
        *(in_state(STATES[each % len(STATES)], a_task(each)) for each in range(120, 130)),
    ]


def pages(table, **parameters):
    """Page after page as a client asks for them, at an instant behind all runs. `from` is given as `since`."""
    clock, cursor, found = ManualClock(START + 52 * MINUTE), None, []
    if "since" in parameters:
        parameters["from"] = parameters.pop("since")
    while cursor is not None or not found:
        query = TenantRunQuery.of("demo", parameters | ({} if cursor is None else {"cursor": cursor}))
        shown = page_of_tenant(query, table, healthy(clock), clock=clock)
        cursor = shown.cursor
        found.append([run.id for run in shown.items])
        assert len(found) < 200
    return found


FILTERS: Final = {
    "status": st.sampled_from(STATES),
    "task_id": st.sampled_from(PLANS),
    "order": st.sampled_from(["asc", "desc"]),
    # In half minutes, so that a list may end within a minute.
    "since": st.integers(-5, 105),
    "until": st.integers(-5, 105),
}


@given(number=st.integers(0, 40), limit=st.integers(1, 20), asked=st.fixed_dictionaries({}, optional=FILTERS))
def test_paging_shows_every_run_that_fits_once_in_the_order_of_planned_instants(number, limit, asked):
    """The sweep left no run waiting, so a list of PENDING runs that are over names its first instant."""
    if asked.get("status") == State.PENDING:
        asked = {"since": 0} | asked
    ours = [a_run(each) for each in range(number)]
    since, until = (
        None if name not in asked else START + asked[name] * MINUTE / 2 for name in ("since", "until")
    )
    fits = [
        run
        for run in ours
        if asked.get("status", run.state) == run.state
        and asked.get("task_id", run.task_id) == run.task_id
        and (since is None or since <= run.planned_at)
        and (until is None or run.planned_at < until)
    ]
    told = {name: at.isoformat() for name, at in (("since", since), ("until", until)) if at is not None}
    found = pages(stored(*ours, *others()), **asked | told | {"limit": str(limit)})
    wanted = sorted(fits, key=lambda run: run.planned_at, reverse=asked.get("order") != "asc")
    assert [id for ids in found for id in ids] == [run.id for run in wanted]


@pytest.mark.parametrize("of_one", [{}, {"task_id": PLANS[0]}], ids=["of all", "of one"])
def test_a_list_has_its_first_instant_and_not_the_one_behind_its_last(of_one):
    runs = [a_run(number) for number in (0, 3, 6)]
    at = {run.id: run.planned_at.isoformat() for run in runs}
    first, second, third = sorted(at, key=lambda id: at[id])
    assert pages(stored(*runs), since=at[first], until=at[third], **of_one) == [[second, first]]


@pytest.mark.parametrize("of_one", [{}, {"task_id": PLANS[1]}], ids=["of all", "of one"])
def test_a_list_that_ends_within_a_minute_has_the_runs_before(of_one):
    run = a_run(1)
    until = run.planned_at + timedelta(seconds=1)
    assert pages(stored(run), until=until.isoformat(), **of_one) == [[run.id]]


@pytest.mark.parametrize("state", STATES)
def test_lists_by_state_have_no_deliveries_and_no_tasks_that_run_once(state):
    assert pages(stored(*others()), status=state.value, since=START.isoformat()) == [[]]


def test_the_id_of_no_recurring_task_has_no_runs():
    table = stored(a_run(1), in_state(State.DEAD, a_task(2)))
    for id in ("sub_1", a_task(2).id, "nonsense", PLANS[2]):
        assert pages(table, task_id=id) == [[]]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"status": "ACTIVE"}, "status"),
        ({"order": "newest"}, "order"),
        ({"name": "n"}, "name"),
        ({"from": "yesterday"}, "from"),
        ({"cursor": "nonsense"}, "cursor"),
    ],
)
def test_a_query_that_means_nothing_is_refused_by_field(parameters, field):
    with pytest.raises(ValidationFailed) as refused:
        TenantRunQuery.of("demo", parameters)
    assert [name for name, _ in refused.value.fields] == [field]


def test_a_cursor_of_another_query_is_refused():
    query = TenantRunQuery.of("demo", {"limit": "1"})
    clock = ManualClock()
    table = stored(*(a_run(each) for each in range(5)))
    cursor = page_of_tenant(query, table, healthy(clock), clock=clock).cursor
    for asked, tenant in (({"order": "asc"}, "demo"), ({"task_id": PLANS[0]}, "demo"), ({}, "other")):
        with pytest.raises(ValidationFailed):
            TenantRunQuery.of(tenant, {"cursor": cursor, **asked})


def test_a_page_of_tasks_by_state_that_ends_at_a_delivery_has_a_next_page():
    """Dead deliveries are in the list of dead tasks."""
    dead = [a_run(each, kind=DELIVERY_KIND, of="sub_1", state=State.DEAD) for each in range(3)]
    asked = {"status": "DEAD", "limit": "2"}
    table = stored(*dead)
    _, cursor = page_of_tasks(TaskQuery.of("demo", asked), table)
    found, _ = page_of_tasks(TaskQuery.of("demo", asked | {"cursor": cursor}), table)
    assert len(found) == 1
