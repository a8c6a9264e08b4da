"""The keys of a local stack, and what fixtures of events make with them: accounts, payments, tasks and plans."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

from cli.client import Client
from cli.failure import Failure
from cli.local import aws
from cli.local.place import Place
from cli.local.stack import Stack
from cli.service import TENANT_HEADER, Service
from infra.environments import LOCAL
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting
from postdate.domain.slots import ShardPlan
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.tasks_dynamo import DynamoTasks

PATIENCE_SECONDS: Final = 120
_LOOKS_EVERY_SECONDS: Final = 0.3
# A plan that runs once a year runs by hand alone.
_YEARLY: Final = "0 0 1 1 *"
API: Final = "/api/v1"
Event = dict[str, Any]


class Hands:
    """`mine` acts for the demo tenant as its administrator, `operator` for a tenant of its own, which is made at the
    first use. `dead_end` is an address where nobody answers."""

    def __init__(self, stack: Stack, place: Place, opened: ExitStack) -> None:
        self._stack = stack
        with aws.speaking_to(place):
            self._dynamodb, self._lambda = aws.client("dynamodb"), aws.client("lambda")
        self._opened = opened
        self._other = ""
        self._plans: list[str] = []
        self.mine = Service(
            opened.enter_context(Client(stack.api_url, stack.admin_key)), {}, url=stack.api_url
        )
        unheard = opened.enter_context(socket.socket())
        unheard.bind(("127.0.0.1", 0))
        self.dead_end = {"type": "webhook", "url": f"http://127.0.0.1:{unheard.getsockname()[1]}/trigger"}
        self.queue = {"type": "sqs", "queue_url": stack.destination_queue_url}
        self.since = datetime.now(UTC)

    @property
    def other(self) -> str:
        """The name of a new tenant."""
        if not self._other:
            self._other = f"triggered-{uuid4().hex[:12]}"
            self.operator.post(f"{API}/ops/tenants", {"tenant_id": self._other})
        return self._other

    @property
    def operator(self) -> Service:
        client = self._opened.enter_context(Client(self._stack.api_url, self._stack.operator_key))
        return Service(client, {TENANT_HEADER: self._other}, url=self._stack.api_url)

    def account(self, amount: int = 0) -> str:
        id = f"triggered-{uuid4().hex[:12]}"
        self.mine.post(f"{API}/accounts", {"account_id": id})
        if amount:
            self.deposit(id, amount)
        return id

    def deposit(self, account: str, amount: int) -> None:
        self.keyed(f"accounts/{account}/deposits", {"amount": amount})

    def keyed(self, path: str, form: Mapping[str, Any]) -> Any:
        """A request with an idempotency key of its own."""
        return self.mine.send("POST", f"{API}/{path}", dict(form), **{"Idempotency-Key": uuid4().hex})

    def payment(self, *, balance: int = 10, **given: Any) -> str:
        """Registers a payment of ten units in an hour, unless `given` differs. Returns its id."""
        accounts = {"from_account_id": self.account(balance), "to_account_id": self.account()}
        form = {**accounts, "amount": 10, "delay_seconds": 3600, "description": "triggered", **given}
        return str(self.keyed("payments/schedule", form)["payment_id"])

    def task(self, **given: Any) -> str:
        """Registers a task to the queue in an hour, unless `given` differs. Returns its id."""
        form = {"delay_seconds": 3600, "target": self.queue, "payload": {"from": "trigger"}, **given}
        return str(self.mine.post(f"{API}/tasks", form)["task_id"])

    def plan(self, *, runs: bool = False, **given: Any) -> str:
        """A recurring task that runs once a year; with `runs` also now."""
        id = self.task(**{"cron": _YEARLY, "delay_seconds": None, **given})
        self._plans.append(id)
        if runs:
            self.mine.post(f"{API}/tasks/{id}/trigger", {})
        return id

    def settle(self, id: str, decide: Callable[[Payment], Posting]) -> None:
        """Commits a decision about a payment as the function `settle` does."""
        tables, settings = self._stack.tables, LOCAL.settings
        ledger = DynamoLedger(
            payments_table=tables["payments"],
            accounts_table=tables["accounts"],
            journal_table=tables["journal"],
            client=self._dynamodb,
            shards=ShardPlan.parse(settings.shard_plan),
            listing_shards=settings.listing_shards,
        )
        payment = ledger.payment(id)
        if payment is None:
            raise Failure(f"there is no payment {id}")
        ledger.post([decide(payment).signed("function:settle")])

    def run_task(self, id: str, decide: Callable[[Task], Transition]) -> None:
        """Commits a decision about a run as the function `run_tasks` does."""
        settings = LOCAL.settings
        tasks = DynamoTasks(
            table=self._stack.tables["items"],
            client=self._dynamodb,
            shards=ShardPlan.parse(settings.shard_plan),
            listing_shards=settings.listing_shards,
            retention=timedelta(days=settings.retention_days),
            author=lambda: "function:run_tasks",
        )
        run = tasks.get(id)
        if run is None:
            raise Failure(f"there is no run {id}")
        tasks.commit([decide(run)])

    def record(self, **event: Any) -> None:
        """Calls the function `record` with a command."""
        name = LOCAL.named("record")
        answer = self._lambda.invoke(FunctionName=name, Payload=json.dumps(event))
        if "FunctionError" in answer:
            raise Failure(f"{name} failed: {answer['Payload'].read().decode()}")

    def seen(self, type: str, marker: str, *, within: float = PATIENCE_SECONDS) -> Event:
        """The event of this type that names `marker` anywhere, as soon as the feed has it. Raises Failure after
        `within` seconds."""
        until = time.monotonic() + within
        asked = urlencode({"type": type, "since": self.since.isoformat(), "limit": 100})
        while time.monotonic() < until:
            for api, path in self._feeds(type):
                for event in api.get(f"{API}/{path}?{asked}")["events"]:
                    if marker in json.dumps(event):
                        found: Event = event
                        return found
            time.sleep(_LOOKS_EVERY_SECONDS)
        raise Failure(f"No {type} of {marker} was recorded within {within} s.")

    def _feeds(self, type: str) -> Iterator[tuple[Service, str]]:
        """The feeds that an event of this type may be in: the service's own has the parameters."""
        if type.startswith("config."):
            yield self.operator, "ops/events"
            return
        yield self.mine, "events"
        if self._other:
            yield self.operator, "events"

    def clear(self) -> None:
        """Ends the plans that were made."""
        for id in self._plans:
            try:
                self.mine.delete(f"{API}/tasks/{id}")
            except Failure:
                continue


@contextmanager
def hands(stack: Stack, place: Place) -> Iterator[Hands]:
    with ExitStack() as opened:
        made = Hands(stack, place, opened)
        yield made
        made.clear()
