"""The functions' environment: tables and queues on the local engine, new ones for each file of tests."""

import re
from collections.abc import Callable, Iterator
from itertools import count

import boto3
import pytest

from cli.local import aws
from cli.local.place import Place
from functions.api import wiring
from functions.authorize import handler as authorize
from functions.run_tasks import handler as run_tasks
from functions.sweep import handler as sweep
from postdate.runtime import aws as runtime
from postdate.stores.keys import DynamoKeys
from postdate.stores.tenants import DynamoTenants
from tests import tables
from tests.boundary import Boundary
from tests.e2e.receiver import Receiver, receiving
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
    "KEY_CACHE_SECONDS": "60",
    "LOOPBACK_DESTINATIONS": "true",
}
QUEUES = {"tasks": "TASKS_QUEUE_URL", "tasks-dlq": "TASKS_DLQ_URL", "ticks": "TICKS_QUEUE_URL"}
_tenants = count(1)
_worlds = count(1)


@pytest.fixture(scope="session")
def new_world(engine: Place) -> Callable[[pytest.MonkeyPatch], World]:
    def make(environment: pytest.MonkeyPatch) -> World:
        prefix = f"integration-{next(_worlds)}"
        with aws.speaking_to(engine):
            boto3.setup_default_session()
            dynamodb, sqs = (runtime.client.__wrapped__(service) for service in ("dynamodb", "sqs"))
        names = tables.create(dynamodb, prefix)
        queues = {
            name: sqs.create_queue(QueueName=f"{prefix}-{name}", Attributes={"VisibilityTimeout": "900"})[
                "QueueUrl"
            ]
            for name in QUEUES
        }
        for name, value in SETTINGS.items():
            environment.setenv(name, value)
        for name, table in names.items():
            environment.setenv(f"{name.upper()}_TABLE", table)
        for name, variable in QUEUES.items():
            environment.setenv(variable, queues[name])
        return World(
            dynamodb=dynamodb,
            sqs=sqs,
            tables=names,
            queues=queues,
            tenants=DynamoTenants(table=names["tenants"]),
            keys=DynamoKeys(table=names["keys"]),
        )

    return make


@pytest.fixture(scope="module")
def shared_world(new_world: Callable[[pytest.MonkeyPatch], World]) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as environment:
        forget()
        yield new_world(environment)
        forget()


@pytest.fixture
def world(shared_world: World, boundary: Boundary) -> World:
    return shared_world


@pytest.fixture
def client(world: World, request: pytest.FixtureRequest) -> Client:
    """Of a tenant that no other test knows."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return world.tenant(f"{name[:40].strip('-')}-{next(_tenants)}")


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def forget() -> None:
    """The functions as they are before their first event."""
    if run_tasks.wired.cache_info().currsize:
        run_tasks.wired().targets["webhook"].close()  # type: ignore[attr-defined]
    for cached in (wiring.wired, authorize.wired, run_tasks.wired, sweep.wired, runtime.client):
        cached.cache_clear()
