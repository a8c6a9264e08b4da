"""lists: pages of 10,000 payments over 500 accounts, by state, between instants, and a walk through all of them while
others are registered and settled."""

import time
from collections import Counter
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Final

from bench import listed, payments, tasks, warm
from bench.bed import Bed
from bench.figures import spread
from bench.plan import Plan
from bench.report import Line
from cli import tenants
from cli.client import Client
from cli.local import secrets
from cli.progress import step
from postdate.domain.payment import Payment
from postdate.domain.slots import ShardPlan
from postdate.stores.tenants import Tenant
from postdate.stores.tenants_dynamo import DynamoTenants

PATH: Final = "/api/v1/payments"
TENANT: Final = "listed"
PAYMENTS: Final = 10_000
ACCOUNTS: Final = 500
PAGE: Final = 20
PAGE_MAX: Final = 100
PAGE_MS_MAX: Final = 100
_AVAILABLE: Final = 1_000_000
_OTHERS_APART_SECONDS: Final = 0.2
_OTHERS_AHEAD_SECONDS: Final = 2
_WARM_PAGES: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """The ids of each page, and the time that each page took."""

    pages: list[list[str]]
    took_ms: list[float]


def lists(bed: Bed, plan: Plan) -> Iterator[Line]:
    """`missing` and `twice` count payments that were there before the walk, `late` pages above PAGE_MS_MAX."""
    warm.api(bed)
    now = tasks.now()
    with step(f"{PAYMENTS} payments over {ACCOUNTS} accounts"):
        found = _seeded(bed, now)
    key = tenants.key(secrets.key_table(bed.stack.tables), TENANT, tenants.USUAL)
    with Client(bed.stack.api_url, key) as client:
        for _ in range(_WARM_PAGES):
            client.get(f"{PATH}?limit={PAGE_MAX}").expect(200)
        with step("pages by state"):
            walked = _walked(client, f"status=FAILED&limit={PAGE}")
        yield line("status=FAILED", walked, {each.id for each in found if listed.is_failed(each)})
        since, until = now - listed.SPAN / 10, now + listed.SPAN / 10
        with step("pages between two instants, the newest first"):
            between = f"from={_text(since)}&until={_text(until)}"
            walked = _walked(client, f"{between}&order=desc&limit={PAGE}")
        within = {each.id for each in found if since <= each.planned_at < until}
        yield line("from, until, order=desc", walked, within)
        for limit in (PAGE, PAGE_MAX):
            with step(f"all of them, {limit} a page"):
                walked = _walked(client, f"limit={limit}")
            yield line(f"all, {limit} a page", walked, {each.id for each in found})
        with step(f"all of them, {PAGE_MAX} a page, beside others"), _others(bed, key):
            walked = _walked(client, f"limit={PAGE_MAX}")
        yield line(f"all, {PAGE_MAX} a page, beside others", walked, {each.id for each in found})


def line(what: str, walked: Walked, expected: Set[str]) -> Line:
    seen = Counter(id for page in walked.pages for id in page)
    return {
        "case": "lists",
        "what": what,
        "count": len(walked.pages),
        **spread(walked.took_ms, 50, 95, 99),
        "missing": len(expected - seen.keys()),
        "twice": sum(seen[id] > 1 for id in expected),
        "late": sum(took > PAGE_MS_MAX for took in walked.took_ms),
    }


def _seeded(bed: Bed, now: datetime) -> list[Payment]:
    """Written as rows, in a tenant of its own, whose books nobody audits."""
    environment = bed.environment
    DynamoTenants(table=environment["TENANTS_TABLE"]).put(Tenant(id=TENANT))
    shards, listing_shards = ShardPlan.parse(environment["SHARD_PLAN"]), int(environment["LISTING_SHARDS"])
    found = list(listed.payments(TENANT, PAYMENTS, ACCOUNTS, shards=shards, now=now))
    listed.open_accounts(
        bed.dynamodb, environment["ACCOUNTS_TABLE"], TENANT, ACCOUNTS, available=_AVAILABLE, now=now
    )
    listed.write(bed.dynamodb, environment["PAYMENTS_TABLE"], found, listing_shards=listing_shards)
    return found


def _walked(client: Client, query: str) -> Walked:
    walked, cursor = Walked(pages=[], took_ms=[]), ""
    while True:
        began = time.perf_counter()
        answer = client.get(f"{PATH}?{query}{cursor}").expect(200)
        walked.took_ms.append(1000 * (time.perf_counter() - began))
        walked.pages.append([each["payment_id"] for each in answer["payments"]])
        if answer["next_cursor"] is None:
            return walked
        cursor = f"&cursor={answer['next_cursor']}"


@contextmanager
def _others(bed: Bed, key: str) -> Iterator[None]:
    """Payments of the same tenant that are registered, and settled two seconds later."""
    ended = Event()

    def register() -> None:
        form = {
            "from_account_id": listed.account(0),
            "to_account_id": listed.account(1),
            "amount": 1,
            "delay_seconds": _OTHERS_AHEAD_SECONDS,
        }
        with Client(bed.stack.api_url, key) as client:
            while not ended.wait(_OTHERS_APART_SECONDS):
                payments.register(client, form)

    with ThreadPoolExecutor(1) as pool:
        registering = pool.submit(register)
        try:
            yield
        finally:
            ended.set()
        registering.result()


def _text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
