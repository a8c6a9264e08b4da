"""Doubles for the tests of the rules: a clock that moves only on request, stores and queues that fail on request,
a scripted target, and tasks and payments in one line."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Timer
from typing import Any

from postdate.domain import money, payment, settlement, task_requests, transitions, verdicts
from postdate.domain.account import Account
from postdate.domain.definition import Definition
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.item import Item
from postdate.domain.payment import Funding, Payment, Terms
from postdate.domain.posting import Leg, Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND, Destination, Payload, State, Task, Template
from postdate.domain.transitions import Failure, Transition
from postdate.runtime.further import Took
from postdate.runtime.queue import MemoryQueue, Received
from postdate.stores.archive import MemoryArchive
from postdate.stores.definitions_memory import MemoryDefinitions
from postdate.stores.ledger import Posted, PostingAnswer
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Written
from postdate.stores.tasks_memory import MemoryTasks
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report

START = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
LEASE = timedelta(seconds=40)
PLAN = ShardPlan.parse("0=4")
HOOK = Destination(type="webhook", address="https://hooks.example.com/a")
STEADY = RetryPolicy(max_attempts=3, initial_seconds=10, jitter=False)


class ManualClock:
    """Moves when told, and for who sleeps until an instant, to that instant. Whoever sleeps on and on without getting
    anywhere would do so for ever."""

    SLEEPS_IN_VAIN = 1000

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self._in_vain = 0

    def now(self) -> datetime:
        return self._now

    def sleep_until(self, instant: datetime) -> None:
        self._in_vain = 0 if instant > self._now else self._in_vain + 1
        if self._in_vain > self.SLEEPS_IN_VAIN:
            raise AssertionError(f"somebody sleeps until {instant} again and again, and it is {self._now}")
        self._now = max(self._now, instant)

    def move(self, by: timedelta) -> None:
        self._now += by


class Scripted:
    """The steps in `before[call]` happen before that call, one each time; a step may raise, or answer in the
    call's place."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.before: defaultdict[str, deque[Callable[[], Any]]] = defaultdict(deque)

    def _happens(self, call: str) -> Any:
        return self.before[call].popleft()() if self.before[call] else None


