"""A run begins only when the one after it is written and called; whatever happens, there is one to come."""

from dataclasses import replace
from datetime import datetime
from typing import ClassVar

import pytest

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Overlap, Reached
from postdate.domain.due import Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.following import QUEUE_POLL, WRITTEN_WITHIN
from postdate.domain.schedule import Schedule
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from postdate.stores.tasks import Written
from postdate.targets.base import Delivered, Failed
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, a_task, claimed, in_state, message
from tests.unit.run_tasks.plans import RUNS, a_definition, after, run_at_start

ALWAYS = 99
FAR = "*/5 * * * *"


def refuse(*_):
    raise Unavailable


class Crash(BaseException):
    pass


def crash(*_):
    raise Crash


def planned(running, definition, **fields):
    """The definition and its run that is due now, both stored."""
    running.definitions.add(definition)
    run = replace(run_at_start(definition), **fields)
    running.stores(run)
    return run


def started(running):
    return [delivery.run_id for _, delivery in running.target.started]


def runs_of(running, definition):
    ids = running.tasks.runs_listed("demo", definition.id, after="", limit=5000)
    return sorted(running.tasks.get_many(ids).values(), key=lambda run: run.planned_at)


def states(running, definition):
    return [run.state for run in runs_of(running, definition)]


@pytest.mark.parametrize(("takes", "called"), [(MINUTE, False), (3 * MINUTE, True)])
def test_a_next_run_that_is_written_when_its_minute_may_be_open_is_called_at_once(running, takes, called):
    definition = a_definition(cron=FAR)
    run = planned(running, definition)
    running.tasks.before["add"].append(lambda: running.clock.move(takes))
    running.run(message(run))
    following = after(run, definition)
    assert running.tasks.get(following.id).state is State.PENDING
    assert [due.id for _, due, _ in running.sent] == [following.id] * called


def test_the_next_run_is_there_and_called_before_a_run_begins(running):
    definition = a_definition()
    run = planned(running, definition)
    seen = []

    def looks(delivery, report):
        seen.append((running.tasks.get(after(run, definition).id), list(running.sent)))
        report(delivery, Delivered())

    running.target.script[run.id].append(looks)
    tally = running.run(message(run))
    ((following, sent),) = seen
    assert following == after(run, definition)
    assert sent == [(Via.REGISTRATION, Due.of(following), 58 * SECOND + SECOND)]
    assert (tally.succeeded, states(running, definition)) == (1, [State.SUCCEEDED, State.PENDING])


def test_a_run_further_ahead_than_any_sweep_has_opened_is_left_to_the_sweep(running):
    definition = a_definition(cron=FAR)
    running.run(message(planned(running, definition)))
    assert states(running, definition) == [State.SUCCEEDED, State.PENDING]
    assert running.queue.sent == []


def test_the_destination_is_told_the_run_and_the_task(running):
    definition = a_definition()
    run = planned(running, definition)
    running.run(message(run))
    ((_, delivery),) = running.target.started
    assert (delivery.run_id, delivery.task_id, delivery.planned_at) == (run.id, definition.id, START)


def test_a_run_does_not_begin_while_the_next_one_cannot_be_written(running):
    definition = a_definition()
    run = planned(running, definition)
    running.tasks.unavailable[after(run, definition).id] = 4
    tally = running.run(message(run))
    assert (started(running), tally.deferred, tally.failed_messages) == ([], 1, set())
    assert running.stored(run) == run
    running.run(running.arrival())
    assert (started(running), states(running, definition)) == ([run.id], [State.SUCCEEDED, State.PENDING])
    assert running.clock.now() - START < 5 * SECOND


def test_a_next_run_that_is_refused_for_good_keeps_its_message_and_no_other(running):
    odd, fine = a_definition(1), a_definition(2)
    first, second = planned(running, odd), planned(running, fine)
    running.tasks.refused.add(after(first, odd).id)
    tally = running.run(message(first, number=1), message(second, number=2))
    assert (started(running), tally.failed_messages) == ([second.id], {"message-1"})
    assert running.stored(first) == first


def test_a_next_run_whose_answer_was_lost_is_one_run(running):
    definition = a_definition()
    run = planned(running, definition)
    running.tasks.unanswered[after(run, definition).id] = 1
    running.run(message(run))
    assert (started(running), states(running, definition)) == ([run.id], [State.SUCCEEDED, State.PENDING])
    assert {due.id for _, due, _ in running.sent} == {after(run, definition).id}


