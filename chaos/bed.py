"""The fixture of a run: a local stack of its own, accounts with money, and clients for all of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from chaos.look import Tables
from chaos.plan import ACCOUNTS, DEPOSIT, HIDDEN_SECONDS
from cli.client import Client
from cli.local import aws
from cli.local.own import environment, own
from cli.local.place import Place
from cli.local.stack import Stack

TENANT: Final = "demo"
QUEUES: Final = ("tasks", "slow", "payments", "ticks")
TIMEOUT_SECONDS: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """`sqs` and `functions` may do everything."""

    place: Place
    stack: Stack
    sqs: Any
    functions: Any
    tables: Tables

    def client(self) -> Client:
        """The HTTP API, for one thread."""
        return Client(self.stack.api_url, self.stack.api_key, timeout_seconds=TIMEOUT_SECONDS)

    def admin(self) -> Client:
        """The same with the key that may also open accounts and fund them."""
        return Client(self.stack.api_url, self.stack.admin_key, timeout_seconds=TIMEOUT_SECONDS)

    @property
    def queues(self) -> Mapping[str, str]:
        return {name: self.stack.queues[name] for name in QUEUES}


@contextmanager
def made(name: str = "chaos") -> Iterator[Bed]:
    """`name` tells whose stack it is."""
    with own(name) as (place, stack):
        sqs = aws.client("sqs")
        hidden = {"VisibilityTimeout": str(HIDDEN_SECONDS)}
        for name in ("tasks", "slow"):
            sqs.set_queue_attributes(QueueUrl=stack.queues[name], Attributes=hidden)
        tables = Tables(aws.client("dynamodb"), environment("api", "run-tasks"))
        bed = Bed(place=place, stack=stack, sqs=sqs, functions=aws.client("lambda"), tables=tables)
        _provide_accounts(bed)
        yield bed


def _provide_accounts(bed: Bed) -> None:
    with bed.admin() as client:
        for account in ACCOUNTS:
            client.post("/api/v1/accounts", {"account_id": account}).expect(200, 201)
            path = f"/api/v1/accounts/{account}/deposits"
            client.post(path, {"amount": DEPOSIT}, idempotency_key=account).expect(201)
