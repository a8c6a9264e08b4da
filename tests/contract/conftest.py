"""The stores twice: the twin in memory, and the one on AWS, for which the local engine stands in."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import boto3
import pytest

from postdate.runtime import aws as runtime
from postdate.stores.data_keys import DataKeys, KmsDataKeys
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.definitions import Definitions
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.definitions_memory import MemoryDefinitions
from postdate.stores.events import Events
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.idempotency import DynamoReservations, Reservations
from postdate.stores.idempotency_memory import MemoryReservations
from postdate.stores.keys import Keys
from postdate.stores.keys_dynamo import DynamoKeys
from postdate.stores.keys_memory import MemoryKeys
from postdate.stores.ledger import Ledger
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.passes import Passes
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.passes_memory import MemoryPasses
from postdate.stores.payloads import DynamoPayloads, MemoryPayloads, Payloads
from postdate.stores.subscriptions import MemorySubscriptions, Subscriptions
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.tasks import Tasks
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tasks_memory import MemoryTasks
from postdate.stores.tenants import Tenants
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.tenants_memory import MemoryTenants
from postdate.stores.timetable import DynamoTimetable, Timetable
from tests import tables
from tests.boundary import Boundary
from tests.contract.examples import LISTING_SHARDS, PLAN, Examples
from tests.contract.money import Money
from tests.engines import Engines, speaking_to

RETENTION = timedelta(days=35)
_tests = count()


@dataclass(frozen=True, kw_only=True, slots=True)
class OnAws:
    """Made once: a test tells its things from others' by their ids, and nothing is slower than a new client."""

    dynamodb: Any
    sqs: Any
    names: dict[str, str]
    tasks: DynamoTasks
    definitions: DynamoDefinitions
    payloads: DynamoPayloads
    reservations: DynamoReservations
    tenants: DynamoTenants
    keys: DynamoKeys
    data_keys: KmsDataKeys
    passes: DynamoPasses
    timetable: DynamoTimetable
    ledger: DynamoLedger
    events: DynamoEvents
    subscriptions: DynamoSubscriptions
    pauses: list[float]


@pytest.fixture(scope="session")
def made_on_aws(engine: Engines) -> OnAws:
    with speaking_to(engine):
        boto3.setup_default_session()
        dynamodb, sqs = (runtime.client.__wrapped__(service) for service in ("dynamodb", "sqs"))
        return stores_on(dynamodb, sqs, prefix="contract")


def stores_on(dynamodb: Any, sqs: Any, *, prefix: str) -> OnAws:
    """On tables of their own."""
    names = tables.create(dynamodb, prefix)
    pauses: list[float] = []
    return OnAws(
        dynamodb=dynamodb,
        sqs=sqs,
        names=names,
        tasks=DynamoTasks(
            table=names["items"],
            client=dynamodb,
            shards=PLAN,
            listing_shards=LISTING_SHARDS,
            retention=RETENTION,
        ),
        definitions=DynamoDefinitions(
            table=names["items"], client=dynamodb, listing_shards=LISTING_SHARDS, retention=RETENTION
        ),
        payloads=DynamoPayloads(table=names["payloads"]),
        reservations=DynamoReservations(table=names["idempotency"]),
        tenants=DynamoTenants(table=names["tenants"]),
        keys=DynamoKeys(table=names["keys"]),
        data_keys=KmsDataKeys(
            table=names["data_keys"],
            kms=partial(runtime.client, "kms"),
            key_id=runtime.client("kms").create_key()["KeyMetadata"]["Arn"],
        ),
        passes=DynamoPasses(table=names["slots"]),
        timetable=DynamoTimetable(items_table=names["items"], payments_table=names["payments"]),
        ledger=DynamoLedger(
            payments_table=names["payments"],
            accounts_table=names["accounts"],
            journal_table=names["journal"],
            client=dynamodb,
            shards=PLAN,
            listing_shards=LISTING_SHARDS,
            pause=pauses.append,
            draw=lambda: 1.0,
        ),
        events=DynamoEvents(table=names["events"], client=dynamodb, kept=timedelta(days=400)),
        subscriptions=DynamoSubscriptions(table=names["subscriptions"], client=dynamodb),
        pauses=pauses,
    )