def test_a_next_run_that_cannot_be_called_at_first_is_called_in_the_same_batch(running):
    definition = a_definition()
    run = planned(running, definition)
    running.queue.refuses = 2
    assert running.run(message(run)).succeeded == 1
    assert [due.id for _, due, _ in running.sent] == [after(run, definition).id]


def test_a_run_does_not_begin_while_the_next_one_cannot_be_called(running):
    definition = a_definition()
    run = planned(running, definition)
    running.queue.refuses = ALWAYS
    assert running.run(message(run)).failed_messages == {"message-1"}
    assert (started(running), running.stored(run)) == ([], run)
    running.queue.refuses = 0
    running.run(message(run, receives=2))
    assert (started(running), states(running, definition)) == ([run.id], [State.SUCCEEDED, State.PENDING])
    assert [due.id for _, due, _ in running.sent] == [after(run, definition).id]


@pytest.mark.parametrize("place", ["definitions", "previous", "add", "send", "commit"])
def test_a_worker_that_dies_before_its_claim_is_followed_by_one_that_does_the_same(running, place):
    definition = a_definition()
    run = planned(running, definition)
    where = {
        "definitions": running.definitions.before["get_many"],
        "previous": running.tasks.before["get_many"],
        "add": running.tasks.before["add"],
        "send": running.queue.before,
        "commit": running.tasks.before["commit"],
    }[place]
    where.extend([lambda: None, crash] if place == "previous" else [crash])
    with pytest.raises(Crash):
        running.run(message(run))
    assert (started(running), running.stored(run)) == ([], run)
    running.run(message(run, receives=2))
    assert (started(running), states(running, definition)) == ([run.id], [State.SUCCEEDED, State.PENDING])
    assert after(run, definition).id in {due.id for _, due, _ in running.sent}


def test_a_definition_that_cannot_be_read_ahead_of_time_is_read_at_the_instant(running):
    run = planned(running, a_definition())
    running.definitions.before["get_many"].append(refuse)
    assert running.run(message(run)).succeeded == 1


@pytest.mark.parametrize("call", ["definitions", "previous"])
def test_a_chain_that_cannot_be_read_holds_up_nobody_else(running, call):
    definition = a_definition()
    run, task = planned(running, definition), a_task()
    running.stores(task)
    reads = running.definitions if call == "definitions" else running.tasks
    reads.before["get_many"].extend([lambda: None, *[refuse] * 4])
    tally = running.run(message(run, task))
    assert (started(running), tally.deferred) == ([task.id], 1)
    running.run(running.arrival())
    assert started(running) == [task.id, run.id]


def test_a_task_is_not_late_because_of_a_run_that_others_follow(running):
    definition = a_definition()
    run, task = planned(running, definition), a_task()
    running.stores(task)
    running.tasks.before["add"].append(lambda: running.clock.move(SECOND))
    running.run(message(run, task))
    assert [(delivery.run_id, at) for at, delivery in running.target.started] == [
        (task.id, START),
        (run.id, START + SECOND),
    ]


def test_a_runs_history_says_when_it_was_really_begun(running):
    run = planned(running, a_definition())
    running.tasks.before["add"].append(lambda: running.clock.move(SECOND))
    tally = running.run(message(run))
    assert (running.stored(run).lateness_ms, tally.lateness_ms) == (1000, [1000])


def test_nothing_is_asked_for_tasks_that_run_once(running):
    tasks = [a_task(number) for number in range(3)]
    running.stores(*tasks)
    assert running.run(message(*tasks)).succeeded == 3
    assert running.definitions.asked == 0


def test_for_runs_that_no_other_follows_one_question_a_batch_is_asked(running):
    definition = a_definition()
    running.definitions.add(definition)
    runs = [triggered(definition, name) for name in "abc"]
    running.stores(*runs)
    assert running.run(message(*runs)).succeeded == 3
    assert running.definitions.asked == 1


def test_the_runs_of_a_batch_are_followed_with_one_question_ahead_of_time_and_one_at_their_instant(running):
    plans = [a_definition(number) for number in range(5)]
    runs = [planned(running, definition) for definition in plans]
    assert running.run(message(*runs)).succeeded == 5
    assert running.definitions.asked == 2


def test_a_run_asked_for_by_hand_runs_while_its_task_is_paused_and_leads_to_none(running):
    definition = a_definition()
    running.definitions.add(definitions.pause(definition, now=START, reached=Reached(runs=0), reason=None))
    asked = triggered(definition)
    running.stores(asked)
    running.run(message(asked))
    assert states(running, definition) == [State.SUCCEEDED]


