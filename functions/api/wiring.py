"""The API's use cases over this environment's tables and queues."""

import os
import random
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cache, partial

from functions.api.accounts.deposit import Cashier
from functions.api.admission import Admission
from functions.api.events.waiting import WaitingSeats
from functions.api.keys.rehash import Rehash
from functions.api.letters.show import DeadLetters, Item
from functions.api.limits import quotas
from functions.api.limits.meter import Meter
from functions.api.limits.of_keys import KeyMeter
from functions.api.limits.stored import Stored
from functions.api.operations.backfill import Backfills
from functions.api.operations.find import Finder
from functions.api.operations.plan import Planner as OperationsPlanner
from functions.api.overview.calendar import REACHES, Calendars
from functions.api.overview.look import ALARMS_KEPT, CALENDAR_KEPT, DEPTHS_KEPT, Look
from functions.api.overview.remembered import Remembered
from functions.api.payments.allowance import Allowance
from functions.api.payments.change import PaymentChanger as PaymentChanger
from functions.api.payments.execute import Executor
from functions.api.payments.register import PaymentRegistrar as PaymentRegistrar
from functions.api.runs.acknowledge import Acknowledger
from functions.api.runs.rooms import Rooms
from functions.api.settings import Settings
from functions.api.subscriptions.subscribe import Subscriber
from functions.api.tasks.checks.destinations import refusals
from functions.api.tasks.checks.places import PlaceCheck
from functions.api.tasks.one_time.change import TaskChanger
from functions.api.tasks.one_time.register import TaskRegistrar
from functions.api.tasks.recurring.by_hand import ByHand
from functions.api.tasks.recurring.register import DefinitionRegistrar
from functions.api.tenants.sealing import migrated
from functions.api.unfinished import Unfinished
from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.recurrence import Runs
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.sweeping import Groups, Horizon
from postdate.domain.task import Destination
from postdate.runtime import aws, dependencies, settings
from postdate.runtime.alarms import firing
from postdate.runtime.author import Author
from postdate.runtime.cached import Cached
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import SqsLetters
from postdate.runtime.depths import depth
from postdate.runtime.documents import document
from postdate.runtime.issuer import person_by
from postdate.runtime.machine import StepFunctions
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import SqsQueue
from postdate.stores.archive import S3Archive
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.calendar import DynamoCalendar
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.dependencies import DynamoDependencies, Reporter
from postdate.stores.erasures import DynamoErasures
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.idempotency import DynamoReservations
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.keys import DynamoKeys
from postdate.stores.ledger_dynamo import LEDGER_TRIES, DynamoLedger
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.passes import DynamoPasses
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tallies import DynamoTallies
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants import DynamoTenants, Tenant
from postdate.stores.vault import Vault
from postdate.use_cases.plan_changes import DefinitionChanger
from postdate.use_cases.plan_templates import PAYLOAD_KEPT, Templates
from postdate.use_cases.planned_chain import PlannedChain
from postdate.use_cases.settling import Settling

# How long a suspended tenant still registers.
_TENANT_KEPT = timedelta(seconds=5)
# How long a revoked key still works. Each copy of the function reads a key that it is shown once in that time.
_KEY_KEPT = timedelta(seconds=2)
# How long a switch that was turned still has its former position for requests.
_SWITCHES_KEPT = timedelta(milliseconds=1500)


