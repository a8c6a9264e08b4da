"""A new plan knows the old one's runs: how many there were, and which of them may not be over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import transitions
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Overlap, State
from postdate.domain.line import LOOKED_AT_MAX, line
from postdate.domain.recurs import Recurs
from postdate.domain.task import Ack
from postdate.domain.task import State as RunState
from postdate.domain.transitions import Failure, Transition
from postdate.use_cases.planned_chain import preview_of
from tests.unit.api.tasks.recurring.test_change import edit, followed, waiting
from tests.unit.doubles import MINUTE, SECOND, START, a_task, claimed


def begun(service, run):
    """A worker has begun this run at its instant, and written what follows."""
    service.clock.sleep_until(run.due_at)
    service.tasks.add(followed(service, run).rows)
    claim = Transition(before=run, after=claimed(run))
    service.tasks.commit([claim])
    return claim.after


def first_of(service, definition):
    plan = service.definitions.get(definition.id).plan
    (run,) = [run for run in waiting(service, definition) if run.recurs.plan == plan]
    return run


def paused_and_resumed(service, definition):
    service.definition_changer.pause("demo", definition.id, reason=None)
    service.definition_changer.resume("demo", definition.id)


def changed_while_paused(service, definition):
    service.definition_changer.pause("demo", definition.id, reason=None)
    edit(service, definition, '{"name": "other"}')
    service.definition_changer.resume("demo", definition.id)


def renamed_twice(service, definition):
    edit(service, definition, '{"name": "one"}')
    edit(service, definition, '{"name": "two"}')


CHANGES = {
    "renamed": lambda service, definition: edit(service, definition, '{"name": "other"}'),
    "renamed twice": renamed_twice,
    "paused and resumed": paused_and_resumed,
    "changed while paused": changed_while_paused,
}


@pytest.fixture(params=CHANGES)
def change(request):
    return CHANGES[request.param]


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
@pytest.mark.parametrize("retries", [False, True])
def test_no_run_of_a_new_plan_begins_beside_one_of_the_old(service, change, overlap, retries):
    definition = service.planned("* * * * *", overlap=overlap, ack=Ack.EXPLICIT)
    (first,) = waiting(service, definition)
    on = begun(service, first)
    if retries:
        on = transitions.fail(on, now=service.clock.now(), failure=Failure(why="http 500"), draw=0).after
        service.tasks._tasks[on.id] = on
    change(service, definition)
    run = first_of(service, definition)
    assert (run.recurs.before, run.recurs.number) == ((on.id,), 2)
    kept = followed(service, run).instead.after.state
    assert kept is (RunState.SKIPPED if overlap is Overlap.SKIP else RunState.PENDING)
    over = replace(on, state=RunState.SUCCEEDED)
    service.tasks._tasks[on.id] = over
    assert followed(service, run).instead is None


def test_the_run_to_come_ends_with_the_change_that_ends_its_plan(service, change):
    definition = service.planned("* * * * *")
    (first,) = waiting(service, definition)
    change(service, definition)
    assert service.tasks.get(first.id).state in (RunState.CANCELLED, RunState.SKIPPED)
    assert len(waiting(service, definition)) == 1


@pytest.mark.parametrize("verb", ["edit", "pause"])
def test_a_run_that_begins_between_the_look_and_the_change_is_seen(service, verb):
    definition = service.planned("* * * * *", max_runs=5)
    (first,) = waiting(service, definition)
    on = []
    service.definitions.before["change"].append(lambda: on.append(begun(service, first)))
    if verb == "edit":
        edit(service, definition, '{"name": "other"}')
    else:
        paused_and_resumed(service, definition)
    run = first_of(service, definition)
    assert (run.recurs.before, run.recurs.number) == ((on[0].id,), 2)


def test_those_that_wait_in_a_queue_are_named_and_ended(service):
    definition = service.planned("* * * * *", overlap=Overlap.QUEUE)
    (first,) = waiting(service, definition)
    begun(service, first)
    (second,) = waiting(service, definition)
    service.clock.sleep_until(second.due_at)
    waits = followed(service, second)
    service.tasks.add(waits.rows)
    service.tasks.commit([waits.instead])
    edit(service, definition, '{"name": "other"}')
    assert first_of(service, definition).recurs.before == (second.id,)
    assert service.tasks.get(second.id).state is RunState.CANCELLED


def test_after_overlaps_were_allowed_all_that_are_on_count(service):
    definition = service.planned("* * * * *", overlap=Overlap.ALLOW)
    on = []
    for _ in range(3):
        (run,) = waiting(service, definition)
        on.append(begun(service, run).id)
    edit(service, definition, '{"overlap": "skip"}')
    run = first_of(service, definition)
    assert sorted(run.recurs.before) == sorted(on)
    for id in on:
        assert followed(service, run).instead.after.state is RunState.SKIPPED
        service.tasks._tasks[id] = replace(service.tasks.get(id), state=RunState.SUCCEEDED)
    assert followed(service, run).instead is None


@pytest.mark.parametrize("later", [12, 250])
def test_a_run_that_still_retries_behind_many_others_counts(service, later):
    definition = service.planned("* * * * *", overlap=Overlap.ALLOW)
    (run,) = waiting(service, definition)
    failed = transitions.fail(
        begun(service, run), now=service.clock.now(), failure=Failure(why="http 500"), draw=0
    )
    service.tasks.commit([failed])
    for _ in range(later):
        run = max(waiting(service, definition), key=lambda each: each.planned_at)
        over = transitions.succeed(begun(service, run), now=service.clock.now(), why="http 200")
        service.tasks.commit([over])
    edit(service, definition, '{"overlap": "skip"}')
    changed = first_of(service, definition)
    assert changed.recurs.before == (failed.after.id,)
    assert followed(service, changed).instead.after.state is RunState.SKIPPED


def test_no_more_runs_are_named_than_a_search_reads(service):
    definition = service.planned("* * * * *", overlap=Overlap.ALLOW)
    for _ in range(30):
        (run,) = waiting(service, definition)
        begun(service, run)
    edit(service, definition, '{"overlap": "skip"}')
    assert len(first_of(service, definition).recurs.before) == LOOKED_AT_MAX - 1


class TestMaxRuns:
    def three_of_five(self, service):
        definition = service.planned("* * * * *", max_runs=5, overlap=Overlap.ALLOW)
        for _ in range(3):
            (run,) = waiting(service, definition)
            begun(service, run)
        return definition

    def test_it_does_not_start_again_after_many_runs_out_of_turn(self, service, change):
        definition = self.three_of_five(service)
        for _ in range(12):
            service.by_hand.trigger(definition, key=None)
        change(service, definition)
        assert service.definitions.get(definition.id).runs_before == 3
        assert first_of(service, definition).recurs.number == 4

    def test_it_does_not_start_again_after_many_runs_that_were_missed(self, service, change):
        definition = self.three_of_five(service)
        (run,) = waiting(service, definition)
        service.clock.move(20 * MINUTE)
        late = followed(service, run, at=service.clock.now())
        service.tasks.add(late.rows)
        service.tasks.commit([late.instead])
        change(service, definition)
        assert service.definitions.get(definition.id).runs_before == 3

    def test_it_does_not_start_again_when_the_chain_is_late_and_much_was_triggered(self, service, change):
        definition = self.three_of_five(service)
        service.clock.move(timedelta(hours=1))
        for _ in range(120):
            service.by_hand.trigger(definition, key=None)
        change(service, definition)
        assert service.definitions.get(definition.id).runs_before == 3

    def test_it_does_not_start_again_after_a_long_pause(self, service):
        definition = self.three_of_five(service)
        service.definition_changer.pause("demo", definition.id, reason=None)
        service.tasks._tasks.clear()
        service.clock.move(timedelta(days=40))
        resumed = service.definition_changer.resume("demo", definition.id)
        assert (resumed.runs_before, first_of(service, definition).recurs.number) == (3, 4)

    def test_a_task_paused_by_older_code_is_counted_by_its_rows(self, service):
        definition = self.three_of_five(service)
        older = replace(definition, state=State.PAUSED, version=2)
        service.definitions._kept[definition.id] = older
        resumed = service.definition_changer.resume("demo", definition.id)
        assert (resumed.runs_before, len(resumed.before)) == (3, 3)

    def queued_of_six(self, service, *, waiting_runs):
        """The first run is in progress, and others wait for it."""
        definition = service.planned("* * * * *", max_runs=6, overlap=Overlap.QUEUE)
        (run,) = waiting(service, definition)
        on = begun(service, run)
        for _ in range(waiting_runs):
            run = max(waiting(service, definition), key=lambda each: each.planned_at)
            service.clock.sleep_until(run.due_at)
            waits = followed(service, run)
            service.tasks.add(waits.rows)
            service.tasks.commit([waits.instead])
        return definition, on

    @pytest.mark.parametrize("waiting_runs", [0, 1, 3])
    def test_runs_that_wait_do_not_count(self, service, change, waiting_runs):
        definition, on = self.queued_of_six(service, waiting_runs=waiting_runs)
        change(service, definition)
        run = first_of(service, definition)
        assert service.definitions.get(definition.id).runs_before == 1
        assert run.recurs.number == 2
        over = replace(on, state=RunState.SUCCEEDED)
        service.tasks._tasks[on.id] = over
        assert followed(service, run).instead is None

    def test_runs_that_wait_do_not_count_after_two_pauses(self, service):
        definition, _ = self.queued_of_six(service, waiting_runs=3)
        paused_and_resumed(service, definition)
        paused_and_resumed(service, definition)
        assert service.definitions.get(definition.id).runs_before == 1

    def test_a_run_that_waits_with_an_old_number_does_not_count(self):
        """A run of the plan before began after the waiting run was written, with the same number."""

        def a_run(number, plan, counted, *before):
            at = START + number * MINUTE
            return replace(
                a_task(number),
                recurs=Recurs(definition="task_d", plan=plan, at=at, number=counted, before=before),
            )

        old = claimed(a_run(1, 1, 2))
        waits = a_run(2, 2, 2, old.id)
        coming = a_run(3, 2, 4, waits.id)
        found = line(coming, {old.id: old, waits.id: waits}, {old.id, waits.id}, counts=True)
        assert (found.number, found.runs_before) == (4, 2)

    def test_a_run_that_expired_while_it_waited_counts(self, service):
        definition, _ = self.queued_of_six(service, waiting_runs=2)
        second, *_ = sorted(waiting(service, definition), key=lambda each: each.planned_at)
        expired = transitions.expire(second, now=service.clock.now(), why="too late")
        service.tasks.commit([expired])
        paused_and_resumed(service, definition)
        assert service.definitions.get(definition.id).runs_before == 2

    def test_runs_before_one_that_was_missed_count(self, service, change):
        """Nothing is left of the links to the runs that are over."""
        definition = service.planned("* * * * *", max_runs=5, catch_up=CatchUp.NONE)
        for _ in range(3):
            (run,) = waiting(service, definition)
            over = transitions.succeed(begun(service, run), now=service.clock.now(), why="http 200")
            service.tasks.commit([over])
        (run,) = waiting(service, definition)
        service.clock.move(20 * MINUTE)
        late = followed(service, run, at=service.clock.now())
        service.tasks.add(late.rows)
        service.tasks.commit([late.instead])
        change(service, definition)
        assert service.definitions.get(definition.id).runs_before == 3


class TestPreview:
    def shown(self, service, definition, *, first=None, count=10):
        definition = service.definitions.get(definition.id)
        runs, now = service.definition_changer.chain.newest(definition), service.clock.now()
        found = preview_of(definition, runs=runs, first=first, count=count, now=now)
        return [each.at for each in found]

    def test_has_only_the_runs_that_are_left(self, service):
        definition = service.planned("* * * * *", max_runs=5, overlap=Overlap.ALLOW)
        for _ in range(3):
            (run,) = waiting(service, definition)
            begun(service, run)
        now = service.clock.now()
        assert self.shown(service, definition) == [now + MINUTE, now + 2 * MINUTE]
        later = now + timedelta(days=1)
        assert self.shown(service, definition, first=later, count=1) == [later]

    def test_ignores_a_pause(self, service):
        definition = service.planned("* * * * *")
        service.definition_changer.pause("demo", definition.id, reason=None)
        assert self.shown(service, definition, count=1) == [service.clock.now()]

    @pytest.mark.parametrize("state", [State.FINISHED, State.CANCELLED])
    def test_is_empty_for_a_task_that_is_over(self, service, state):
        definition = service.planned("* * * * *")
        service.definitions._kept[definition.id] = replace(definition, state=state)
        assert self.shown(service, definition) == []

    def test_begins_with_the_run_to_come(self, service):
        definition = service.planned("* * * * *", jitter_seconds=59)
        (run,) = waiting(service, definition)
        service.clock.sleep_until(run.recurs.at + SECOND)
        assert run.due_at > service.clock.now()
        assert self.shown(service, definition, count=1) == [run.due_at]

    def test_leaves_out_a_run_that_more_jitter_would_move_behind_now(self, service):
        definition = service.planned("0 * * * *", jitter_seconds=10)
        (run,) = waiting(service, definition)
        begun(service, run)
        edit(service, definition, '{"jitter_seconds": 3000}')
        assert self.shown(service, definition, count=1) == [first_of(service, definition).due_at]


def test_jitter_hides_no_run_to_come(service):
    """The run's planned instant has passed, and with jitter it is not due yet."""
    definition = service.planned("* * * * *", jitter_seconds=59)
    (first,) = waiting(service, definition)
    assert first.due_at - first.recurs.at > SECOND
    service.clock.sleep_until(first.recurs.at + SECOND / 2)
    edit(service, definition, '{"name": "other"}')
    assert service.tasks.get(first.id).state is RunState.CANCELLED