def test_a_retry_of_a_run_leads_to_nothing_more(running):
    definition = a_definition(cron=FAR)
    run = planned(running, definition)
    running.target.script[run.id].append(Failed(reason="http 500"))
    running.run(message(run))
    asked = running.definitions.asked
    running.run(running.arrival())
    assert (running.stored(run).state, running.stored(run).attempts) == (State.SUCCEEDED, 2)
    assert running.definitions.asked == asked + 1
    assert states(running, definition) == [State.SUCCEEDED, State.PENDING]


def test_a_call_delivered_twice_makes_one_run_and_one_to_come(running):
    definition = a_definition()
    run = planned(running, definition)
    running.run(message(run, number=1), message(run, number=2))
    running.run(message(run, number=3))
    assert (started(running), states(running, definition)) == ([run.id], [State.SUCCEEDED, State.PENDING])


def test_a_run_that_somebody_else_began_meanwhile_is_left_to_him(running):
    definition = a_definition()
    run = planned(running, definition)
    running.tasks.before["commit"].append(lambda: running.run(message(run, number=2), holder="worker-2"))
    tally = running.run(message(run))
    assert (started(running), tally.dropped) == ([run.id], 1)
    assert states(running, definition) == [State.SUCCEEDED, State.PENDING]


def test_a_worker_that_stood_still_while_another_ran_its_run_writes_nothing_after_it(running):
    """By his clock it was missed, and the one after it would be the first."""
    definition = a_definition(max_runs=1, catch_up=CatchUp.NONE)
    run = planned(running, definition)

    def meanwhile():
        running.run(message(run, number=2), holder="worker-2")
        running.clock.sleep_until(running.clock.now() + 2 * MINUTE)

    running.definitions.before["get_many"] += [lambda: None, meanwhile]
    tally = running.run(message(run))
    assert (started(running), tally.dropped) == ([run.id], 1)
    assert states(running, definition) == [State.SUCCEEDED]


def test_a_run_of_a_paused_task_is_skipped_with_the_reason(running):
    definition = a_definition()
    run = planned(running, definition)
    paused = definitions.pause(definition, now=START, reached=Reached(runs=0), reason="release")
    assert running.definitions.change(definition, paused) is Written.DONE
    tally = running.run(message(run))
    assert (started(running), running.stored(run).history[-1].why) == ([], "paused: release")
    assert (tally.kept_back[State.SKIPPED], states(running, definition)) == (1, [State.SKIPPED])
    assert running.queue.sent == running.dead_letters.sent == []


def test_a_task_that_is_paused_while_its_run_waits_for_the_instant_is_not_run(running):
    definition = a_definition()
    run = planned(running, definition)
    running.clock.move(-2 * SECOND)
    paused = definitions.pause(definition, now=START, reached=Reached(runs=0), reason=None)
    changes = [lambda: None, lambda: running.definitions.change(definition, paused)]
    running.definitions.before["get_many"].extend(changes)
    running.run(message(run))
    assert (started(running), running.stored(run).state) == ([], State.SKIPPED)


@pytest.mark.parametrize("gone", [False, True])
def test_a_run_of_a_plan_that_was_changed_since_or_is_gone_is_void(running, gone):
    definition = a_definition()
    run = planned(running, definition)
    if gone:
        running.definitions._kept.clear()
        running.clock.move(WRITTEN_WITHIN)
    else:
        changed = definitions.change(definition, now=START, reached=Reached(runs=0))
        running.definitions.change(definition, changed)
    tally = running.run(message(run))
    assert (started(running), states(running, definition)) == ([], [State.CANCELLED])
    assert tally.kept_back[State.CANCELLED] == 1


def test_a_definition_that_only_newer_code_can_read_is_not_gone(running):
    odd, fine = a_definition(1), a_definition(2)
    first, second = planned(running, odd), planned(running, fine)
    running.definitions.unreadable.add(odd.id)
    tally = running.run(message(first, number=1), message(second, number=2))
    assert (started(running), tally.failed_messages) == ([second.id], {"message-1"})
    assert running.stored(first) == first


