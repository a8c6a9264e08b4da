"""Builds what operations and recoveries need, once for each copy of the function."""

import secrets
from datetime import timedelta
from functools import cache
from typing import Final

from functions.operate.carry_out import Conductor
from functions.operate.payment_actor import PaymentActor
from functions.operate.plans import PlanActor
from functions.operate.recover import Recoverer
from functions.operate.settings import Settings
from functions.operate.task_actor import TaskActor
from postdate.domain.operation import Kind
from postdate.domain.recurrence import Runs
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.sweeping import Groups, Horizon
from postdate.recovery.tokens import Tokens
from postdate.runtime import aws, settings
from postdate.runtime.author import Author
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import SqsLetters
from postdate.runtime.machine import Machine, StepFunctions
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import SqsQueue
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.ledger_dynamo import LEDGER_TRIES, DynamoLedger
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.timetable import DynamoTimetable
from postdate.use_cases.plan_changes import DefinitionChanger
from postdate.use_cases.plan_templates import PAYLOAD_KEPT, Templates
from postdate.use_cases.planned_chain import PlannedChain

# The time of one invocation. A slice that has begun is finished; then the machine calls again.
_WORKS_FOR: Final = timedelta(seconds=10)


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        dynamodb, clock = aws.client("dynamodb"), SystemClock()
        shards = ShardPlan.parse(given.shard_plan)
        tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
            retention=timedelta(days=given.retention_days),
        )
        ledger = DynamoLedger(
            payments_table=given.payments_table,
            accounts_table=given.accounts_table,
            journal_table=given.journal_table,
            client=aws.client("dynamodb", tries=LEDGER_TRIES),
            shards=shards,
            listing_shards=given.listing_shards,
        )
        queue, payments, dead_letters = (
            SqsQueue(url=url, client=aws.client("sqs"), clock=clock)
            for url in (given.tasks_queue_url, given.payments_queue_url, given.tasks_dlq_url)
        )
        letters, unsettled = (
            SqsLetters(url=url, client=aws.client("sqs"))
            for url in (given.tasks_dlq_url, given.payments_dlq_url)
        )
        self.machine: Machine = StepFunctions(
            arn=given.operation_machine_arn, client=aws.client("stepfunctions")
        )
        self.parameters = parameters_at(given.parameters, clock=clock)
        self.conductor = Conductor(
            operations=DynamoOperations(table=given.operations_table, client=dynamodb),
            actors={
                Kind.TASKS: TaskActor(tasks=tasks, queue=queue, letters=letters, dead_letters=dead_letters),
                Kind.PAYMENTS: PaymentActor(ledger=ledger, queue=payments, letters=unsettled),
                Kind.PLANS: _plans(given, tasks=tasks, queue=queue, clock=clock),
            },
            clock=clock,
            works_for=_WORKS_FOR,
            # Asked for again and again, because parameters change while the process lives.
            rate_max=lambda: self.parameters.values.operating.items_a_second_max,
        )
        self.recoverer = _recoverer(given, tasks=tasks, clock=clock)


def _plans(given: Settings, *, tasks: DynamoTasks, queue: SqsQueue, clock: SystemClock) -> PlanActor:
    author, runs = Author(), Runs(shards=ShardPlan.parse(given.shard_plan))
    definitions = DynamoDefinitions(
        table=given.items_table,
        client=aws.client("dynamodb"),
        listing_shards=given.listing_shards,
        retention=timedelta(days=given.retention_days),
        author=author,
    )
    templates = Templates(
        tasks=tasks,
        payloads=DynamoPayloads(table=given.payloads_table, client=aws.client("dynamodb")),
        runs=runs,
        payload_kept=PAYLOAD_KEPT,
        unique=_unique,
    )
    changer = DefinitionChanger(
        definitions=definitions,
        chain=PlannedChain(tasks=tasks, runs=runs),
        templates=templates,
        queue=queue,
        horizon=_horizon(given),
        clock=clock,
        unique=_unique,
    )
    return PlanActor(definitions=definitions, changer=changer, author=author)


def _recoverer(given: Settings, *, tasks: DynamoTasks, clock: SystemClock) -> Recoverer:
    timetable = DynamoTimetable(
        items_table=given.items_table, payments_table=given.payments_table, client=aws.client("dynamodb")
    )
    return Recoverer(
        passes=DynamoPasses(table=given.slots_table, client=aws.client("dynamodb")),
        groups=Groups(shards=ShardPlan.parse(given.shard_plan), size=given.shards_per_group),
        tokens=lambda since: Tokens(timetable=timetable, tasks=tasks, clock=clock, since=since),
        horizon=_horizon(given),
        tables=frozenset({given.items_table, given.payments_table}),
        clock=clock,
        works_for=_WORKS_FOR,
    )


def _horizon(given: Settings) -> Horizon:
    return Horizon(
        lead=timedelta(seconds=given.open_lead_seconds), margin=timedelta(seconds=given.open_margin_seconds)
    )


def _unique() -> bytes:
    return secrets.token_bytes(UNIQUE_BYTES)


@cache
def wired() -> Wired:
    return Wired()
