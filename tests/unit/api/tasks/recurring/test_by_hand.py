from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import definition as definitions
from postdate.domain.definition import Reached
from postdate.domain.due import Due, Via
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.slots import unique_part
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from tests.following import follow
from tests.unit.api.conftest import RETENTION
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, claimed, in_state

HOUR = timedelta(hours=1)


def out_of_turn(service, definition):
    return [run for run in service.runs_of(definition) if run.recurs.number == 0]


class TestTriggers:
    def test_a_triggered_run_is_due_now_beside_the_plan(self, service):
        definition = service.planned()
        run = service.by_hand.trigger(definition, key=None).run
        assert (run.due_at, run.recurs.number, run.history[0].why) == (START, 0, "triggered")
        assert [packet.dues for packet in service.queue.packets] == [(Due.of(run),)]
        assert len(service.runs_of(definition)) == 2
        assert service.definitions.get(definition.id) == definition

    def test_without_a_key_each_is_a_run_of_its_own(self, service):
        definition = service.planned()
        first, second = (service.by_hand.trigger(definition, key=None).run for _ in range(2))
        assert first.id != second.id

    @pytest.mark.parametrize("later", [0 * SECOND, 70 * SECOND, 3 * HOUR])
    def test_with_a_key_it_is_one_however_often_it_is_asked_for(self, service, later):
        definition = service.planned()
        first = service.by_hand.trigger(definition, key="k")
        begun = claimed(first.run)
        service.tasks.commit([Transition(before=first.run, after=begun)])
        service.clock.move(later)
        again = service.by_hand.trigger(definition, key="k")
        assert (first.replayed, again.replayed) == (False, True)
        assert again.run == begun
        assert out_of_turn(service, definition) == [begun]
        assert service.queue.ids == [first.run.id]

    @pytest.mark.parametrize("later", [20 * SECOND, 10 * MINUTE])
    @pytest.mark.parametrize("call", ["add", "queue"])
    def test_a_trigger_that_crashed_halfway_is_finished_by_the_callers_retry(self, service, call, later):
        definition = service.planned()
        (service.queue.before if call == "queue" else service.tasks.before["add"]).append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.by_hand.trigger(definition, key="k")
        service.clock.move(later)
        service.queue.refuses = 1
        again = service.by_hand.trigger(definition, key="k").run
        assert out_of_turn(service, definition) == [again]
        now = service.clock.now()
        minute = PLAN.slot(now, unique_part(again.id))
        assert [entry.due for entry in service.tasks.due_in(minute)] == [Due.of(again)]
        assert again.due_at <= now

    def test_a_run_whose_deadline_passed_since_its_first_request_died_ends_expired(self, service):
        definition = service.planned(expires_after=MINUTE)
        service.queue.before.append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.by_hand.trigger(definition, key="k")
        service.clock.move(10 * MINUTE)
        again = service.by_hand.trigger(definition, key="k").run
        assert (again.state, again.due_at) == (State.EXPIRED, START)
        assert out_of_turn(service, definition) == [again]
        assert service.queue.ids == []

    def test_of_two_that_are_under_way_at_once_one_is_written_and_both_tell_of_it(self, service):
        definition, runs = service.planned(), []

        def other():
            service.clock.move(2 * MINUTE)
            runs.append(service.by_hand.trigger(definition, key="k").run)

        service.tasks.before["add"].append(other)
        runs.append(service.by_hand.trigger(definition, key="k").run)
        assert runs == [runs[0]] * 2
        assert out_of_turn(service, definition) == [runs[0]]
        assert runs[0].due_at == START + 2 * MINUTE
        slot = PLAN.slot(runs[0].due_at, unique_part(runs[0].id))
        assert Due.of(runs[0]) in [entry.due for entry in service.tasks.due_in(slot)]

    def test_a_key_belongs_to_its_task(self, service):
        first, second = service.planned(), service.planned()
        runs = [service.by_hand.trigger(each, key="k").run for each in (first, second)]
        assert [run.task_id for run in runs] == [first.id, second.id]

    def test_a_paused_task_can_be_triggered_and_a_cancelled_one_cannot(self, service):
        definition = service.planned()
        paused = service.definition_changer.pause("demo", definition.id, reason=None)
        run = service.by_hand.trigger(paused, key=None).run
        assert follow(service.runs, run, paused, now=START).instead is None
        cancelled = service.definition_changer.cancel("demo", definition.id, version=None)
        with pytest.raises(InvalidState):
            service.by_hand.trigger(cancelled, key=None)

    def test_a_trigger_that_could_not_be_written_is_unavailable(self, service):
        definition = service.planned()
        service.tasks.unavailable.default_factory = lambda: 1
        with pytest.raises(Unavailable):
            service.by_hand.trigger(definition, key=None)


def crash():
    raise KeyboardInterrupt


class TestTheFinished:
    """A definition is kept until every run that was made by hand has ended."""

    @pytest.mark.parametrize("past", [False, True])
    def test_a_task_can_be_run_by_hand_for_some_time_after_its_end(self, service, past):
        definition = definitions.finish(service.planned(), now=service.clock.now(), reached=Reached(runs=1))
        service.clock.move(RETENTION if past else RETENTION - SECOND)
        asked = [
            lambda: service.by_hand.trigger(definition, key=None),
            lambda: service.backfills.ask(definition, first=START, last=START + MINUTE, key=None),
        ]
        for ask in asked:
            if past:
                with pytest.raises(InvalidState, match="35 days"):
                    ask()
            else:
                ask()
        assert bool(service.queue.sent) is not past


class TestTheDead:
    def test_the_call_of_a_dead_task_is_that_of_its_dead_letter(self, service):
        dead = in_state(State.DEAD)
        service.by_hand.redrive(dead)
        (packet,) = service.queue.packets
        assert (packet.via, packet.dues, packet.seen) == (Via.DEAD, (Due.of(dead),), False)

    @pytest.mark.parametrize("state", [state for state in State if state is not State.DEAD])
    def test_nothing_else_is_tried_again(self, service, state):
        with pytest.raises(InvalidState) as refused:
            service.by_hand.redrive(in_state(state))
        assert refused.value.state == state
        assert service.queue.sent == []

    def test_a_dead_task_past_its_deadline_is_not_redriven(self, service):
        dead = replace(in_state(State.DEAD), expires_at=service.clock.now())
        with pytest.raises(InvalidState, match="deadline"):
            service.by_hand.redrive(dead)
        assert service.queue.sent == []
        service.by_hand.redrive(replace(dead, expires_at=dead.expires_at + MINUTE))
        assert service.queue.ids == [dead.id]

    def test_a_dead_run_is_tried_again_while_its_task_stands(self, service):
        definition = service.planned()
        dead = in_state(State.DEAD, service.by_hand.trigger(definition, key=None).run)
        service.queue.take()
        service.by_hand.redrive(dead)
        assert service.queue.ids == [dead.id]

    @pytest.mark.parametrize("gone", [False, True])
    def test_no_run_of_a_cancelled_task_is_tried_again(self, service, gone):
        definition = service.planned()
        dead = in_state(State.DEAD, service.by_hand.trigger(definition, key=None).run)
        service.definition_changer.cancel("demo", definition.id, version=None)
        if gone:
            service.definitions._kept.clear()
        service.queue.take()
        with pytest.raises(InvalidState) as refused:
            service.by_hand.redrive(dead)
        assert (refused.value.state, service.queue.sent) == ("DEAD", [])

    def test_a_call_that_cannot_be_sent_is_told(self, service):
        service.queue.refuses = 1
        with pytest.raises(Unavailable):
            service.by_hand.redrive(in_state(State.DEAD))