@pytest.mark.parametrize("which", ["the run before it", "a run due since"])
def test_a_run_does_not_begin_while_newer_code_alone_can_read_a_run_that_decides(running, which):
    odd, other = a_definition(1), a_task(2)
    first = planned(running, odd)
    second = after(first, odd)
    running.stores(other)
    if which == "the run before it":
        running.tasks.unreadable.add(first.id)
        running.stores(second)
        running.clock.move(MINUTE)
    else:
        running.tasks.unreadable.add(second.id)
        running.clock.move(3 * MINUTE)
        second = first
    tally = running.run(message(second, number=1), message(other, number=2))
    assert (started(running), tally.failed_messages) == ([other.id], {"message-1"})
    assert running.stored(second) == second


class TestCancelled:
    """No attempt begins of a run whose task was cancelled, whatever the run waits for."""

    @pytest.fixture(params=["a retry", "triggered", "triggered, and a retry", "postponed"])
    def waits(self, running, request):
        definition = a_definition()
        running.definitions.add(definition)
        planned_run, asked = run_at_start(definition), triggered(definition)
        run = {
            "a retry": in_state(State.RETRYING, planned_run),
            "triggered": asked,
            "triggered, and a retry": in_state(State.RETRYING, asked),
            "postponed": replace(planned_run, due_at=START + MINUTE),
        }[request.param]
        running.stores(run)
        running.clock.move(run.due_at - START)
        return run

    def test_a_waiting_run_of_a_cancelled_task_ends_with_the_reason(self, running, waits):
        cancel(running, waits)
        tally = running.run(message(waits))
        ended = running.stored(waits)
        assert (started(running), ended.state) == ([], State.CANCELLED)
        assert (ended.history[-1].why, ended.finished_at) == ("its task was cancelled", running.clock.now())
        assert (tally.kept_back[State.CANCELLED], tally.failed_messages) == (1, set())
        assert running.queue.sent == running.dead_letters.sent == []

    def test_a_waiting_run_begins_if_its_task_is_there(self, running, waits):
        assert running.run(message(waits)).succeeded == 1

    def test_a_waiting_run_whose_task_is_gone_ends_with_that_reason(self, running, waits):
        running.definitions._kept.clear()
        running.run(message(waits))
        assert (started(running), running.stored(waits).history[-1].why) == ([], "its task is gone")

    def test_while_nobody_can_say_nothing_begins_and_nothing_ends(self, running, waits):
        running.definitions.before["get_many"].extend([refuse] * 5)
        assert running.run(message(waits)).deferred == 1
        assert (started(running), running.stored(waits)) == ([], waits)
        running.definitions.before["get_many"].clear()
        running.run(running.arrival())
        assert started(running) == [waits.id]

    def test_a_task_that_only_newer_code_can_read_was_not_cancelled(self, running, waits):
        running.definitions.unreadable.add(waits.task_id)
        assert running.run(message(waits)).failed_messages == {"message-1"}
        assert (started(running), running.stored(waits)) == ([], waits)

    def test_it_holds_up_nobody_else(self, running, waits):
        cancel(running, waits)
        task = a_task(due_at=waits.due_at)
        running.stores(task)
        assert running.run(message(waits, task)).succeeded == 1

    def test_an_attempt_that_has_begun_ends_as_it_ends(self, running):
        run = planned(running, a_definition(cron=FAR))
        running.target.script[run.id].append(
            lambda delivery, report: (cancel(running, run), report(delivery, Delivered()))
        )
        running.run(message(run))
        assert running.stored(run).state is State.SUCCEEDED

    def test_an_attempt_that_fails_is_not_followed_by_another(self, running):
        run = planned(running, a_definition(cron=FAR))
        running.target.script[run.id].append(
            lambda delivery, report: (cancel(running, run), report(delivery, Failed(reason="http 500")))
        )
        running.run(message(run))
        assert running.stored(run).state is State.RETRYING
        running.run(running.arrival())
        ended = running.stored(run)
        assert (started(running), ended.state, ended.error) == ([run.id], State.CANCELLED, "http 500")
        assert running.queue.sent == []

    def test_an_attempt_whose_worker_died_is_not_followed_by_another(self, running):
        run = planned(running, a_definition(cron=FAR))
        running.tasks.commit([Transition(before=run, after=claimed(run))])
        cancel(running, run)
        running.clock.move(LEASE)
        tally = running.run(message(run, receives=2))
        dead = running.stored(run)
        assert (started(running), dead.state, tally.dead) == ([], State.DEAD, 1)
        assert dead.error == "its worker died, and its task was cancelled"
        assert running.letters == [Due.of(dead)]

    def test_a_lease_that_was_made_longer_meanwhile_keeps_its_worker(self, running):
        run = planned(running, a_definition(cron=FAR))
        running.tasks.commit([Transition(before=run, after=claimed(run))])
        cancel(running, run)
        running.clock.move(LEASE)
        alive = running.stored(run)
        running.definitions.before["get_many"].append(
            lambda: running.tasks.extend([alive], running.clock.now() + LEASE)
        )
        running.run(message(run, receives=2))
        assert running.stored(run).state is State.RUNNING

    def test_a_dead_run_of_a_cancelled_task_is_not_revived(self, running):
        definition = a_definition()
        running.definitions.add(definition)
        dead = in_state(State.DEAD, triggered(definition))
        running.stores(dead)
        cancel(running, dead)
        running.clock.move(MINUTE)
        tally = running.run(message(dead))
        assert (started(running), tally.dropped, running.stored(dead)) == ([], 1, dead)

    def test_a_begun_run_is_tried_again_although_its_task_was_changed(self, running):
        definition = a_definition()
        running.definitions.add(definition)
        run = in_state(State.RETRYING, run_at_start(definition))
        running.stores(run)
        changed = definitions.change(definition, now=START, reached=Reached(runs=0))
        running.definitions.change(definition, changed)
        running.clock.move(run.due_at - START)
        assert running.run(message(run)).succeeded == 1


