"""The functions and what they find in their environment: tables and queues on the local engine."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count

import boto3
import pytest

from functions.api import wiring
from functions.api.accounts import restate
from functions.archive import handler as archive
from functions.authorize import handler as authorize
from functions.erase import handler as erase
from functions.operate import handler as operate
from functions.reconcile import handler as reconcile
from functions.record import handler as record
from functions.run_tasks import wiring as run_tasks
from functions.settle import handler as settle
from functions.sweep import handler as sweep
from postdate.domain.task import Task
from postdate.runtime import aws as runtime
from postdate.runtime import dependencies
from postdate.runtime.clock import SystemClock
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.idempotency import Reservation
from postdate.stores.keys_dynamo import DynamoKeys
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.vault import Vault
from postdate.use_cases import auditing
from tests import tables
from tests.boundary import Boundary
from tests.contract.examples import Examples
from tests.e2e.receiver import Receiver, receiving
from tests.engines import Engines, speaking_to
from tests.integration.meter import METER  # noqa: F401 (before the first client is made)
from tests.integration.stores import NOW, Stores
from tests.integration.world import Client, World

SETTINGS = {
    "SHARD_PLAN": "0=4",
    "SHARDS_PER_GROUP": "16",
    "LISTING_SHARDS": "2",
    "TICK_SECONDS": "10",
    "OPEN_LEAD_SECONDS": "120",
    "OPEN_MARGIN_SECONDS": "60",
    "LEASE_SECONDS": "40",
    "RETENTION_DAYS": "35",
    "LOOPBACK_DESTINATIONS": "true",
    "RESPONSE_TIMEOUT_SECONDS_MAX": "60",
    "ACCOUNT_AMOUNT_CAP": "5000000",
    "EVENTS_KEPT_DAYS": "400",
    "PAYMENTS_KEPT_DAYS": "400",
    "EVENTS_BUS": "",
    "SLOW_LANE": "true",
    "TASK_WORKERS": "16",
    "WAITING_REQUESTS": "4",
    "OIDC": "none",
    "PARAMETERS": "none",
    "PAYLOADS_BUCKET": "integration-payloads",
    "REPORTS_BUCKET": "integration-reports",
    "ARCHIVE_BUCKET": "integration-archive",
    "PAYLOADS_ROLE_ARN": "arn:aws:iam::000000000000:role/integration-payload-reader",
    "OPERATION_MACHINE_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:integration-operation",
    "ALARM_PREFIX": "postdate-integration-",
    "PAYMENT_ATTEMPTS_MAX": "3",
    "PAYMENT_RETRY_SECONDS": "1",
    "PAYMENT_RETRY_MAX_SECONDS": "300",
    "ERASURE_DRAIN_SECONDS": "0",
    "ERASURE_STREAMS_SECONDS": "0",
    "ERASURE_FORGOTTEN_SECONDS": "0",
    "ERASE_MACHINE_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:integration-erase",
    "ERASE_FUNCTION": "integration-erase",
}
QUEUES = {
    "tasks": "TASKS_QUEUE_URL",
    "slow": "SLOW_QUEUE_URL",
    "tasks-dlq": "TASKS_DLQ_URL",
    "payments": "PAYMENTS_QUEUE_URL",
    "payments-dlq": "PAYMENTS_DLQ_URL",
    "ticks": "TICKS_QUEUE_URL",
    "ticks-dlq": "TICKS_DLQ_URL",
    "events-dlq": "EVENTS_DLQ_URL",
}
_tenants = count(1)
_worlds = count(1)
_names = count(1)
_wired_for: list[Mapping[str, str]] = []


@pytest.fixture(autouse=True)
def looks_soon_again() -> Iterator[None]:
    """An audit of books that are not sound looks again and again, and an adjustment looks twice, both over seconds. The
    engine's indexes are never behind. Unit tests hold the times that count on AWS."""
    # A patch of its own: `monkeypatch` would be made before `boundary`, and undone after the environment was put back.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "PAUSES", tuple(each / 100 for each in auditing.PAUSES))
        patch.setattr(restate, "BETWEEN", restate.BETWEEN / 100)
        yield


