from dataclasses import replace

import pytest

from functions.api.idempotency import KEY_KEPT
from functions.api.tasks.one_time.order import RegisteredTask
from postdate.domain import instants
from postdate.domain.due import Due, Via
from postdate.domain.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.slots import home, unique_part
from postdate.domain.task import Payload, State
from postdate.stores.tasks_memory import MemoryTasks
from tests.listing import ids_listed
from tests.unit.api.conftest import FAR, KEPT, order
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, a_task

LARGE = '"' + "x" * 1000 + '"'
SOON = START + 5 * SECOND


def crash():
    raise KeyboardInterrupt


def crashed(service, **fields):
    service.tasks.before["add"].append(crash)
    with pytest.raises(KeyboardInterrupt):
        service.register(**fields)


def unavailable():
    raise Unavailable


def as_told(task):
    """`moved_at` is told to nobody."""
    return replace(task, moved_at=task.created_at)


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
        assert ids_listed(service.tasks, "demo") == [first.task.id]

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
        assert len(ids_listed(service.tasks, "demo")) == 1

    def test_a_key_is_its_tenants_own(self, service):
        ours = service.registered(idempotency_key="k", fingerprint="one")
        (theirs,) = service.registrar.register("other", [order(idempotency_key="k", fingerprint="two")])
        assert isinstance(theirs, RegisteredTask)
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
        assert ids_listed(service.tasks, "demo") == [retried.id]

    def test_a_task_written_by_a_retry_counts_as_new_for_the_closing_pass(self, service):
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

    def test_a_retry_after_the_minute_of_the_first_try_is_due_later_and_found_there(self, service):
        crashed(service, idempotency_key="k", due_at=SOON)
        kept = service.reservations.find("demo", "k").item_id
        service.clock.move(5 * MINUTE)
        now = service.clock.now()
        answer = service.registered(idempotency_key="k", due_at=now)
        assert (answer.id, answer.due_at, answer.created_at) == (kept, now, now)
        slot = PLAN.slot(now, unique_part(kept))
        assert [(entry.due, entry.moved_at) for entry in service.tasks.due_in(slot)] == [
            (Due.of(answer), now)
        ]
        assert service.queue.ids == [kept]
        assert service.registered(idempotency_key="k", due_at=now) == answer

    def test_a_retry_takes_up_a_first_try_only_while_its_minute_lasts(self, service):
        """After that minute the retry registers anew, so that a closing pass sees its row."""
        crashed(service, idempotency_key="k", due_at=SOON)
        crashed(service, idempotency_key="l", due_at=SOON)
        service.clock.sleep_until(START + MINUTE - SECOND)
        assert service.registered(idempotency_key="k", due_at=FAR).due_at == SOON
        service.clock.move(SECOND)
        assert service.registered(idempotency_key="l", due_at=FAR).due_at == FAR

    @pytest.mark.parametrize("payload", ["{}", LARGE])
    def test_of_two_retries_on_either_side_of_the_minutes_end_one_is_written_and_both_tell_of_it(
        self, service, payload
    ):
        crashed(service, idempotency_key="k", due_at=SOON, payload=payload)
        service.clock.sleep_until(START + MINUTE - SECOND)
        answers = []

        def other():
            service.clock.move(2 * SECOND)
            answers.append(service.registered(idempotency_key="k", due_at=FAR, payload=payload))

        service.tasks.before["add"].append(other)
        answers.append(service.registered(idempotency_key="k", due_at=SOON, payload=payload))
        answers.append(service.registered(idempotency_key="k", due_at=FAR + MINUTE, payload=payload))
        assert ids_listed(service.tasks, "demo") == [answers[0].id]
        assert answers[0].due_at == FAR
        assert [as_told(answer) for answer in answers] == [as_told(answers[0])] * 3
        assert service.payload_of(answers[0]) == payload

    def test_the_older_of_them_may_be_the_one_that_is_written(self, service):
        crashed(service, idempotency_key="k", due_at=SOON)
        service.clock.sleep_until(START + MINUTE)
        slow = a_task(number=1, due_at=SOON, now=START)
        assert slow.id == service.reservations.find("demo", "k").item_id
        service.tasks.before["add"].append(lambda: MemoryTasks.add(service.tasks, [slow]))
        told = service.registered(idempotency_key="k", due_at=FAR)
        assert (told.due_at, told.created_at) == (SOON, START)
        assert service.registered(idempotency_key="k", due_at=FAR).due_at == SOON
        assert set(service.queue.packets[0].dues) == {Due.of(slow)}

    def test_an_earlier_task_that_cannot_be_read_spoils_no_other(self, service):
        service.register(idempotency_key="k")
        service.tasks.before["get_many"].append(unavailable)
        known, new = service.registrar.register("demo", [order(idempotency_key="k"), order()])
        assert isinstance(known, Unavailable)
        assert service.tasks.get(new.task.id) == new.task

    def test_of_two_that_give_it_a_new_instant_one_wins_and_the_other_is_told_to_come_back(self, service):
        crashed(service, idempotency_key="k", due_at=SOON)
        service.clock.move(5 * MINUTE)
        redate, first = service.reservations.redate, []

        def slowly(found, again):
            service.reservations.redate = redate
            first.append(service.registered(idempotency_key="k", due_at=FAR))
            return redate(found, again)

        service.reservations.redate = slowly
        with pytest.raises(IdempotencyInProgress):
            service.register(idempotency_key="k", due_at=FAR + SECOND)
        assert ids_listed(service.tasks, "demo") == [first[0].id]

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
        assert ids_listed(service.tasks, "demo") == []