class Wired:
    """The objects of one process: first those that every resource uses, then those of each resource."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        dynamodb, self.clock = aws.client("dynamodb"), SystemClock()
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.loopback_allowed = given.loopback_destinations
        self.response_timeout_seconds_max = given.response_timeout_seconds_max
        self.amount_cap = given.account_amount_cap
        self.workers = given.task_workers
        self.payloads_bucket = given.payloads_bucket
        self.payloads = DynamoPayloads(table=given.payloads_table, client=dynamodb)
        self.author = Author()
        self.flow = DynamoFlow(
            table=given.flow_table, client=dynamodb, author=self.author, now=self.clock.now
        )
        self.failing = DynamoDependencies(table=given.flow_table, client=dynamodb, function="api")
        self.reporter = Reporter(dependencies.of_this_process(), self.failing, self.clock)
        self.switches = DynamoSwitches(table=given.switches_table, client=dynamodb)
        self.switchboard = Switchboard(switches=self.switches, clock=self.clock, read_every=_SWITCHES_KEPT)
        self.stored = Stored(flow=self.flow, clock=self.clock)
        self.seats = WaitingSeats(flow=self.flow, clock=self.clock, total=given.waiting_requests)
        self.places = PlaceCheck(flow=self.flow, clock=self.clock)
        self.all_tenants = DynamoTenants(
            table=given.tenants_table, client=dynamodb, author=self.author, now=self.clock.now
        )
        self.data_keys = KmsDataKeys(
            table=given.data_keys_table,
            client=dynamodb,
            kms=partial(aws.client, "kms"),
            key_id=given.secrets_key_id,
        )
        self.vault = Vault(data_keys=self.data_keys, clock=self.clock)
        self.hashes = KeyHashes(self.data_keys)
        # Every request needs its tenant and its key, so both are remembered. Who administers them reads the rows.
        self.tenants = Cached(self._loaded, keep=_TENANT_KEPT, clock=self.clock)
        self.meter = Meter(flow=self.flow, clock=self.clock, find=self.tenant)
        self.all_keys = DynamoKeys(
            table=given.keys_table, client=dynamodb, author=self.author, now=self.clock.now
        )
        self.keys = Cached(self.all_keys.get, keep=_KEY_KEPT, clock=self.clock)
        self._rehash = Rehash(keys=self.all_keys, hashes=self.hashes)
        self.key_meter = KeyMeter(flow=self.flow, clock=self.clock)
        self.admission = Admission(
            key=self.keys.get,
            is_tenant=lambda id: self.tenants.get(id) is not None,
            hashes=self.hashes,
            keep=self._rehash.keep,
            count=self.key_meter.take,
            person=person_by(given.oidc, fetch=document, clock=self.clock),
            clock=self.clock,
        )
        self.events = DynamoEvents(
            table=given.events_table, client=dynamodb, kept=timedelta(days=given.events_kept_days)
        )
        self.subscriptions = DynamoSubscriptions(table=given.subscriptions_table, client=dynamodb)
        self._given = given
        self._shards = ShardPlan.parse(given.shard_plan)
        self._retention = timedelta(days=given.retention_days)
        self._reservations = DynamoReservations(table=given.idempotency_table, client=dynamodb)
        self._horizon = Horizon(
            lead=timedelta(seconds=given.open_lead_seconds),
            margin=timedelta(seconds=given.open_margin_seconds),
        )
        self._tasks_queue = self._queue(given.tasks_queue_url)
        # In this order: each resource uses stores of those before it.
        self._one_time_tasks()
        self._recurring_tasks()
        self._runs()
        self._money()
        self._overview()
        self._erasures()
        self._operations()
        self._subscriptions()
        self.dead_letters = {
            "tasks": self._letters(self._given.tasks_dlq_url, self.tasks.get_many),
            "payments": self._letters(self._given.payments_dlq_url, self.ledger.payments),
        }

    def _one_time_tasks(self) -> None:
        self.tasks = DynamoTasks(
            table=self._given.items_table,
            client=aws.client("dynamodb"),
            shards=self._shards,
            listing_shards=self._given.listing_shards,
            retention=self._retention,
            author=self.author,
        )
        self.registrar = TaskRegistrar(
            tasks=self.tasks,
            payloads=self.payloads,
            reservations=self._reservations,
            queue=self._tasks_queue,
            shards=self._shards,
            horizon=self._horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=self.clock,
            unique=_unique,
        )
        self.changer = TaskChanger(
            tasks=self.tasks,
            payloads=self.payloads,
            places=self.places,
            queue=self._tasks_queue,
            horizon=self._horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=self.clock,
            unique=_unique,
        )

    def _recurring_tasks(self) -> None:
        runs = Runs(shards=self._shards)
        self.definitions = DynamoDefinitions(
            table=self._given.items_table,
            client=aws.client("dynamodb"),
            listing_shards=self._given.listing_shards,
            retention=self._retention,
            author=self.author,
        )
        self.chain = PlannedChain(tasks=self.tasks, runs=runs)
        self.templates = Templates(
            tasks=self.tasks,
            payloads=self.payloads,
            runs=runs,
            payload_kept=PAYLOAD_KEPT,
            unique=_unique,
        )
        self.planner = DefinitionRegistrar(
            definitions=self.definitions,
            chain=self.chain,
            templates=self.templates,
            reservations=self._reservations,
            queue=self._tasks_queue,
            shards=self._shards,
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
            runs=Runs(shards=self._shards),
            reservations=self._reservations,
            triggered_for=self._retention,
            queue=self._tasks_queue,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
        )
        self.backfills = Backfills(
            tasks=self.tasks,
            shards=self._shards,
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
            shards=self._shards,
            listing_shards=self._given.listing_shards,
        ).signed_by(self.author)
        queue = self._queue(self._given.payments_queue_url)
        archived = ArchivedPayments(archive=self._archive, vault=self.vault, clock=self.clock)
        self.payment_registrar = PaymentRegistrar(
            ledger=self.ledger,
            reservations=self._reservations,
            queue=queue,
            shards=self._shards,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
            archived=archived,
        )
        self.allowance = Allowance(keys=self.all_keys, clock=self.clock)
        self.payment_changer = PaymentChanger(
            ledger=self.ledger, queue=queue, horizon=self._horizon, clock=self.clock, archived=archived
        )
        self.payment_executor = Executor(
            changer=self.payment_changer,
            # The internal route settles for the service itself: no key of a tenant is the author.
            settling=Settling(self.ledger, self.clock, by="function:api"),
            keys=self.all_keys,
            hashes=self.hashes,
            keep=self._rehash.keep,
            switchboard=self.switchboard,
            clock=self.clock,
        )
        self.cashier = Cashier(
            ledger=self.ledger, reservations=self._reservations, clock=self.clock, unique=_unique
        )

    def _archive(self) -> S3Archive:
        return S3Archive(bucket=self._given.archive_bucket, client=aws.client("s3"))

    def _overview(self) -> None:
        given, sqs, dynamodb = self._given, aws.client("sqs"), aws.client("dynamodb")
        urls = {
            "tasks": given.tasks_queue_url,
            "slow": given.slow_queue_url,
            "payments": given.payments_queue_url,
            "ticks": given.ticks_queue_url,
            "tasks-dlq": given.tasks_dlq_url,
            "payments-dlq": given.payments_dlq_url,
            "ticks-dlq": given.ticks_dlq_url,
        }
        passes = DynamoPasses(table=given.slots_table, client=dynamodb)
        groups = Groups(shards=self._shards, size=given.shards_per_group)
        self.unfinished = Unfinished(passes=passes, groups=groups, horizon=self._horizon, clock=self.clock)
        self.look = Look(
            passes=passes,
            tallies=DynamoTallies(table=given.slots_table, client=dynamodb),
            flow=self.flow,
            switches=self.switches,
            failing=self.failing,
            calendars=Calendars(tasks=self.tasks, ledger=self.ledger),
            # SQS and CloudWatch charge for each request, so all readers share one answer for a while.
            depths={
                name: Remembered(partial(depth, sqs, url), keep=DEPTHS_KEPT, clock=self.clock)
                for name, url in urls.items()
            },
            alarms=Remembered(
                partial(firing, partial(aws.client, "cloudwatch"), given.alarm_prefix),
                keep=ALARMS_KEPT,
                clock=self.clock,
            ),
            counts=Remembered(partial(self._counts, given.slots_table), keep=CALENDAR_KEPT, clock=self.clock),
            groups=groups,
            horizon=self._horizon,
            beat=timedelta(seconds=given.tick_seconds),
            clock=self.clock,
        )

    def _counts(self, table: str) -> Mapping[int, DueCount]:
        first = instants.minute_of(self.clock.now())
        last = first + REACHES // instants.MINUTE
        return DynamoCalendar(table=table, client=aws.client("dynamodb")).between(first, last)

    def _loaded(self, id: str) -> Tenant | None:
        found = self.all_tenants.get(id)
        return None if found is None else migrated(found, tenants=self.all_tenants, vault=self.vault)

    def tenant(self, id: str) -> Tenant:
        """A quota protects the service and is no reason for it to fail: without the row the usual one counts."""
        try:
            known = self.tenants.get(id)
        except Unavailable:
            known = None
        return quotas.applied(known or Tenant(id=id), self.parameters.values.quotas)

    def _erasures(self) -> None:
        self.erasures = DynamoErasures(table=self._given.tenants_table, client=aws.client("dynamodb"))
        self.erasing_machine = StepFunctions(
            arn=self._given.erase_machine_arn, client=aws.client("stepfunctions")
        )

    def _operations(self) -> None:
        self.operations = DynamoOperations(table=self._given.operations_table, client=aws.client("dynamodb"))
        self.reconciliations = DynamoReconciliations(
            table=self._given.operations_table, client=aws.client("dynamodb")
        )
        self.operations_planner = OperationsPlanner(
            operations=self.operations,
            tasks=self.tasks,
            ledger=self.ledger,
            finder=Finder(
                tasks=self.tasks,
                definitions=self.definitions,
                ledger=self.ledger,
                unfinished=self.unfinished,
                clock=self.clock,
            ),
            definitions=self.definitions,
            shards=self._shards,
            machine=StepFunctions(arn=self._given.operation_machine_arn, client=aws.client("stepfunctions")),
            clock=self.clock,
            unique=_unique,
        )

    def _subscriptions(self) -> None:
        def refusal(tenant: str, destination: Destination) -> PostdateError | None:
            known = refusals(
                [destination], tenant=self.tenant(tenant), loopback_allowed=self.loopback_allowed
            )
            return known.get(destination)

        self.subscriber = Subscriber(
            subscriptions=self.subscriptions,
            tasks=self.tasks,
            queue=self._tasks_queue,
            shards=self._shards,
            horizon=self._horizon,
            clock=self.clock,
            unique=_unique,
            vault=self.vault,
            refusal=refusal,
        )

    def _letters(self, url: str, load: Callable[[Iterable[str]], Mapping[str, Item]]) -> DeadLetters:
        return DeadLetters(letters=SqsLetters(url=url, client=aws.client("sqs")), load=load, clock=self.clock)

    def _queue(self, url: str) -> SqsQueue:
        return SqsQueue(url=url, client=aws.client("sqs"), clock=self.clock)


def _unique() -> bytes:
    return os.urandom(UNIQUE_BYTES)


@cache
def wired() -> Wired:
    return Wired()
