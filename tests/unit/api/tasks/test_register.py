import pytest

from functions.api.tasks.register import KEY_KEPT, Registered
from postdate.domain import instants
from postdate.domain.due import Due, Via
from postdate.domain.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.task import Payload, State
from tests.unit.api.conftest import FAR, KEPT, order
from tests.unit.doubles import MINUTE, SECOND, START

LARGE = '"' + "x" * 1000 + '"'
SOON = START + 5 * SECOND


def crash():
    raise KeyboardInterrupt


def test_a_task_is_stored_at_home_in_the_minute_it_is_due(service):
    task = service.registered()
    assert service.tasks.get(task.id) == task
    assert (task.tenant, task.state, task.due_at, task.created_at) == ("demo", State.PENDING, FAR, START)
    assert task.home.minute == instants.minute_of(FAR)


def test_two_orders_without_a_key_are_two_tasks(service):
    assert service.registered().id != service.registered().id


@pytest.mark.parametrize("ahead", [0 * SECOND, 5 * SECOND, 3 * MINUTE - SECOND])
def test_a_task_whose_minute_may_be_open_is_called_by_its_registrar(service, ahead):
    task = service.registered(due_at=START + ahead)
    ((packet, delay),) = service.queue.sent
    assert (packet.tenant, packet.via, packet.dues) == ("demo", Via.REGISTRATION, (Due.of(task),))
    assert delay == max(ahead - SECOND, 0 * SECOND)


def test_a_task_beyond_the_horizon_is_left_to_the_sweep(service):
    service.registered(due_at=START + 3 * MINUTE)
    assert service.queue.sent == []


def test_a_call_that_cannot_be_sent_does_not_take_back_what_is_written(service):
    service.queue.refuses = 1
    task = service.registered(due_at=SOON)
    assert service.tasks.get(task.id) == task


def test_a_payload_that_fits_stays_in_the_tasks_row(service):
    task = service.registered(payload="[1]")
    assert service.tasks.get(task.id).payload == Payload(text="[1]")
    assert service.payloads.kept_until == {}


def test_a_large_payload_has_a_row_of_its_own_that_outlives_the_task(service):
    answer = service.registered(payload=LARGE)
    stored = service.tasks.get(answer.id)
    assert (stored.payload.text, service.payload_of(answer)) == (None, LARGE)
    assert service.payloads.kept_until == {stored.payload.key: FAR + KEPT}
    assert answer.payload.text == LARGE


def test_a_large_payload_is_written_before_the_task_that_names_it(service):
    seen = []
    service.tasks.before["add"].append(lambda: seen.extend(service.payloads.kept_until))
    service.registered(payload=LARGE)
    assert len(seen) == 1


def test_a_task_that_could_not_be_written_is_not_called(service):
    service.tasks.unavailable.default_factory = lambda: 1
    with pytest.raises(Unavailable):
        service.register(due_at=SOON)
    assert service.queue.sent == []


