from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.tasks.recurring.order import RegisteredDefinition
from postdate.domain import instants
from postdate.domain.definition import HOME_MINUTE, State, is_definition
from postdate.domain.due import Due, Via
from postdate.domain.errors import (
    DestinationNotAllowed,
    IdempotencyKeyReused,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.following import WRITTEN_WITHIN
from postdate.domain.task import Ack, Payload
from postdate.domain.task import State as RunState
from postdate.stores.tasks import Written
from tests.following import follow
from tests.unit.api.conftest import recurring_order
from tests.unit.doubles import HOOK, MINUTE, SECOND, START

LARGE = '"' + "x" * 1000 + '"'
HOUR = START + 55 * MINUTE


def crash():
    raise KeyboardInterrupt


def test_a_definition_lives_in_the_first_of_all_minutes_and_its_first_run_in_its_own(service):
    definition = service.planned()
    (run,) = service.runs_of(definition)
    assert is_definition(definition.id)
    assert (definition.home.minute, run.home.minute) == (HOME_MINUTE, instants.minute_of(HOUR))
    assert (definition.state, definition.version, definition.created_at) == (State.ACTIVE, 1, START)
    assert (run.due_at, run.recurs.number, run.recurs.plan) == (HOUR, 1, definition.plan)
    assert service.definitions.get(definition.id) == definition


def test_a_run_has_the_call_of_the_request(service):
    definition = service.planned(
        ack=Ack.EXPLICIT, timeout_seconds=7, expires_after=5 * MINUTE, name="n", tags=("a",)
    )
    (run,) = service.runs_of(definition)
    assert (run.ack, run.timeout_seconds, run.expires_at) == (Ack.EXPLICIT, 7, HOUR + 5 * MINUTE)
    assert (run.destination, run.payload.text, run.name, run.tags) == (HOOK, "{}", "n", ("a",))


def test_jitter_belongs_to_the_definition(service):
    dues = {service.runs_of(service.planned(jitter_seconds=600))[0].due_at for _ in range(20)}
    assert len(dues) > 10
    assert all(HOUR <= due <= HOUR + 600 * SECOND for due in dues)


def test_a_first_run_whose_minute_may_be_open_is_called(service):
    definition = service.planned("* * * * *")
    (run,) = service.runs_of(definition)
    ((packet, _),) = service.queue.sent
    assert (packet.via, packet.dues) == (Via.REGISTRATION, (Due.of(run),))


def test_a_first_run_beyond_the_horizon_is_left_to_the_sweep(service):
    service.planned()
    assert service.queue.sent == []


def test_a_first_run_is_written_before_its_definition(service):
    seen = []
    service.definitions.before["add"].append(lambda: seen.extend(service.tasks._tasks))
    (run,) = service.runs_of(service.planned())
    assert seen == [run.id]


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"end_at": HOUR - SECOND}, "end_at"),
        ({"end_at": START - MINUTE}, "end_at"),
    ],
)
def test_a_plan_without_a_run_is_refused_and_leaves_nothing(service, plan, field):
    with pytest.raises(ValidationFailed) as refused:
        service.plan(**plan, idempotency_key="k")
    assert [name for name, _ in refused.value.fields] == [field]
    assert service.tasks._tasks == {}
    assert service.reservations.find("demo", "k") is None


def test_a_payload_that_fits_no_run_has_a_row_of_its_own(service):
    definition = service.planned(payload=Payload(text=LARGE))
    (run,) = service.runs_of(definition)
    assert run.payload.text is None
    assert service.payloads.get(run.payload.key) == LARGE
    assert service.definitions.get(definition.id).template.payload == run.payload
    assert service.payloads.kept_until[run.payload.key] > START + timedelta(days=365 * 100)


@pytest.mark.parametrize("lost", ["run", "definition"])
def test_a_plan_that_cannot_be_written_is_unavailable_and_not_called(service, lost):
    if lost == "run":
        service.tasks.unavailable.default_factory = lambda: 1
    else:
        service.definitions.before["add"].append(lambda: Written.UNAVAILABLE)
    with pytest.raises(Unavailable):
        service.plan("* * * * *")
    assert service.queue.sent == []