@pytest.fixture
def on_aws(made_on_aws: OnAws, boundary: Boundary) -> OnAws:
    made_on_aws.pauses.clear()
    return made_on_aws


@pytest.fixture
def now() -> datetime:
    """Five hours of its own for each test, so that slots are its own as well."""
    return datetime(2026, 11, 18, 10, 5, 12, 345_000, tzinfo=UTC) + 5 * timedelta(hours=next(_tests))


@pytest.fixture
def examples(now: datetime) -> Examples:
    return Examples(now=now)


@pytest.fixture(params=["memory", "aws", "aws, refusing without rows"])
def tasks(request: pytest.FixtureRequest) -> Tasks:
    if request.param == "memory":
        return MemoryTasks(shards=PLAN)
    found: OnAws = request.getfixturevalue("on_aws")
    boundary: Boundary = request.getfixturevalue("boundary")
    boundary.rowless = request.param != "aws"
    return found.tasks


@pytest.fixture
def definitions(tasks: Tasks, request: pytest.FixtureRequest) -> Definitions:
    """Beside these tasks."""
    if isinstance(tasks, MemoryTasks):
        return MemoryDefinitions(tasks=tasks)
    found: OnAws = request.getfixturevalue("on_aws")
    return found.definitions


@pytest.fixture(params=["memory", "aws"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger(shards=PLAN)
    found: OnAws = request.getfixturevalue("on_aws")
    return found.ledger


@pytest.fixture
def money(ledger: Ledger, now: datetime) -> Money:
    return Money(ledger=ledger, now=now)


@pytest.fixture
def timetable(tasks: Tasks, request: pytest.FixtureRequest) -> Timetable:
    """The timetable of the rows in `tasks`."""
    return tasks if isinstance(tasks, MemoryTasks) else request.getfixturevalue("on_aws").timetable


@pytest.fixture(params=["memory", "aws"])
def payloads(request: pytest.FixtureRequest) -> Payloads:
    return MemoryPayloads() if request.param == "memory" else request.getfixturevalue("on_aws").payloads


@pytest.fixture(params=["memory", "aws"])
def reservations(request: pytest.FixtureRequest) -> Reservations:
    if request.param == "memory":
        return MemoryReservations()
    found: OnAws = request.getfixturevalue("on_aws")
    return found.reservations


@pytest.fixture(params=["memory", "aws"])
def tenants(request: pytest.FixtureRequest) -> Tenants:
    return MemoryTenants() if request.param == "memory" else request.getfixturevalue("on_aws").tenants


@pytest.fixture(params=["memory", "aws"])
def keys(request: pytest.FixtureRequest) -> Keys:
    return MemoryKeys() if request.param == "memory" else request.getfixturevalue("on_aws").keys


@pytest.fixture(params=["memory", "aws"])
def data_keys(request: pytest.FixtureRequest) -> DataKeys:
    return MemoryDataKeys() if request.param == "memory" else request.getfixturevalue("on_aws").data_keys


@pytest.fixture(params=["memory", "aws"])
def events(request: pytest.FixtureRequest) -> Events:
    return MemoryEvents() if request.param == "memory" else request.getfixturevalue("on_aws").events


@pytest.fixture(params=["memory", "aws"])
def subscriptions(request: pytest.FixtureRequest) -> Subscriptions:
    if request.param == "memory":
        return MemorySubscriptions()
    found: OnAws = request.getfixturevalue("on_aws")
    return found.subscriptions


@pytest.fixture(params=["memory", "aws"])
def passes(request: pytest.FixtureRequest) -> Iterator[Passes]:
    """The clock's rows have fixed names, so the table is emptied after each test."""
    if request.param == "memory":
        yield MemoryPasses()
        return
    found: OnAws = request.getfixturevalue("on_aws")
    yield found.passes
    table = found.names["slots"]
    for row in found.dynamodb.scan(TableName=table)["Items"]:
        found.dynamodb.delete_item(TableName=table, Key={"scope": row["scope"], "name": row["name"]})