class TestKeys:
    def test_the_same_key_and_body_give_the_same_answer(self, service):
        first = service.register(idempotency_key="k", due_at=START + 300 * SECOND)
        service.clock.move(7 * SECOND)
        second = service.register(idempotency_key="k", due_at=START + 307 * SECOND)
        assert (first.replayed, second.replayed) == (False, True)
        for same in ("id", "version", "state", "planned_at", "due_at", "created_at", "payload", "history"):
            assert getattr(second.task, same) == getattr(first.task, same)
        assert service.tasks.listed("demo", after="", limit=10) == [first.task.id]

    def test_a_replay_changes_nothing_about_a_task_that_has_gone_on(self, service):
        first = service.registered(idempotency_key="k")
        cancelled = service.changer.cancel("demo", first.id, version=None)
        replayed = service.register(idempotency_key="k")
        assert (replayed.task.state, replayed.task.version) == (State.PENDING, 1)
        assert service.tasks.get(first.id) == cancelled

    def test_the_same_key_with_another_body_is_refused_and_writes_nothing(self, service):
        service.register(idempotency_key="k", fingerprint="one")
        with pytest.raises(IdempotencyKeyReused):
            service.register(idempotency_key="k", fingerprint="another")
        assert len(service.tasks.listed("demo", after="", limit=10)) == 1

    def test_a_key_is_its_tenants_own(self, service):
        ours = service.registered(idempotency_key="k", fingerprint="one")
        (theirs,) = service.registrar.register("other", [order(idempotency_key="k", fingerprint="two")])
        assert isinstance(theirs, Registered)
        assert (theirs.task.tenant, theirs.replayed) == ("other", False)
        assert theirs.task.id != ours.id

    def test_a_key_is_free_again_when_it_was_kept_long_enough(self, service):
        first = service.registered(idempotency_key="k")
        service.clock.move(KEY_KEPT)
        assert service.register(idempotency_key="k").task.id == first.id
        service.clock.move(SECOND)
        again = service.register(idempotency_key="k", due_at=service.clock.now(), fingerprint="another")
        assert (again.replayed, again.task.id == first.id) == (False, False)

    def test_a_crash_between_key_and_task_is_repaired_by_the_callers_retry(self, service):
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k", due_at=SOON)
        service.clock.move(SECOND)
        retried = service.registered(idempotency_key="k", due_at=SOON + SECOND)
        stored = service.tasks.get(retried.id)
        assert (retried.due_at, retried.created_at) == (SOON, START)
        assert [packet.dues for packet in service.queue.packets] == [(Due.of(stored),)]
        assert service.tasks.listed("demo", after="", limit=10) == [retried.id]

    def test_what_a_retry_writes_is_written_now_for_the_closing_pass(self, service):
        """A key reserved long before the open pass must not make its task look opened."""
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k")
        service.clock.sleep_until(FAR)
        service.queue.refuses = 1
        retried = service.registered(idempotency_key="k")
        assert service.tasks.get(retried.id).moved_at == FAR

    def test_a_large_payload_survives_such_a_crash(self, service):
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k", payload=LARGE)
        assert service.payload_of(service.registered(idempotency_key="k", payload=LARGE)) == LARGE

    def test_a_retry_after_the_minute_of_the_first_try_gets_a_new_slot(self, service):
        service.tasks.unavailable.default_factory = lambda: 1
        with pytest.raises(Unavailable):
            service.register(idempotency_key="k", due_at=SOON)
        service.tasks.unavailable.default_factory = int
        service.clock.move(5 * MINUTE)
        now = service.clock.now()
        answer = service.register(idempotency_key="k", due_at=now)
        assert (answer.replayed, answer.task.due_at) == (False, now)
        assert answer.task.home.holds(now)
        assert service.register(idempotency_key="k", due_at=now).task.id == answer.task.id

    def test_a_retry_does_not_take_the_slot_from_a_first_try_that_may_still_be_under_way(self, service):
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k", due_at=SOON)
        given_up = START + MINUTE + 30 * SECOND
        service.clock.sleep_until(given_up)
        assert service.register(idempotency_key="k", due_at=given_up).task.due_at == SOON

    def test_of_two_such_retries_one_wins_and_the_other_is_told_to_come_back(self, service):
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k", due_at=SOON)
        service.clock.move(5 * MINUTE)
        first = []
        service.tasks.before["get"].append(
            lambda: first.append(service.registered(idempotency_key="k", due_at=FAR))
        )
        with pytest.raises(IdempotencyInProgress):
            service.register(idempotency_key="k", due_at=FAR)
        assert service.tasks.listed("demo", after="", limit=10) == [first[0].id]

    def test_a_task_that_was_written_is_replayed_however_late_the_retry(self, service):
        first = service.registered(idempotency_key="k", due_at=SOON)
        service.clock.move(60 * MINUTE)
        again = service.register(idempotency_key="k", due_at=service.clock.now())
        assert (again.replayed, again.task.id) == (True, first.id)

    def test_a_key_table_that_fails_leaves_no_task(self, service):
        def refuse(*_, **__):
            raise Unavailable

        service.reservations.reserve = refuse
        with pytest.raises(Unavailable):
            service.register(idempotency_key="k")
        assert service.tasks.listed("demo", after="", limit=10) == []


