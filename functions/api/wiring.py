"""The API's use cases over this environment's tables and queues."""

import os
import random
from datetime import timedelta
from functools import cache

from functions.api.accounts.deposit import Cashier
from functions.api.admission import Admission
from functions.api.limits.meter import Meter
from functions.api.operations.backfill import Backfills
from functions.api.payments.change import Changer as PaymentChanger
from functions.api.payments.execute import Executor
from functions.api.payments.register import Registrar as PaymentRegistrar
from functions.api.runs.acknowledge import Acknowledger
from functions.api.runs.rooms import Rooms
from functions.api.settings import Settings
from functions.api.tasks.by_hand import ByHand
from functions.api.tasks.chain import Chain
from functions.api.tasks.change import Changer
from functions.api.tasks.definitions import DefinitionChanger
from functions.api.tasks.places import Places
from functions.api.tasks.recurring import Planner
from functions.api.tasks.register import Registrar
from functions.api.tasks.templates import Templates
from postdate.domain.recurrence import Runs
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.domain.task import LIFETIME
from postdate.runtime import aws, settings
from postdate.runtime.cached import Cached
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.idempotency import DynamoReservations
from postdate.stores.keys import DynamoKeys
from postdate.stores.ledger_dynamo import LEDGER_TRIES, DynamoLedger
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants import DynamoTenants
from postdate.use_cases.settling import Settling

_TENANT_KEPT = timedelta(seconds=30)
# How long a revoked key still works. Each copy of the function reads a key that it is shown once in that time.
_KEY_KEPT = timedelta(seconds=2)
# Longer than any attempt of its task may begin, by clocks that differ and deliveries that take their time.
PAYLOAD_KEPT = LIFETIME + timedelta(days=5)


class Wired:
    """What every resource needs comes first; then each resource has its own."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        dynamodb, self.clock = aws.client("dynamodb"), SystemClock()
        self.loopback_allowed = given.loopback_destinations
        self.response_timeout_seconds_max = given.response_timeout_seconds_max
        self.amount_cap = given.account_amount_cap
        self.payloads_bucket = given.payloads_bucket
        self.payloads = DynamoPayloads(table=given.payloads_table, client=dynamodb)
        self.flow = DynamoFlow(table=given.flow_table, client=dynamodb)
        self.meter = Meter(flow=self.flow, clock=self.clock)
        self.places = Places(flow=self.flow, clock=self.clock)
        self.tenants = Cached(
            DynamoTenants(table=given.tenants_table, client=dynamodb).get, keep=_TENANT_KEPT, clock=self.clock
        )
        self._keys = DynamoKeys(table=given.keys_table, client=dynamodb)
        self.keys = Cached(self._keys.get, keep=_KEY_KEPT, clock=self.clock)
        self.admission = Admission(
            key=self.keys.get, is_tenant=lambda id: self.tenants.get(id) is not None, clock=self.clock
        )
        self._given = given
        self._plan = ShardPlan.parse(given.shard_plan)
        self._retention = timedelta(days=given.retention_days)
        self._reservations = DynamoReservations(table=given.idempotency_table, client=dynamodb)
        self._horizon = Horizon(
            lead=timedelta(seconds=given.open_lead_seconds),
            margin=timedelta(seconds=given.open_margin_seconds),
        )
        self._tasks_queue = self._queue(given.tasks_queue_url)
        self._tasks_once()
        self._tasks_again()
        self._runs()
        self._money()

    def _tasks_once(self) -> None:
        self.tasks = DynamoTasks(
            table=self._given.items_table,
            client=aws.client("dynamodb"),
            plan=self._plan,
            listing_shards=self._given.listing_shards,
            retention=self._retention,
        )
        self.registrar = Registrar(
            tasks=self.tasks,
            payloads=self.payloads,
            reservations=self._reservations,
            queue=self._tasks_queue,
            plan=self._plan,
            horizon=self._horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=self.clock,
            unique=_unique,
        )
        self.changer = Changer(
            tasks=self.tasks,
            payloads=self.payloads,
            places=self.places,
            queue=self._tasks_queue,
            horizon=self._horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=self.clock,
            unique=_unique,
        )

    def _tasks_again(self) -> None:
        runs = Runs(shards=self._plan)
        self.definitions = DynamoDefinitions(
            table=self._given.items_table,
            client=aws.client("dynamodb"),
            listing_shards=self._given.listing_shards,
            retention=self._retention,
        )
        self.chain = Chain(tasks=self.tasks, runs=runs)
        self.templates = Templates(
            tasks=self.tasks,
            payloads=self.payloads,
            runs=runs,
            payload_kept=PAYLOAD_KEPT,
            unique=_unique,
        )
        self.planner = Planner(
            definitions=self.definitions,
            chain=self.chain,
            templates=self.templates,
            reservations=self._reservations,
            queue=self._tasks_queue,
            plan=self._plan,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )
        self.definition_changer = DefinitionChanger(
            definitions=self.definitions,
            chain=self.chain,
            templates=self.templates,
            queue=self._tasks_queue,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )

    def _runs(self) -> None:
        self.by_hand = ByHand(
            definitions=self.definitions,
            tasks=self.tasks,
            runs=Runs(shards=self._plan),
            reservations=self._reservations,
            triggered_for=self._retention,
            queue=self._tasks_queue,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )
        self.backfills = Backfills(
            tasks=self.tasks,
            shards=self._plan,
            reservations=self._reservations,
            made_for=self._retention,
            queue=self._tasks_queue,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )
        self.acknowledger = Acknowledger(
            tasks=self.tasks,
            rooms=Rooms(flow=self.flow),
            queue=self._tasks_queue,
            clock=self.clock,
            draw=random.random,
        )

    def _money(self) -> None:
        self.ledger = DynamoLedger(
            payments_table=self._given.payments_table,
            accounts_table=self._given.accounts_table,
            journal_table=self._given.journal_table,
            client=aws.client("dynamodb", tries=LEDGER_TRIES),
            plan=self._plan,
            listing_shards=self._given.listing_shards,
        )
        queue = self._queue(self._given.payments_queue_url)
        self.payment_registrar = PaymentRegistrar(
            ledger=self.ledger,
            reservations=self._reservations,
            queue=queue,
            plan=self._plan,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )
        self.payment_changer = PaymentChanger(
            ledger=self.ledger, queue=queue, horizon=self._horizon, clock=self.clock
        )
        self.payment_executor = Executor(
            changer=self.payment_changer,
            settling=Settling(self.ledger, self.clock),
            keys=self._keys,
            clock=self.clock,
        )
        self.cashier = Cashier(
            ledger=self.ledger, reservations=self._reservations, clock=self.clock, unique=_unique
        )

    def _queue(self, url: str) -> SqsQueue:
        return SqsQueue(url=url, client=aws.client("sqs"), clock=self.clock)


def _unique() -> bytes:
    return os.urandom(UNIQUE_BYTES)


@cache
def wired() -> Wired:
    return Wired()