def triggered(definition, name="1"):
    return RUNS.out_of_turn(definition, name=name, due_at=START, now=START - SECOND, why="triggered")


def cancel(running, run):
    definition = running.definitions.get(run.task_id)
    cancelled = definitions.cancel(definition, now=running.clock.now())
    assert running.definitions.change(definition, cancelled) is Written.DONE


def busy_before(running, overlap):
    """The run that is due now, and the one before it that is not over."""
    definition = a_definition(overlap=overlap)
    first = RUNS.first(definition, now=START - 2 * MINUTE)
    running.definitions.add(definition)
    run = after(first, definition)
    running.stores(busy := claimed(first), run)
    return definition, busy, run


def test_a_run_whose_previous_one_is_not_over_is_skipped_and_the_chain_goes_on(running):
    definition, _, run = busy_before(running, Overlap.SKIP)
    tally = running.run(message(run))
    assert started(running) == []
    assert states(running, definition) == [State.RUNNING, State.SKIPPED, State.PENDING]
    assert tally.kept_back[State.SKIPPED] == 1


def test_a_run_may_begin_beside_the_previous_one_if_its_task_says_so(running):
    definition, _, run = busy_before(running, Overlap.ALLOW)
    running.run(message(run))
    assert states(running, definition) == [State.RUNNING, State.SUCCEEDED, State.PENDING]


def test_a_queued_run_is_called_again_until_the_previous_one_is_over(running):
    definition, busy, run = busy_before(running, Overlap.QUEUE)
    tally = running.run(message(run))
    waiting = running.stored(run)
    assert (waiting.state, waiting.due_at, tally.kept_back[State.PENDING]) == (
        State.PENDING,
        START + QUEUE_POLL,
        1,
    )
    *_, (via, due, delay) = running.sent
    assert (via, due, delay) == (Via.SWEEP, Due.of(waiting), 4 * SECOND)
    assert states(running, definition) == [State.RUNNING, State.PENDING, State.PENDING]

    running.queue.take()
    running.clock.sleep_until(waiting.due_at)
    running.run(message(Due.of(waiting), seen=True))
    over = transitions.succeed(busy, now=running.clock.now(), why="http 200")
    assert running.tasks.commit([over]) == [Written.DONE]
    running.run(running.arrival())
    assert started(running) == [run.id]
    assert states(running, definition) == [State.SUCCEEDED, State.SUCCEEDED, State.PENDING]


def test_the_call_of_a_queued_run_that_got_lost_is_sent_by_the_message_that_comes_back(running):
    _, _, run = busy_before(running, Overlap.QUEUE)
    running.queue.before.extend([lambda: None, refuse])
    assert running.run(message(run)).failed_messages == {"message-1"}
    waiting = running.stored(run)
    assert waiting.due_at == START + QUEUE_POLL
    running.queue.take()
    running.run(message(run, receives=2))
    assert [due for _, due, _ in running.sent] == [Due.of(waiting)]


def test_the_last_run_finishes_its_task(running):
    definition = a_definition(max_runs=1)
    run = planned(running, definition)
    seen = []

    def looks(delivery, report):
        seen.append(running.definitions.get(definition.id).state)
        report(delivery, Delivered())

    running.target.script[run.id].append(looks)
    running.run(message(run))
    assert seen == [definitions.State.ACTIVE]
    assert running.definitions.get(definition.id).state is definitions.State.FINISHED
    assert states(running, definition) == [State.SUCCEEDED]


