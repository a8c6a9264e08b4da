"""Reads the tables directly, to see items that no client was told of."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice
from typing import Any

from chaos.plan import ACCOUNTS
from postdate.domain import task
from postdate.domain.account import Account
from postdate.domain.definition import is_definition
from postdate.domain.item import kind_of
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment
from postdate.domain.slots import ShardPlan
from postdate.domain.task import Task
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.tasks_dynamo import DynamoTasks

_PAGE = 1000


class Tables:
    """`environment` is what the functions are told."""

    def __init__(self, dynamodb: Any, environment: Mapping[str, str]) -> None:
        self._dynamodb = dynamodb
        self._items, self._payments = environment["ITEMS_TABLE"], environment["PAYMENTS_TABLE"]
        shards = ShardPlan.parse(environment["SHARD_PLAN"])
        listing_shards = int(environment["LISTING_SHARDS"])
        self._tasks = DynamoTasks(
            table=self._items,
            client=dynamodb,
            shards=shards,
            listing_shards=listing_shards,
            retention=timedelta(days=int(environment["RETENTION_DAYS"])),
        )
        self._ledger = DynamoLedger(
            payments_table=self._payments,
            accounts_table=environment["ACCOUNTS_TABLE"],
            journal_table=environment["JOURNAL_TABLE"],
            client=dynamodb,
            shards=shards,
            listing_shards=listing_shards,
        )

    def statuses(self) -> dict[str, str]:
        """State of every task, run and payment, by id."""
        found = {**self._statuses_in(self._items), **self._statuses_in(self._payments)}
        return {id: status for id, status in found.items() if not is_definition(id)}

    def _statuses_in(self, table: str) -> dict[str, str]:
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=table,
            ConsistentRead=True,
            FilterExpression="attribute_exists(#status)",
            ProjectionExpression="id, #status",
            ExpressionAttributeNames={"#status": "status"},
        )
        return {row["id"]["S"]: str(row["status"]["S"]) for page in pages for row in page["Items"]}

    def tasks(self) -> dict[str, Task]:
        return self._tasks.get_many(id for id in self.statuses() if kind_of(id) in task.KINDS)

    def payments(self) -> dict[str, Payment]:
        ids = iter([id for id in self.statuses() if kind_of(id) not in task.KINDS])
        chunks = iter(lambda: list(islice(ids, 100)), [])
        return {id: payment for chunk in chunks for id, payment in self._ledger.payments(chunk).items()}

    def accounts(self, tenant: str) -> dict[str, Account]:
        return self._ledger.accounts(tenant, ACCOUNTS)

    def movements(self, tenant: str) -> list[Movement]:
        """Each once, although it stands in the lists of both its sides."""
        found = {each.id: each for account in ACCOUNTS for each in self._of(tenant, account)}
        return list(found.values())

    def _of(self, tenant: str, account: str) -> Iterator[Movement]:
        after = ""
        while page := self._ledger.movements(tenant, account, after=after, limit=_PAGE):
            yield from page
            after = page[-1].place