class TestKeys:
    def test_the_same_key_gives_the_same_answer(self, service):
        first = service.plan(idempotency_key="k")
        service.clock.move(2 * MINUTE)
        second = service.plan(idempotency_key="k")
        assert second == RegisteredDefinition(definition=first.definition, replayed=True)
        assert len(service.runs_of(first.definition)) == 1

    def test_another_request_with_the_key_is_refused(self, service):
        service.plan(idempotency_key="k")
        with pytest.raises(IdempotencyKeyReused):
            service.plan(idempotency_key="k", fingerprint="another")

    def test_a_repeated_request_that_would_be_refused_now_is_answered_as_before(self, service):
        first = service.plan(idempotency_key="k", end_at=HOUR + MINUTE)
        service.clock.move(3 * 60 * MINUTE)
        no = DestinationNotAllowed()
        again = service.plan(idempotency_key="k", end_at=HOUR + MINUTE, refusal=no)
        assert again == replace(first, replayed=True)

    def test_a_replay_changes_nothing_about_one_that_has_gone_on(self, service):
        first = service.planned(idempotency_key="k")
        paused = service.definition_changer.pause("demo", first.id, reason=None)
        assert service.plan(idempotency_key="k").definition == first
        assert service.definitions.get(first.id) == paused
        assert len(service.runs_of(first)) == 1

    @pytest.mark.parametrize("step", ["run", "definition"])
    @pytest.mark.parametrize("later", [SECOND, 59 * SECOND])
    def test_a_crash_is_repaired_by_the_callers_retry_with_the_same_id(self, service, step, later):
        where = service.tasks if step == "run" else service.definitions
        where.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.plan("*/5 * * * *", idempotency_key="k")
        id = service.reservations.find("demo", "k").item_id
        service.clock.move(later)
        definition = service.planned("*/5 * * * *", idempotency_key="k")
        assert (definition.id, definition.created_at) == (id, START)
        plan = service.definitions.get(id).plan
        (run,) = [run for run in service.runs_of(definition) if run.recurs.plan == plan]
        assert (run.due_at, run.recurs.definition) == (START + 5 * MINUTE, id)

    def test_a_retry_long_after_plans_anew_under_the_same_id(self, service):
        service.definitions.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.plan(idempotency_key="k")
        (early,) = service.tasks._tasks.values()
        service.clock.sleep_until(early.due_at + WRITTEN_WITHIN)
        voided = follow(service.runs, early, None, now=service.clock.now()).instead
        service.tasks.commit([voided])
        service.clock.sleep_until(START + 2 * 60 * MINUTE)
        definition = service.planned(idempotency_key="k")
        (run,) = service.runs_of(definition, state=RunState.PENDING)
        assert (definition.created_at, run.due_at) == (service.clock.now(), HOUR + 120 * MINUTE)
        assert definition.id == early.recurs.definition

    def test_of_two_that_are_under_way_at_once_one_is_written_and_both_tell_of_it(self, service):
        answers = []

        def other():
            service.clock.move(2 * MINUTE)
            answers.append(service.planned(idempotency_key="k"))

        service.definitions.before["add"].append(other)
        answers.append(service.planned(idempotency_key="k"))
        answers.append(service.planned(idempotency_key="k"))
        assert answers == [answers[0]] * 3
        assert answers[0].created_at == START + 2 * MINUTE
        assert service.definitions.get(answers[0].id) == answers[0]
        assert [run.state for run in service.runs_of(answers[0])].count(RunState.PENDING) == 1

    @pytest.mark.parametrize("later", [SECOND, 70 * SECOND])
    def test_a_run_that_an_earlier_try_left_behind_begins_no_chain(self, service, later):
        """The run's instant may come before that of the definition's own first run, and its call may be late."""
        service.definitions.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.plan("* * * * *", idempotency_key="k")
        (left,) = service.tasks._tasks.values()
        service.clock.move(later)
        definition = service.planned("* * * * *", idempotency_key="k")
        stored = service.definitions.get(definition.id)
        void = follow(service.runs, left, stored, now=left.due_at + 2 * MINUTE).instead
        assert (void.after.state, void.after.history[-1].why) == (
            RunState.CANCELLED,
            "its task was changed since",
        )
        (run,) = [run for run in service.runs_of(definition, state=RunState.PENDING) if run.id != left.id]
        assert follow(service.runs, run, stored, now=run.due_at).instead is None


class TestBatches:
    def test_one_that_is_refused_spoils_no_other(self, service):
        bad = recurring_order(end_at=START)
        answers = service.planner.register(
            "demo", [recurring_order(name="a"), bad, recurring_order(name="b")]
        )
        assert [getattr(answer, "code", None) for answer in answers] == [None, "validation_failed", None]
        assert [answers[0].definition.name, answers[2].definition.name] == ["a", "b"]

    def test_one_key_twice_in_a_batch_is_one_task(self, service):
        answers = service.planner.register("demo", [recurring_order(idempotency_key="k")] * 2)
        assert len({answer.definition.id for answer in answers}) == 1
        assert len(service.runs_of(answers[0].definition)) == 1
