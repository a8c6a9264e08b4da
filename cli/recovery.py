"""Recovery after a restore, from the first account to the watermark, with progress on standard error.

The steps are those of `postdate.recovery`; each may be repeated, so a recovery that broke off is begun again. The
watermark is put back last: nothing is called before it was mended.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.progress import say, step
from postdate.domain import instants
from postdate.domain.mending import Kept, Restored
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Groups, Horizon
from postdate.recovery.money import Money, MoneyReport
from postdate.recovery.tokens import Tokens
from postdate.recovery.watermark import Rewind
from postdate.runtime.clock import Clock
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.timetable import DynamoTimetable

# Tables by their names in an environment; money is kept in these three.
MONEY: Final = {"payments": Kept.PAYMENTS, "accounts": Kept.ACCOUNTS, "journal": Kept.JOURNAL}
_READERS: Final = 16
_TOLD_EVERY: Final = 360


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """`settings` are what the deployed functions read, so their tables are recovered and no others. `restored` names
    the tables that show the instant `since`."""

    settings: Mapping[str, str]
    dynamodb: Any
    clock: Clock
    restored: frozenset[str]
    since: datetime
    dry: bool = False

    def run(self, *, first: datetime | None = None) -> dict[str, Any]:
        """`first` is where the passes begin again; else the notes of the passes say where they stood at `since`."""
        kept = frozenset(MONEY[name] for name in self.restored & MONEY.keys())
        Restored(kept=kept, since=self.since).check()
        rewind = Rewind(passes=DynamoPasses(table=self.settings["SLOTS_TABLE"]), groups=self._groups)
        stood = rewind.stood_at(self.since) if first is None else instants.minute_of(first) - 1
        tenants = self._mend(Restored(kept=kept, since=self.since)) if kept else {}
        tokens = self._raise_tokens(stood) if "items" in self.restored else 0
        mark = None if self.dry else rewind.put_back(stood, tables=self._swept)
        return {
            "since": self.since.isoformat(),
            "restored": sorted(self.restored),
            "dry_run": self.dry,
            "tenants": tenants,
            "tokens_raised": tokens,
            "swept_again_from": instants.start_of((stood if mark is None else mark.minute) + 1).isoformat(),
            "epoch": None if mark is None else mark.epoch,
        }

    @property
    def _swept(self) -> frozenset[str]:
        return frozenset({self.settings["ITEMS_TABLE"], self.settings["PAYMENTS_TABLE"]})

    @property
    def _shards(self) -> ShardPlan:
        return ShardPlan.parse(self.settings["SHARD_PLAN"])

    @property
    def _groups(self) -> Groups:
        return Groups(shards=self._shards, size=int(self.settings["SHARDS_PER_GROUP"]))

    def _mend(self, restored: Restored) -> dict[str, Any]:
        ledger = DynamoLedger(
            payments_table=self.settings["PAYMENTS_TABLE"],
            accounts_table=self.settings["ACCOUNTS_TABLE"],
            journal_table=self.settings["JOURNAL_TABLE"],
            client=self.dynamodb,
            shards=self._shards,
            listing_shards=int(self.settings["LISTING_SHARDS"]),
        )
        money = Money(ledger=ledger, clock=self.clock, restored=restored, dry=self.dry)
        found = {}
        for tenant in DynamoTenants(table=self.settings["TENANTS_TABLE"]).ids():
            with step(f"mending the money of {tenant}"):
                told = mended(money, tenant)
            found[tenant] = {name: value for name, value in asdict(told).items() if value}
        return {tenant: told for tenant, told in found.items() if told}

    def _raise_tokens(self, stood: int) -> int:
        tokens = Tokens(
            timetable=DynamoTimetable(
                items_table=self.settings["ITEMS_TABLE"], payments_table=self.settings["PAYMENTS_TABLE"]
            ),
            tasks=DynamoTasks(
                table=self.settings["ITEMS_TABLE"],
                client=self.dynamodb,
                shards=self._shards,
                listing_shards=int(self.settings["LISTING_SHARDS"]),
                retention=timedelta(days=int(self.settings["RETENTION_DAYS"])),
            ),
            clock=self.clock,
            since=self.since,
            dry=self.dry,
        )
        raised = 0
        with ThreadPoolExecutor(_READERS) as readers:
            for minute in self._minutes(stood):
                groups = range(self._groups.count(minute))
                slots = [slot for group in groups for slot in self._groups.slots(minute, group)]
                raised += sum(readers.map(lambda slot: tokens.raise_in([slot]), slots))
        return raised

    def _minutes(self, stood: int) -> Iterator[int]:
        """The minutes to go through, from the first one that the sweep makes again to the last one that it may have
        opened."""
        horizon = Horizon(
            lead=timedelta(seconds=int(self.settings["OPEN_LEAD_SECONDS"])),
            margin=timedelta(seconds=int(self.settings["OPEN_MARGIN_SECONDS"])),
        )
        for minute in range(stood + 1, horizon.last_minute(self.clock.now()) + 1):
            if minute % _TOLD_EVERY == 0:
                say(f"  tokens are raised up to {instants.start_of(minute).isoformat()}")
            yield minute


def mended(money: Money, tenant: str) -> MoneyReport:
    """Runs both steps over all accounts, and repeats the first step while it opens accounts."""
    whole = MoneyReport()
    while True:
        opened = len(whole.opened)
        for told in _pages(money.match, tenant):
            whole.add(told)
        if len(whole.opened) == opened or money.dry:
            break
    for told in _pages(money.balance, tenant):
        whole.add(told)
    return whole


def _pages(page: Callable[..., MoneyReport], tenant: str) -> Iterator[MoneyReport]:
    after: str | None = ""
    while after is not None:
        told = page(tenant, after=after)
        yield told
        after = told.goes_on_after
