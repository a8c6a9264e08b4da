"""The API's planner, the state machine and the workers, in one process, on a clock that moves when told."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from functions.api.caller import Caller
from functions.api.operations.find import Finder
from functions.api.operations.plan import Planner
from functions.operate import handler as operate
from functions.operate.carry_out import Conductor
from functions.operate.payment_actor import PaymentActor
from functions.operate.plans import PlanActor
from functions.operate.task_actor import TaskActor
from postdate.domain import transitions, verdicts
from postdate.domain.cron import Cron
from postdate.domain.definition import HOME_MINUTE, Definition
from postdate.domain.definition import State as PlanState
from postdate.domain.due import Due
from postdate.domain.operation import Action, Kind, Operation, OperationRequest, StopRule
from postdate.domain.operation_items import Item
from postdate.domain.operation_pages import Outcome
from postdate.domain.recurrence import Runs
from postdate.domain.schedule import Schedule
from postdate.domain.scopes import OPS
from postdate.domain.slots import Slot, item_id
from postdate.domain.sweeping import Horizon
from postdate.domain.task import KIND, Payload, State, Task, Template
from postdate.domain.transitions import Failure, Transition
from postdate.runtime.author import Author
from postdate.runtime.dead_letters import Letter, MemoryLetters
from postdate.runtime.parameters import NONE, parameters_at
from postdate.stores.operations import MemoryOperations
from postdate.stores.payloads import MemoryPayloads
from postdate.stores.subscriptions import MemorySubscriptions
from postdate.use_cases.plan_changes import DefinitionChanger
from postdate.use_cases.plan_templates import PAYLOAD_KEPT, Templates
from postdate.use_cases.planned_chain import PlannedChain
from tests.integration.world import Context
from tests.machine import Interpreted
from tests.unit.api.swept import healthy
from tests.unit.doubles import (
    HOOK,
    LEASE,
    MINUTE,
    PLAN,
    SECOND,
    START,
    ManualClock,
    ScriptedDefinitions,
    ScriptedLedger,
    ScriptedQueue,
    ScriptedTasks,
    a_task,
    in_state,
    unique,
)


class WorkedClock(ManualClock):
    """Workers do what is due whenever time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: Callable[[], object] = lambda: None

    def sleep_until(self, instant: datetime) -> None:
        super().sleep_until(instant)
        self.workers()