class ScriptedArchive(Scripted, MemoryArchive):
    """`asked` are the keys that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def put(self, key: str, content: bytes) -> bool:
        self._happens("put")
        return super().put(key, content)

    def get(self, key: str) -> bytes | None:
        self.asked.append(key)
        self._happens("get")
        return super().get(key)


class ScriptedTasks(Scripted, MemoryTasks):
    """`unavailable` and `unanswered` name tasks whose next writes are not made, or made without telling; what is
    `refused` is never written. Rows of `unreadable` tasks exist, and this code cannot read them.
    """

    def __init__(self, *, shards: ShardPlan = PLAN) -> None:
        super().__init__(shards=shards)
        self.unavailable: defaultdict[str, int] = defaultdict(int)
        self.unanswered: defaultdict[str, int] = defaultdict(int)
        self.refused: set[str] = set()
        self.unreadable: set[str] = set()
        self.leases_given: list[datetime] = []

    def get(self, id: str) -> Task | None:
        self._happens("get")
        return super().get(id)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Task]:
        self._happens("get_many")
        wanted = set(ids)
        found = super().get_many(wanted - self.unreadable)
        found.unreadable |= wanted & self.unreadable
        return found

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        self._happens("add")
        return super().add(tasks)

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        self._happens("commit")
        return super().commit(transitions)

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        self._happens("extend")
        given = super().extend(tasks, until)
        self.leases_given += [until for done in given if done is Written.DONE]
        return given

    def _extend(self, task: Task, until: datetime) -> Written:
        return self._written(task.id, lambda: super(ScriptedTasks, self)._extend(task, until))

    def _insert(self, task: Task) -> Written:
        return self._written(task.id, lambda: super(ScriptedTasks, self)._insert(task))

    def _change(self, transition: Transition) -> Written:
        return self._written(transition.before.id, lambda: super(ScriptedTasks, self)._change(transition))

    def _written(self, id: str, write: Callable[[], Written]) -> Written:
        if id in self.refused:
            return Written.REFUSED
        if self.unavailable[id]:
            self.unavailable[id] -= 1
            return Written.UNAVAILABLE
        done = write()
        if self.unanswered[id]:
            self.unanswered[id] -= 1
            return Written.UNAVAILABLE
        return done


class ScriptedDefinitions(Scripted, MemoryDefinitions):
    """Rows in `unreadable` exist and cannot be read. `asked` counts the calls for several."""

    def __init__(self, *, tasks: MemoryTasks) -> None:
        super().__init__(tasks=tasks)
        self.unreadable: set[str] = set()
        self.asked = 0

    def get(self, id: str) -> Definition | None:
        self._happens("get")
        if id in self.unreadable:
            raise Unavailable
        return super().get(id)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Definition]:
        self.asked += 1
        self._happens("get_many")
        wanted = set(ids)
        found = super().get_many(wanted - self.unreadable)
        found.unreadable |= wanted & self.unreadable
        return found

    def add(self, definition: Definition) -> Written:
        return self._happens("add") or super().add(definition)

    def change(self, before: Definition, after: Definition, ended: Transition | None = None) -> Written:
        return self._happens("change") or super().change(before, after, ended)


class ScriptedLedger(Scripted, MemoryLedger):
    """`unavailable` and `unanswered` name payments whose next postings are not made, or made without telling; what is
    `refused` is never written. `posted` are the calls of `post`, each with its postings; `packed` tells which
    of them let strangers go together.
    """

    def __init__(self, *, shards: ShardPlan = PLAN) -> None:
        super().__init__(shards=shards)
        self.unavailable: defaultdict[str, int] = defaultdict(int)
        self.unanswered: defaultdict[str, int] = defaultdict(int)
        self.refused: set[str] = set()
        self.posted: list[list[Posting]] = []
        self.packed: list[bool] = []

    def payment(self, id: str) -> Payment | None:
        self._happens("payment")
        return super().payment(id)

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        self._happens("payments")
        return super().payments(ids)

    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
        self._happens("post")
        self.posted.append(list(postings))
        self.packed.append(together)
        return super().post(postings, together=together)

    def opens(self, *names: str, available: int = 1_000, tenant: str = "demo") -> None:
        for name in names:
            assert self.open(an_account(name, available=available, tenant=tenant))

    def loses(self, name: str, *, tenant: str = "demo") -> None:
        """An account vanishes, as none does in life."""
        del self._accounts[tenant, name]

    def keeps(self, *payments: Payment) -> None:
        """Stores them as they are, with what they hold."""
        answers = super().post([_kept(each) for each in payments])
        assert {posted.answer for posted in answers} == {PostingAnswer.DONE}

    def _post(self, posting: Posting) -> Posted:
        id = "" if posting.after is None else posting.after.id
        if id in self.refused:
            return Posted(answer=PostingAnswer.REFUSED)
        if self.unavailable[id]:
            self.unavailable[id] -= 1
            return Posted(answer=PostingAnswer.UNAVAILABLE)
        posted = super()._post(posting)
        if self.unanswered[id]:
            self.unanswered[id] -= 1
            return Posted(answer=PostingAnswer.UNAVAILABLE)
        return posted


def _kept(payment: Payment) -> Posting:
    legs = (Leg(account=payment.payer, available=-payment.held, reserved=payment.held),)
    return Posting(
        tenant=payment.tenant, at=payment.created_at, after=payment, legs=legs if payment.held else ()
    )


class ScriptedQueue(MemoryQueue):
    """Refuses as many sends as told; what stands in `before` happens first, one thing each time."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.refuses = 0
        self.before: deque[Callable[[], object]] = deque()

    @property
    def packets(self) -> list[Packet]:
        return [packet for packet, _ in self.sent]

    @property
    def ids(self) -> list[str]:
        return [due.id for packet in self.packets for due in packet.dues]

    def send(self, packets: Iterable[Packet]) -> None:
        if self.before:
            self.before.popleft()()
        if self.refuses:
            self.refuses -= 1
            raise Unavailable("the queue takes nothing now")
        super().send(packets)

    def take(self) -> list[tuple[Packet, timedelta]]:
        taken, self.sent = self.sent, []
        return taken