class TestRefusals:
    """A reason against an order counts only if the order was not answered before."""

    PAST = ValidationFailed([("run_at", "is in the past")])

    @pytest.mark.parametrize("key", [None, "k"])
    def test_a_new_order_that_is_refused_leaves_neither_task_nor_key(self, service, key):
        with pytest.raises(ValidationFailed):
            service.register(refusal=self.PAST, idempotency_key=key)
        assert ids_listed(service.tasks, "demo") == []
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

    def test_an_order_whose_key_was_reserved_and_no_more_is_refused_once_nobody_can_write_it(self, service):
        crashed(service, idempotency_key="k", due_at=SOON)
        service.clock.move(60 * MINUTE)
        with pytest.raises(ValidationFailed):
            service.register(idempotency_key="k", due_at=service.clock.now(), refusal=self.PAST)

    def test_while_a_first_try_may_run_nobody_is_refused_for_good(self, service):
        told = []

        def sibling():
            service.clock.move(30 * SECOND)
            (answer,) = service.registrar.register("demo", [order(idempotency_key="k", refusal=self.PAST)])
            told.append(answer)

        service.tasks.before["add"].append(sibling)
        first = service.registered(idempotency_key="k", due_at=SOON)
        assert [type(each) for each in told] == [IdempotencyInProgress]
        assert as_told(service.registered(idempotency_key="k", refusal=self.PAST)) == as_told(first)

    def test_one_that_is_refused_long_before_it_would_be_due_is_refused_for_good(self, service):
        crashed(service, idempotency_key="k", due_at=FAR)
        service.clock.move(MINUTE - SECOND)
        with pytest.raises(IdempotencyInProgress):
            service.register(idempotency_key="k", refusal=self.PAST)
        service.clock.move(SECOND)
        with pytest.raises(ValidationFailed):
            service.register(idempotency_key="k", refusal=self.PAST)

    def test_a_key_that_is_free_again_answers_for_nothing(self, service):
        service.register(idempotency_key="k", due_at=SOON)
        service.clock.move(KEY_KEPT + SECOND)
        with pytest.raises(ValidationFailed):
            service.register(idempotency_key="k", refusal=self.PAST, fingerprint="another")

    def test_a_refused_order_spoils_no_other(self, service):
        answers = service.registrar.register("demo", [order(), order(refusal=self.PAST)])
        assert [type(answer) for answer in answers] == [RegisteredTask, ValidationFailed]


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
        assert [type(answer) for answer in answers] == [RegisteredTask, IdempotencyKeyReused, RegisteredTask]
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
        assert len(ids_listed(service.tasks, "demo")) == 1


def test_a_spread_task_lies_in_the_minute_of_its_own_instant_and_keeps_it_for_its_key(service):
    first = service.registered(idempotency_key="one", spread_seconds=3600)
    again = service.register(idempotency_key="one", spread_seconds=3600)
    assert FAR < first.due_at < FAR + 60 * MINUTE
    assert (again.replayed, again.task.id, again.task.due_at) == (True, first.id, first.due_at)
    assert service.tasks.get(first.id).planned_at == first.due_at
    assert home(first.id).holds(first.due_at)


def test_spread_tasks_of_one_instant_have_many_instants(service):
    tasks = [service.registered(spread_seconds=60) for _ in range(50)]
    assert len({task.due_at for task in tasks}) > 40
    assert all(FAR <= task.due_at < FAR + MINUTE for task in tasks)
