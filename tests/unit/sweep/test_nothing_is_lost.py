"""Each item that is written into a minute is called, at whatever time and with any clock within the margin."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from functions.api.tasks.checks.places import PlaceCheck
from functions.api.tasks.one_time.change import TaskChanger
from functions.api.tasks.one_time.order import TaskOrder
from functions.api.tasks.one_time.register import TaskRegistrar
from postdate.domain import instants, transitions
from postdate.domain.due import Due, Via
from postdate.domain.sweeping import Stage
from postdate.domain.task import Payload, Template
from postdate.domain.transitions import Failure, Transition
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.idempotency import Reservation
from postdate.stores.idempotency_memory import MemoryReservations
from postdate.stores.payloads import MemoryPayloads
from tests.unit.doubles import (
    HOOK,
    MINUTE,
    PLAN,
    SECOND,
    START,
    STEADY,
    ManualClock,
    ScriptedQueue,
    a_task,
    claimed,
    unique,
)
from tests.unit.sweep.conftest import Sweeping

MINUTE_DUE = instants.minute_of(START)
OPEN_AT = START - 110 * SECOND
CLOSE_AT = START + 2 * MINUTE
KEPT = timedelta(days=30)


def seconds(first, last):
    return st.integers(first * 1000, last * 1000).map(lambda count: timedelta(milliseconds=count))


WRITES = {
    "writes_after": seconds(-200, 169),
    "takes": seconds(0, 30),
    "skew": seconds(-29, 29),
    "due_after": seconds(0, 59),
}


class Race:
    """A writer beside the sweeper. Times are the sweeper's; the writer's clock is ahead of it by `skew`.

    He decides `writes_after` the open pass began, and `takes` so long until the write is in the table.
    """

    def __init__(self, *, writes_after, takes, skew, due_after):
        self.sweeping = Sweeping(shards_per_group=4)
        self.sweeping.clock.move(OPEN_AT - START)
        self.clock = ManualClock(OPEN_AT + writes_after + skew)
        self.queue = ScriptedQueue(self.clock)
        self.due_at = max(START + due_after, self.clock.now())
        self.takes, self.written_at = takes, OPEN_AT + writes_after + takes
        if self.written_at <= OPEN_AT:
            self.before_open, self.before_write = lambda: None, self._writing
        else:
            self.before_write = lambda: (self._open(), self._writing())

    def _open(self):
        self.sweeping.sweep(MINUTE_DUE, Stage.OPEN, at=OPEN_AT)

    def _writing(self):
        self.clock.move(self.takes)
        if self.written_at > CLOSE_AT:
            self._close()

    def _close(self):
        self.sweeping.sweep(MINUTE_DUE, Stage.CLOSE, at=CLOSE_AT)

    def ends(self):
        if self.written_at <= OPEN_AT:
            self._open()
        self._close()

    @property
    def use_cases(self):
        return {
            "tasks": self.sweeping.tasks,
            "payloads": MemoryPayloads(),
            "queue": self.queue,
            "horizon": self.sweeping.horizon,
            "payload_kept": KEPT,
            "clock": self.clock,
            "unique": lambda: unique(1),
        }

    def register(self):
        return self._registered(MemoryReservations(), None)

    def take_up(self):
        """Continues a write into this minute that another process began long before."""
        reservations, id = MemoryReservations(), a_task(2, due_at=START).id
        begun = Reservation(
            tenant="demo",
            key="k",
            fingerprint="",
            item_id=id,
            due_at=START,
            created_at=START - 60 * MINUTE,
            keep_until=None,
        )
        reservations.reserve(begun, now=START - 60 * MINUTE)
        return self._registered(reservations, "k")

    def _registered(self, reservations, key):
        self.sweeping.tasks.before["add"].append(self.before_write)
        registrar = TaskRegistrar(reservations=reservations, shards=PLAN, **self.use_cases)
        order = TaskOrder(
            due_at=self.due_at,
            template=Template(destination=HOOK, payload=Payload(text="{}"), retry=STEADY),
            name=None,
            tags=(),
            idempotency_key=key,
            fingerprint="",
        )
        (answer,) = registrar.register("demo", [order])
        return answer.task

    def move(self):
        task = a_task(due_at=START + 60 * MINUTE, now=START - 60 * MINUTE)
        self.sweeping.stores(task)
        self.sweeping.tasks.before["commit"].append(self.before_write)
        changer = TaskChanger(places=PlaceCheck(flow=MemoryFlow(), clock=self.clock), **self.use_cases)
        return changer.edit("demo", task.id, version=None, due_at=self.due_at)

    def sent_by(self, task):
        packets = self.queue.packets + self.sweeping.queue.packets
        return {packet.via for packet in packets if Due.of(task) in packet.dues}


def in_the_minute(race):
    return instants.minute_of(race.due_at) == MINUTE_DUE


@given(st.fixed_dictionaries(WRITES), st.sampled_from([Race.register, Race.move]))
def test_a_call_is_sent_by_its_writer_or_by_the_open_pass(times, write):
    race = Race(**times)
    if in_the_minute(race):
        task = write(race)
        race.ends()
        assert race.sent_by(task) & {Via.REGISTRATION, Via.SWEEP}


LATEST = {"writes_after": timedelta(0), "takes": timedelta(seconds=30), "skew": timedelta(seconds=-29)}


@given(st.fixed_dictionaries(WRITES), st.sampled_from([Race.register, Race.move]))
@example({**LATEST, "due_after": timedelta(0)}, Race.register)
def test_a_call_that_its_writer_could_not_send_is_sent_by_the_open_or_the_closing_pass(times, write):
    race = Race(**times)
    if in_the_minute(race):
        race.queue.refuses = 1
        task = write(race)
        race.ends()
        assert race.sent_by(task) & {Via.SWEEP, Via.CLOSING}


@given(st.fixed_dictionaries({**WRITES, "writes_after": seconds(-200, 260)}))
@example({**LATEST, "writes_after": timedelta(seconds=198, milliseconds=999), "due_after": timedelta(0)})
@example({**LATEST, "writes_after": timedelta(seconds=202), "due_after": timedelta(0)})
def test_a_task_registered_at_the_last_moment_is_sent_by_the_open_or_the_closing_pass_of_its_minute(times):
    race = Race(**times)
    race.queue.refuses = 1
    task = race.take_up()
    if instants.minute_of(task.due_at) == MINUTE_DUE:
        race.ends()
        assert race.sent_by(task) & {Via.SWEEP, Via.CLOSING}


def test_the_closing_pass_sends_nothing_that_was_written_long_before_the_open_pass():
    race = Race(writes_after=-5 * MINUTE, takes=30 * SECOND, skew=29 * SECOND, due_after=0 * SECOND)
    task = race.register()
    race.ends()
    assert race.sent_by(task) == {Via.SWEEP}


def test_a_retry_whose_call_got_lost_is_found_by_an_audit_however_long_its_task_has_been_failing():
    """A retry that the queue can delay has no pointer in the minute in which it is due, so the task's home is
    audited until the task has ended."""
    sweeping = Sweeping(shards_per_group=4)
    task = a_task(retry=replace(STEADY, max_attempts=20, initial_seconds=900, max_seconds=900))
    sweeping.stores(task)
    for _ in range(5):
        running = claimed(task)
        sweeping.tasks.commit([Transition(before=task, after=running)])
        retry = transitions.fail(running, now=task.due_at, failure=Failure(why="http 500"), draw=0.0)
        sweeping.tasks.commit([retry])
        task = retry.after
    assert task.due_at == START + 75 * MINUTE
    found = [sweeping.sweep(MINUTE_DUE, Stage.AUDIT, at=START + at * MINUTE) for at in (61, 71, 81, 91)]
    assert (found, calls(sweeping)) == ([0, 0, 0, 1], [Due.of(task)])


def calls(sweeping):
    return [due for packet in sweeping.queue.packets for due in packet.dues]