class ScriptedFurther:
    """Gives what lies in `lies` to whoever asks, one batch at a time, and notes what is deleted. A question is answered
    in another thread and after some real time, as the queue's is; when nothing lies there, a second has passed."""

    ANSWERS_AFTER_SECONDS = 0.01

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.lies: deque[list[Received]] = deque()
        self.asked: list[timedelta] = []
        self.deleted: list[str] = []

    def ask(self, took: Took, visible_after: timedelta) -> None:
        self.asked.append(visible_after)
        Timer(self.ANSWERS_AFTER_SECONDS, self._answer, (took,)).start()

    def _answer(self, took: Took) -> None:
        if not self.lies:
            self._clock.move(SECOND)
        took(self.lies.popleft() if self.lies else [])

    def delete(self, messages: Iterable[Received]) -> None:
        self.deleted += [message.message_id for message in messages]


class ScriptedTarget:
    """Answers on the spot: with what the script says for a run's next attempt, else that it took it.

    A callable of a script is told of the delivery and how to report it, and reports when it likes. If nobody does, as
    when a rule under test is broken, the delivery fails after some real seconds instead of keeping the test for ever.
    """

    FORGOTTEN_AFTER_SECONDS = 5.0

    def __init__(self, clock: ManualClock) -> None:
        self.script: defaultdict[str, deque[Receipt | Callable[[Delivery, Report], object]]] = defaultdict(
            deque
        )
        self.started: list[tuple[datetime, Delivery]] = []
        self._clock = clock
        self._forgotten: list[Timer] = []

    def close(self) -> None:
        for timer in self._forgotten:
            timer.cancel()

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        for delivery in deliveries:
            self.started.append((self._clock.now(), delivery))
            script = self.script[delivery.run_id]
            step = script.popleft() if script else Delivered(http_status=200)
            if callable(step):
                self._forget(delivery, report)
                step(delivery, report)
            else:
                report(delivery, step)

    def _forget(self, delivery: Delivery, report: Report) -> None:
        failed = Failed(reason="nobody ended it")
        timer = Timer(self.FORGOTTEN_AFTER_SECONDS, report, (delivery, failed))
        timer.daemon = True
        timer.start()
        self._forgotten.append(timer)


def unique(number: int) -> bytes:
    return number.to_bytes(UNIQUE_BYTES)


def a_task(
    number: int = 1,
    *,
    due_at: datetime = START,
    now: datetime = START - 10 * MINUTE,
    tenant: str = "demo",
    payload: Payload | None = None,
    retry: RetryPolicy = STEADY,
    **fields: Any,
) -> Task:
    """A task as it is just after its registration, living in the minute it is due."""
    task = task_requests.register(
        id=item_id(KIND, PLAN.slot(due_at, unique(number)), unique(number)),
        tenant=tenant,
        due_at=due_at,
        now=now,
        template=Template(destination=HOOK, payload=payload or Payload(text="{}"), retry=retry),
    )
    return replace(task, **fields)


def claimed(task: Task, *, now: datetime | None = None, holder: str = "worker-0") -> Task:
    verdict = verdicts.claim(
        task,
        Due.of(task),
        now=now or task.due_at,
        lease=LEASE,
        holder=holder,
        repeated=False,
        why="sweep",
    )
    assert isinstance(verdict, Transition)
    return verdict.after


