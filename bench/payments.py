"""Accounts with money in them, payments registered as a client does, and what the tables say became of them."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from bench import batches, tasks
from bench.bed import Bed
from bench.figures import spread
from bench.load import Ran, side_by_side
from bench.plan import CLIENTS
from cli.client import Client
from postdate.domain import instants
from postdate.domain.payment import Payment, State
from postdate.domain.slots import ShardPlan
from postdate.stores.ledger_dynamo import DynamoLedger

PATH: Final = "/api/v1/payments/schedule"
TENANT: Final = "demo"
ACCOUNTS: Final = tuple(f"bench-{number:03}" for number in range(200))
HOT: Final = "bench-hot"
AMOUNT: Final = 1
_DEPOSIT: Final = 1_000_000
_SIDES: Final = (("payer", 1), ("payee", -1))
Pair = tuple[str, str]


def provide_accounts(bed: Bed) -> None:
    """Opened and funded through the API, once a run: the hot account is the last."""

    def caller(opened: ExitStack) -> Callable[[str], None]:
        client = opened.enter_context(bed.admin())

        def call(account: str) -> None:
            client.post("/api/v1/accounts", {"account_id": account}).expect(200, 201)
            deposit = {"amount": _DEPOSIT}
            client.post(f"/api/v1/accounts/{account}/deposits", deposit, idempotency_key=account).expect(201)

        return call

    with bed.admin() as client:
        if client.get(f"/api/v1/accounts/{HOT}").status == 200:
            return
    side_by_side(CLIENTS, ACCOUNTS, caller)
    side_by_side(1, [HOT], caller)


def spread_pairs(count: int) -> list[Pair]:
    """Payer and payee of each, two different accounts; drawn with a fixed seed."""
    drawn = random.Random(count)  # noqa: S311 (no secret)
    return [(first, second) for first, second in (drawn.sample(ACCOUNTS, 2) for _ in range(count))]


def hot_pairs(count: int) -> list[Pair]:
    """From every account by turns, onto one."""
    return [(ACCOUNTS[number % len(ACCOUNTS)], HOT) for number in range(count)]


def form(pair: Pair, due_at: datetime) -> dict[str, Any]:
    payer, payee = pair
    return {
        "from_account_id": payer,
        "to_account_id": payee,
        "amount": AMOUNT,
        "scheduled_time": due_at.isoformat(),
    }


def register(client: Client, form: dict[str, Any]) -> str:
    return str(client.post(PATH, form, idempotency_key=str(uuid4())).expect(201)["payment_id"])


def register_all(bed: Bed, pairs: Iterable[Pair], ahead_seconds: float) -> Ran[str]:
    """Registers payments singly with four clients. Each is due so long after its request."""

    def caller(opened: ExitStack) -> Callable[[Pair], str]:
        client = opened.enter_context(bed.client())
        return lambda pair: register(client, form(pair, tasks.ahead(ahead_seconds)))

    return side_by_side(CLIENTS, pairs, caller)


def keyed(form: dict[str, Any]) -> dict[str, Any]:
    """The same body with its key, as a batch names it."""
    return form | {"idempotency_key": str(uuid4())}


def register_batches(bed: Bed, forms: Iterable[dict[str, Any]], clients: int) -> Ran[list[str]]:
    return batches.register(bed, f"{PATH}/batch", "payment", [keyed(form) for form in forms], clients)


def ledger(bed: Bed, client: Any) -> DynamoLedger:
    return DynamoLedger(
        payments_table=bed.environment["PAYMENTS_TABLE"],
        accounts_table=bed.environment["ACCOUNTS_TABLE"],
        journal_table=bed.environment["JOURNAL_TABLE"],
        client=client,
        shards=ShardPlan.parse(bed.environment["SHARD_PLAN"]),
        listing_shards=int(bed.environment["LISTING_SHARDS"]),
    )


def kept(bed: Bed, ids: Iterable[str]) -> dict[str, Payment]:
    return ledger(bed, bed.dynamodb).payments(ids)


def own_account(found: Mapping[str, Payment], due_ms: Mapping[str, float]) -> dict[str, float]:
    """Delays from our own rows: from each instant to the decision before the commit, and the number of payments that
    did not end as expected."""
    decided = [
        instants.milliseconds(payment.finished_at) - due_ms[payment.id]
        for payment in found.values()
        if payment.finished_at and payment.state is State.COMPLETED
    ]
    again = sum(payment.attempts > 1 for payment in found.values())
    return spread(decided, 50, 99, prefix="decided_") | {
        "retried": again,
        "not_completed": len(due_ms) - len(decided),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """By our own rows: `missing` did not end as meant, `twice` have not one row in the journal though they did, `early`
    were decided before their instant."""

    missing: int
    twice: int
    early: int


def judged(bed: Bed, found: Mapping[str, Payment], due_ms: Mapping[str, float]) -> Judged:
    completed = [payment for payment in found.values() if payment.state is State.COMPLETED]
    rows = _journalled(bed)
    return Judged(
        missing=len(due_ms) - len(completed),
        twice=sum(rows[payment.id] != 1 for payment in completed),
        early=sum(
            instants.milliseconds(payment.finished_at) < due_ms[payment.id]
            for payment in completed
            if payment.finished_at
        ),
    )


def _journalled(bed: Bed) -> Counter[str]:
    """Number of journal rows of each payment, from a read of the whole journal."""
    return Counter(row["payment_id"]["S"] for row in _scanned(bed, "JOURNAL_TABLE") if "payment_id" in row)


def account_versions(bed: Bed) -> dict[str, int]:
    """Each change of an account counts one: how well postings were merged shows in how few there are."""
    found = ledger(bed, bed.dynamodb).accounts(TENANT, (*ACCOUNTS, HOT))
    return {account.id: account.version for account in found.values()}


def unsound(bed: Bed) -> int:
    """Accounts whose balance is not what the journal comes to; both are read whole."""
    balances: Counter[str] = Counter()
    for row in _scanned(bed, "ACCOUNTS_TABLE"):
        if row["tenant"]["S"] == TENANT:
            account = row["account"]["S"].partition("#")[2]
            balances[account] += int(row["available"]["N"]) + int(row["reserved"]["N"])
    for row in _scanned(bed, "JOURNAL_TABLE"):
        if row["tenant"]["S"] == TENANT:
            amount = int(row["amount"]["N"])
            for side, sign in _SIDES:
                if side in row:
                    balances[row[side]["S"]] += sign * amount
    return sum(balance != 0 for balance in balances.values())


def audit(bed: Bed) -> str:
    """Result of `GET /api/v1/audit` for all books: `ok`, the names of failed checks, or that it did not answer."""
    failed: set[str] = set()
    after = ""
    with bed.admin() as client:
        while True:
            told = client.get("/api/v1/audit" + (f"?after={after}" if after else ""))
            if told.status != 200:
                return f"answered {told.status}"
            failed |= {check["name"] for check in told.body["checks"] if not check["ok"]}
            after = told.body["goes_on_after"] or ""
            if not after:
                return ", ".join(sorted(failed)) or "ok"


def _scanned(bed: Bed, table: str) -> Iterator[dict[str, Any]]:
    pages = bed.dynamodb.get_paginator("scan").paginate(TableName=bed.environment[table], ConsistentRead=True)
    for page in pages:
        yield from page["Items"]