@pytest.fixture(scope="session")
def new_world(engine: Engines) -> Callable[[], World]:
    def make() -> World:
        prefix = f"integration-{next(_worlds)}"
        with speaking_to(engine):
            boto3.setup_default_session()
            dynamodb, sqs = (runtime.client.__wrapped__(service) for service in ("dynamodb", "sqs"))
            kms, s3 = (runtime.client.__wrapped__(service) for service in ("kms", "s3"))
        for bucket in ("REPORTS_BUCKET", "ARCHIVE_BUCKET"):
            s3.create_bucket(Bucket=SETTINGS[bucket])
        key_id = kms.create_key()["KeyMetadata"]["Arn"]
        names = tables.create(dynamodb, prefix)
        attributes = {"VisibilityTimeout": "900"}
        queues = {
            name: sqs.create_queue(QueueName=f"{prefix}-{name}", Attributes=attributes)["QueueUrl"]
            for name in QUEUES
        }
        return World(
            dynamodb=dynamodb,
            sqs=sqs,
            tables=names,
            queues=queues,
            tenants=DynamoTenants(table=names["tenants"]),
            keys=DynamoKeys(table=names["keys"]),
            vault=Vault(
                data_keys=KmsDataKeys(
                    table=names["data_keys"], client=dynamodb, kms=lambda: kms, key_id=key_id
                ),
                clock=SystemClock(),
            ),
            environment=SETTINGS
            | {"SECRETS_KEY_ID": key_id}
            | {f"{name.upper()}_TABLE": table for name, table in names.items()}
            | {variable: queues[name] for name, variable in QUEUES.items()},
        )

    return make


@pytest.fixture(scope="session")
def common_world(new_world: Callable[[], World]) -> Iterator[World]:
    """For all who tell their things from others' by their tenant."""
    yield new_world()
    forget()


@pytest.fixture(scope="module")
def own_world(new_world: Callable[[], World]) -> Iterator[World]:
    """For those who look at whole tables."""
    yield new_world()
    forget()


@pytest.fixture
def world(common_world: World, boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> World:
    return entered(common_world, monkeypatch)


def entered(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The functions' environment is this world; they are made anew if it was another before."""
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    if _wired_for != [world.environment]:
        forget()
        _wired_for[:] = [world.environment]
    return world


@pytest.fixture
def client(world: World, request: pytest.FixtureRequest) -> Client:
    """A client of a tenant that no other test uses."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return world.tenant(f"{name[:40].strip('-')}-{next(_tenants)}")


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def made_stores(common_world: World) -> Stores:
    """Made anew for each file: botocore gives a client so many repeats and no more while its calls fail, so tests of
    faults would use up those of the tests behind them."""
    return Stores.of(common_world)


@pytest.fixture
def stores(made_stores: Stores, world: World) -> Iterator[Stores]:
    """The clock's rows have fixed names, so a test begins without those of others, and leaves none."""
    _forget_clock(world)
    yield made_stores
    _forget_clock(world)


def _forget_clock(world: World) -> None:
    for row in world.rows(world.tables["slots"]):
        key = {"scope": row["scope"], "name": row["name"]}
        world.dynamodb.delete_item(TableName=world.tables["slots"], Key=key)


@pytest.fixture
def task(stores: Stores) -> Task:
    task = Examples(now=NOW).task()
    stores.tasks.add([task])
    return task


@pytest.fixture
def reservation() -> Reservation:
    return Reservation(
        tenant="acme",
        key=f"key-{next(_names)}",
        fingerprint="f",
        item_id="task_1",
        due_at=NOW,
        created_at=NOW,
        keep_until=None,
    )


def forget() -> None:
    """The functions as they are before their first event."""
    if run_tasks.wired.cache_info().currsize:
        run_tasks.wired().targets["webhook"].close()  # type: ignore[attr-defined]
    _wired_for.clear()
    for cached in (
        wiring.wired,
        archive.wired,
        authorize.wired,
        erase.wired,
        run_tasks.wired,
        record.wired,
        operate.wired,
        reconcile.wired,
        settle.wired,
        sweep.wired,
        runtime.client,
        runtime.quick_client,
        runtime.patient_client,
    ):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _closed_breakers() -> Iterator[None]:
    """A dependency that failed in one test is left alone in no other: all tests of a process share its breakers."""
    dependencies.of_this_process().forget()
    yield
    dependencies.of_this_process().forget()