def in_state(state: State, task: Task | None = None) -> Task:
    """The task in this state, brought there by the events of a usual life, ten seconds after it was due."""
    waiting = task or a_task()
    running, now = claimed(waiting), waiting.due_at + 10 * SECOND
    match state:
        case State.PENDING:
            return waiting
        case State.RUNNING:
            return running
        case State.SUCCEEDED:
            return transitions.succeed(running, now=now, why="http 200").after
        case State.RETRYING:
            return transitions.fail(running, now=now, failure=Failure(why="http 500"), draw=0.0).after
        case State.DEAD:
            failure = Failure(why="http 410", final=True)
            return transitions.fail(running, now=now, failure=failure, draw=0.0).after
        case State.CANCELLED:
            cancelled = task_requests.cancel(waiting, now=now)
            assert cancelled is not None
            return cancelled.after
        case State.EXPIRED:
            return transitions.expire(waiting, now=now).after
        case State.SKIPPED:
            return transitions.skip(waiting, now=now, why="paused").after
        case State.MISSED:
            return transitions.miss(waiting, now=now, why="too late").after


def an_account(
    id: str = "alice", *, available: int = 1_000, tenant: str = "demo", now: datetime = START - 10 * MINUTE
) -> Account:
    return Account(id=id, tenant=tenant, available=available, created_at=now, updated_at=now)


def a_registration(
    number: int = 1,
    *,
    due_at: datetime = START,
    now: datetime = START - 10 * MINUTE,
    tenant: str = "demo",
    payer: str = "alice",
    payee: str = "bob",
    amount: int = 100,
    funding: Funding = Funding.RESERVE,
) -> Posting:
    return money.register(
        Terms(payer=payer, payee=payee, amount=amount, funding=funding),
        id=item_id(payment.KIND, PLAN.slot(due_at, unique(number)), unique(number)),
        tenant=tenant,
        due_at=due_at,
        now=now,
    )


def a_payment(number: int = 1, **fields: Any) -> Payment:
    """A payment as it is just after its registration, living in the minute it is due."""
    return _after(a_registration(number, **fields))


def stumbled(given: Payment, *, now: datetime | None = None, retry: RetryPolicy = STEADY) -> Payment:
    return _after(
        settlement.stumble(
            given, now=now or given.due_at, why="the ledger did not answer", retry=retry, draw=0.5
        )
    )


def parked(given: Payment | None = None) -> Payment:
    """Left to a person after as many attempts as there may be, each begun when it was due."""
    tried = given or a_payment()
    for _ in range(STEADY.max_attempts):
        tried = stumbled(tried)
    return tried


def payment_in(state: payment.State, given: Payment | None = None) -> Payment:
    """The payment in this state, brought there by the events of a usual life, ten seconds after it was due."""
    waiting = given or a_payment()
    now = waiting.due_at + 10 * SECOND
    match state:
        case payment.State.PENDING:
            return waiting
        case payment.State.EXECUTING:
            return stumbled(waiting)
        case payment.State.COMPLETED:
            return _after(settlement.settle(waiting, now=now))
        case payment.State.FAILED:
            return _after(
                settlement.fail(waiting, now=now, code="account_frozen", why="the account is frozen")
            )
        case payment.State.CANCELLED:
            cancelled = money.cancel(waiting, now=now)
            assert cancelled is not None
            return _after(cancelled)


def _after(posting: Posting) -> Payment:
    assert posting.after is not None
    return posting.after


def message(
    *dues: Due | Item,
    number: int = 1,
    receives: int = 1,
    via: Via = Via.SWEEP,
    tenant: str = "demo",
    seen: bool = False,
    by: str = "",
) -> Received:
    """A packet as the queue hands it over for the nth time."""
    calls = tuple(due if isinstance(due, Due) else Due.of(due) for due in dues)
    return Received(
        packet=Packet(tenant=tenant, via=via, dues=calls, seen=seen, by=by),
        message_id=f"message-{number}",
        receipt=f"receipt-{number}-{receives}",
        receives=receives,
    )
