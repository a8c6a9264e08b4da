"""The test bed of a run: clients for the environment, a scratch table, and the removal of all that a run makes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError

from cli.failure import Failure
from infra.environment import Environment

KEYS = ("slot", "id")


class Unexpected(Failure):
    """AWS behaved otherwise than Postdate expects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """`name` is in the name of each resource that the run makes; `removals` are called at the end, newest first.
    `patience_seconds` bounds the wait for a stack or an alarm."""

    environment: Environment
    client: Callable[[str], Any]
    api_url: str
    tasks: int
    patience_seconds: float
    name: str
    table: str
    removals: ExitStack

    def row(self, id: str, **attributes: str) -> dict[str, Any]:
        return {"slot": {"S": "smoke"}, "id": {"S": id}} | {
            name: {"S": value} for name, value in attributes.items()
        }

    def put(self, *rows: dict[str, Any]) -> None:
        for row in rows:
            self.client("dynamodb").put_item(TableName=self.table, Item=row)


@contextmanager
def made(
    environment: Environment,
    client: Callable[[str], Any],
    *,
    api_url: str,
    tasks: int,
    patience_seconds: float,
) -> Iterator[Bed]:
    name = f"smoke-{uuid4().hex[:8]}"
    table = environment.named(name)
    dynamodb = client("dynamodb")
    with ExitStack() as removals:
        dynamodb.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in KEYS],
            KeySchema=[
                {"AttributeName": key, "KeyType": kind}
                for key, kind in zip(KEYS, ("HASH", "RANGE"), strict=True)
            ],
        )
        removals.callback(dynamodb.delete_table, TableName=table)
        dynamodb.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 2})
        yield Bed(
            environment=environment,
            client=client,
            api_url=api_url,
            tasks=tasks,
            patience_seconds=patience_seconds,
            name=name,
            table=table,
            removals=removals,
        )


def check(is_so: bool, observed: str) -> None:
    if not is_so:
        raise Unexpected(observed)


def code_of(call: Callable[[], Any]) -> str:
    """The code of AWS's refusal; the empty text when the call succeeds."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return ""