def test_a_task_that_was_changed_meanwhile_is_not_finished(running):
    definition = a_definition(max_runs=1)
    run = planned(running, definition)
    changed = definitions.change(definition, now=START, reached=Reached(runs=1))
    running.definitions.before["change"].append(
        lambda: running.definitions._kept.update({run.task_id: changed})
    )
    assert running.run(message(run)).succeeded == 1
    assert running.definitions.get(definition.id) == changed


def test_a_last_run_that_another_worker_began_finishes_nothing_here(running):
    definition = a_definition(max_runs=1)
    run = planned(running, definition)
    running.tasks.unavailable[run.id] = ALWAYS
    running.run(message(run))
    assert running.definitions.get(definition.id) == definition


@pytest.mark.parametrize(
    ("policy", "begun"), [(CatchUp.ALL, [0, 1, 2, 3]), (CatchUp.LATEST, [3]), (CatchUp.NONE, [])]
)
def test_a_run_that_comes_late_answers_for_those_that_were_due_since(running, policy, begun):
    definition = replace(a_definition(cron=FAR, catch_up=policy), overlap=Overlap.ALLOW)
    run = planned(running, definition)
    running.clock.move(17 * MINUTE)
    tally = running.run(message(run))
    late = {due.id for _, due, _ in running.sent}
    while running.queue.sent:
        packets = running.queue.take()
        running.run(*(message(*packet.dues, number=place) for place, (packet, _) in enumerate(packets)))
    *found, following = runs_of(running, definition)
    assert [run.planned_at for run in found] == [START + place * 5 * MINUTE for place in range(4)]
    expected = [State.SUCCEEDED if place in begun else State.MISSED for place in range(4)]
    assert [run.state for run in found] == expected
    assert (following.state, following.planned_at) == (State.PENDING, START + 20 * MINUTE)
    assert tally.kept_back[State.MISSED] == expected.count(State.MISSED)
    assert late == {found[place].id for place in begun} - {run.id}


def test_runs_to_catch_up_on_that_were_written_by_a_worker_that_died_are_called_by_the_next(running):
    definition = replace(a_definition(cron=FAR, catch_up=CatchUp.LATEST), overlap=Overlap.ALLOW)
    run = planned(running, definition)
    running.clock.move(17 * MINUTE)
    running.queue.before.append(crash)
    with pytest.raises(Crash):
        running.run(message(run))
    running.clock.move(5 * MINUTE)
    running.run(message(run, receives=2))
    assert {due.due_at for _, due, _ in running.sent} >= {START + 15 * MINUTE, START + 20 * MINUTE}


def test_two_runs_of_one_task_in_a_batch_write_what_follows_them_once(running):
    definition = replace(a_definition(catch_up=CatchUp.ALL), overlap=Overlap.ALLOW)
    run = planned(running, definition)
    following = after(run, definition)
    running.stores(following)
    running.clock.move(MINUTE)
    running.run(message(run, number=1), message(following, number=2))
    assert states(running, definition) == [State.SUCCEEDED, State.SUCCEEDED, State.PENDING]


def test_a_run_whose_deadline_has_passed_is_not_delivered_and_the_chain_goes_on(running):
    definition = a_definition(cron=FAR, expires_after=30 * SECOND)
    run = planned(running, definition)
    running.clock.move(31 * SECOND)
    tally = running.run(message(run))
    assert (started(running), states(running, definition)) == ([], [State.EXPIRED, State.PENDING])
    assert (tally.expired, tally.claimed, running.letters) == (1, 0, [])


class Watched(Schedule):
    """Notes each reading of its calendar."""

    readings: ClassVar[list[datetime]] = []

    def walk(self, after):
        self.readings.append(after)
        return super().walk(after)


@pytest.mark.parametrize("late", [0 * MINUTE, 10 * MINUTE], ids=["on time", "ten minutes late"])
def test_a_run_reads_its_calendar_once(running, late):
    plain = a_definition(cron="* * * * *")
    watched = Watched(cron=plain.schedule.cron, definition_id=plain.id)
    run = planned(running, replace(plain, schedule=watched))
    running.clock.move(late)
    Watched.readings.clear()
    running.run(message(run))
    assert len(Watched.readings) == 1
    assert len(runs_of(running, plain)) == 2 + late // MINUTE