class Service:
    """`broken` tells which tasks' attempts fail; `idle` workers take nothing. `delivered` are (instant, task)."""

    def __init__(self) -> None:
        self.clock = WorkedClock()
        numbers = count(1)
        self.clock.workers = self.work
        self.tasks = ScriptedTasks()
        self.queue = ScriptedQueue(self.clock)
        self.ledger = ScriptedLedger()
        self.rewritten = ScriptedQueue(self.clock)
        self.payment_queue = ScriptedQueue(self.clock)
        self.letters, self.payment_letters = MemoryLetters(), MemoryLetters()
        self.operations = MemoryOperations()
        self.subscriptions = MemorySubscriptions()
        self.broken: Callable[[Task], bool] = lambda task: False
        self.idle = False
        self.delivered: list[tuple[datetime, str]] = []
        self.machine = Interpreted(name="operation", calls={"Operate": self.operate}, clock=self.clock)
        self.definitions = ScriptedDefinitions(tasks=self.tasks)
        runs = Runs(shards=PLAN)
        self.changer = DefinitionChanger(
            definitions=self.definitions,
            chain=PlannedChain(tasks=self.tasks, runs=runs),
            templates=Templates(
                tasks=self.tasks,
                payloads=MemoryPayloads(),
                runs=runs,
                payload_kept=PAYLOAD_KEPT,
                unique=lambda: unique(next(numbers)),
            ),
            queue=self.queue,
            horizon=Horizon(lead=2 * MINUTE, margin=MINUTE),
            clock=self.clock,
            unique=lambda: unique(next(numbers)),
        )
        self.planner = Planner(
            operations=self.operations,
            tasks=self.tasks,
            ledger=self.ledger,
            finder=Finder(
                tasks=self.tasks,
                definitions=self.definitions,
                ledger=self.ledger,
                unfinished=healthy(self.clock),
                clock=self.clock,
            ),
            definitions=self.definitions,
            subscriptions=self.subscriptions,
            shards=PLAN,
            machine=self.machine,
            clock=self.clock,
            unique=lambda: unique(next(numbers)),
        )
        self.parameters = parameters_at(NONE, clock=self.clock)
        self.conductor = Conductor(
            operations=self.operations,
            actors={
                Kind.TASKS: TaskActor(
                    tasks=self.tasks,
                    queue=self.queue,
                    letters=self.letters,
                    dead_letters=self.rewritten,
                ),
                Kind.PAYMENTS: PaymentActor(
                    ledger=self.ledger, queue=self.payment_queue, letters=self.payment_letters
                ),
                Kind.PLANS: PlanActor(definitions=self.definitions, changer=self.changer, author=Author()),
            },
            clock=self.clock,
            works_for=10 * SECOND,
            rate_max=lambda: self.parameters.values.operating.items_a_second_max,
        )

    def dead(self, count: int, *, first: int = 1_000) -> list[Task]:
        tasks = [in_state(State.DEAD, a_task(first + number)) for number in range(count)]
        self.tasks.add(tasks)
        return tasks

    def recurring(self, number: int = 1, state: PlanState = PlanState.ACTIVE, **fields: Any) -> Definition:
        """A plan with its run to come."""
        drawn = unique(number)
        id = item_id(KIND, Slot(minute=HOME_MINUTE, shard=0), drawn)
        definition = Definition(
            id=id,
            tenant="demo",
            state=state,
            version=1,
            plan=1,
            schedule=Schedule.checked(cron=Cron.parse("0 * * * *"), definition_id=id),
            template=Template(destination=HOOK, payload=Payload(text="{}")),
            created_at=self.clock.now(),
            changed_at=self.clock.now(),
            **fields,
        )
        self.definitions.add(definition)
        if state is PlanState.ACTIVE:
            self.changer.chain.begin(definition, now=self.clock.now())
        return definition

    def plan(self, tasks: Sequence[Item], **asked: Any) -> Operation:
        usual: dict[str, Any] = {
            "action": Action.REDRIVE,
            "operates": True,
            "kind": Kind.TASKS,
            "actor": "key",
            "reason": "it is back",
        }
        return self.planner.plan(a_caller(), OperationRequest(**usual | asked), [task.id for task in tasks])

    def started(self, tasks: Sequence[Item], **asked: Any) -> Operation:
        """Planned, and carried out to its end."""
        planned = self.plan(tasks, **asked)
        self.planner.start(a_caller(), planned.id)
        self.machine.run()
        return self.planner.load("demo", planned.id)

    def operate(self, event: dict[str, Any]) -> dict[str, Any]:
        """The function's handler, over these stores."""
        operate.wired.cache_clear()
        wired, operate.wired = operate.wired, lambda: self  # type: ignore[assignment]
        try:
            answer: dict[str, Any] = operate.handler(event, Context())
        finally:
            operate.wired = wired
        return answer

    def work(self) -> None:
        """Each call is claimed and answered, as `run_tasks` does."""
        if self.idle:
            return
        now = self.clock.now()
        for packet, _ in self.queue.take():
            for due in packet.dues:
                self._attempt(due, now, by=packet.by)

    def outcomes(self, operation: Operation) -> list[Outcome]:
        pages = self.operations.pages(operation, first=0, limit=operation.pages)
        return [entry.outcome for page in pages for entry in page.entries]

    due = staticmethod(Due.of)

    def _attempt(self, due: Due, now: datetime, *, by: str = "") -> None:
        task = self.tasks.get(due.id)
        assert task is not None
        claimed = verdicts.claim(
            task, due, now=now, lease=LEASE, holder="w", repeated=False, letter=True, why="dead"
        )
        if not isinstance(claimed, Transition):
            return
        running = claimed.after.signed(by)
        self.tasks.commit([replace(claimed, after=running)])
        self.delivered.append((now, task.id))
        if self.broken(task):
            ended = transitions.fail(running, now=now, failure=Failure(why="http 503"), draw=0.0)
        else:
            ended = transitions.succeed(running, now=now, why="http 200")
        self.tasks.commit([ended])


def a_caller(tenant: str = "demo", *scopes: str) -> Caller:
    usual = ("tasks:write", "payments:write", OPS)
    return Caller(tenant=tenant, key_id="key", scopes=frozenset(scopes or usual))


def letter(task: Task, number: int = 0) -> Letter:
    return Letter(
        id=f"letter {task.id} {number}",
        receipt="r",
        tenant=task.tenant,
        dues=(Due.of(task),),
        receives=1,
        sent_at=START,
    )


def rule(share: float, seconds: int = 60) -> StopRule:
    return StopRule(failed_share=share, within=timedelta(seconds=seconds))


@pytest.fixture
def service() -> Service:
    return Service()