class TestRefusals:
    """What speaks against an order now counts only if it was not answered before."""

    PAST = ValidationFailed([("run_at", "is in the past")])

    @pytest.mark.parametrize("key", [None, "k"])
    def test_a_new_order_that_is_refused_leaves_neither_task_nor_key(self, service, key):
        with pytest.raises(ValidationFailed):
            service.register(refusal=self.PAST, idempotency_key=key)
        assert service.tasks.listed("demo", after="", limit=10) == []
        assert service.reservations.find("demo", "k") is None

    def test_an_order_that_was_answered_is_answered_again_though_it_would_be_refused_now(self, service):
        first = service.registered(idempotency_key="k", due_at=SOON)
        service.clock.move(60 * MINUTE)
        again = service.register(idempotency_key="k", due_at=service.clock.now(), refusal=self.PAST)
        assert (again.replayed, again.task.id, again.task.due_at) == (True, first.id, SOON)

    def test_another_order_with_its_key_is_told_so_and_not_answered(self, service):
        service.register(idempotency_key="k", fingerprint="one")
        with pytest.raises(IdempotencyKeyReused):
            service.register(idempotency_key="k", fingerprint="another", refusal=self.PAST)

    def test_an_order_whose_key_was_reserved_and_no_more_is_refused(self, service):
        service.tasks.before["add"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            service.register(idempotency_key="k", due_at=SOON)
        service.clock.move(60 * MINUTE)
        with pytest.raises(ValidationFailed):
            service.register(idempotency_key="k", due_at=service.clock.now(), refusal=self.PAST)

    def test_a_refused_order_spoils_no_other(self, service):
        answers = service.registrar.register("demo", [order(), order(refusal=self.PAST)])
        assert [type(answer) for answer in answers] == [Registered, ValidationFailed]


class TestBatches:
    def test_answers_come_in_the_order_of_their_orders(self, service):
        orders = [order(due_at=START + number * SECOND, name=str(number)) for number in range(100)]
        answers = service.registrar.register("demo", orders)
        assert [answer.task.name for answer in answers] == [str(number) for number in range(100)]
        assert sorted(service.queue.ids) == sorted(answer.task.id for answer in answers)

    def test_one_that_is_refused_spoils_no_other(self, service):
        service.register(idempotency_key="used", fingerprint="one")
        bad = order(idempotency_key="used", fingerprint="another")
        answers = service.registrar.register("demo", [order(name="a"), bad, order(name="b")])
        assert [type(answer) for answer in answers] == [Registered, IdempotencyKeyReused, Registered]
        assert [answers[0].task.name, answers[2].task.name] == ["a", "b"]

    def test_one_that_cannot_be_written_spoils_no_other(self, service):
        first = service.registered(idempotency_key="k", due_at=SOON)
        service.queue.take()
        service.tasks.unavailable[first.id] = 1
        orders = [order(due_at=SOON), order(due_at=SOON, idempotency_key="k")]
        fine, lost = service.registrar.register("demo", orders)
        assert isinstance(lost, Unavailable)
        assert service.queue.ids == [fine.task.id]

    def test_one_key_twice_in_a_batch_is_one_task(self, service):
        answers = service.registrar.register("demo", [order(idempotency_key="k")] * 2)
        assert len({answer.task.id for answer in answers}) == 1
        assert sorted(answer.replayed for answer in answers) == [False, True]
        assert len(service.tasks.listed("demo", after="", limit=10)) == 1
