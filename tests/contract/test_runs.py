"""Runs are tasks: kept, found and swept like them, and listed with their definition."""

from dataclasses import replace

from postdate.domain.item import Phase
from postdate.domain.task import HistoryLine, State
from postdate.stores.tasks import Tasks, Written
from postdate.stores.timetable import Timetable, TimetableEntry
from tests.contract.examples import Examples, claim, succeed
from tests.contract.recurring import RUNS, a_definition, everything, runs_of
from tests.listing import ids_listed


def test_a_run_is_read_back_as_it_was_written(tasks: Tasks, examples: Examples) -> None:
    first, second = runs_of(everything(examples), 2)
    asked = RUNS.out_of_turn(
        everything(examples), name="trigger", due_at=examples.now, now=examples.now, why="triggered"
    )
    assert second.recurs is not None
    other = second.id[:-1] + ("1" if second.id.endswith("0") else "0")
    third = replace(second, id=other, recurs=replace(second.recurs, passed_over=first.id))
    assert tasks.add([first, second, third, asked]) == [Written.DONE] * 4
    assert [tasks.get(run.id) for run in (first, second, third, asked)] == [first, second, third, asked]
    assert second.recurs.before == (first.id,)
    assert tasks.commit([claim(first)]) == [Written.DONE]
    assert tasks.get(first.id) == claim(first).after


def test_the_same_run_written_twice_is_one(tasks: Tasks, examples: Examples) -> None:
    (run,) = runs_of(a_definition(examples), 1)
    assert tasks.add([run]) == [Written.DONE]
    assert tasks.commit([claim(run)]) == [Written.DONE]
    assert tasks.add([replace(run, created_at=run.due_at)]) == [Written.CONFLICT]
    assert tasks.get(run.id) == claim(run).after


def test_runs_are_listed_with_their_definition_and_not_with_the_tenants_tasks(
    tasks: Tasks, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    mine, other = (a_definition(examples, tenant=tenant) for _ in range(2))
    runs, task = runs_of(mine, 7), examples.task(tenant=tenant)
    tasks.add([*reversed(runs), *runs_of(other, 2), task])
    ids = [run.id for run in runs]
    assert tasks.runs_listed(tenant, mine.id, after="", limit=100) == ids
    assert tasks.runs_listed(tenant, mine.id, after=ids[2], limit=3) == ids[3:6]
    assert tasks.runs_listed("somebody", mine.id, after="", limit=100) == []
    assert ids_listed(tasks, tenant, limit=100) == [task.id]


def test_a_run_is_due_in_its_slot_and_one_that_was_missed_rests_there(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    (run,) = runs_of(a_definition(examples), 1)
    line = HistoryLine(version=1, at=examples.now, to=State.MISSED, why="missed", attempt=0)
    (other,) = runs_of(a_definition(examples), 1)
    missed = replace(other, state=State.MISSED, finished_at=examples.now, history=(line,))
    tasks.add([run, missed])
    assert {entry.due.id: entry for entry in timetable.due_in(run.home)}[run.id] == TimetableEntry.of(run)
    entries = timetable.entries([run.id, missed.id])
    assert {id: entry.phase for id, entry in entries.items()} == {
        run.id: Phase.WAITS,
        missed.id: Phase.RESTS,
    }
    tasks.commit([claim(run)])
    tasks.commit([succeed(claim(run).after)])
    assert timetable.entries([run.id])[run.id].phase is Phase.RESTS
