"""The erasure of a tenant after a run: an operator asks for it, the function `erase` dies and is called twice, and the
recorder goes on meanwhile."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import BooksDisagree
from tests.simulation.afterwards import DAY, Afterwards
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import HOUR
from tests.simulation.rows import effects, is_item_row, number, text
from tests.simulation.seen import Broken

if TYPE_CHECKING:
    from tests.simulation.engine import Row
    from tests.simulation.streams import Streams
    from tests.simulation.wire import Told

_PATH: Final = "/api/v1/ops/tenants"
_WAITING: Final = 3
_DAYS: Final = 10
_LATE_HOURS_MAX: Final = 20
# Tables whose rows of another tenant do not change by themselves once everything has ended.
_QUIET: Final = (
    "items",
    "payments",
    "accounts",
    "journal",
    "idempotency",
    "payloads",
    "keys",
    "subscriptions",
)


@dataclass(kw_only=True, slots=True)
class Left:
    """`name` is the new name of the tenant `of`. `texts` are rows and dead letters that name the old one, `events`
    those that tell of renamed rows, `clear` names that renamed rows still have. `before` and `after` are the sums of
    the tenant's money, `reserved` what is held in the end, `other_…` the rows of another tenant."""

    of: str = ""
    name: str = ""
    texts: list[tuple[str, str]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    clear: list[tuple[str, str]] = field(default_factory=list)
    before: Any = None
    after: Any = None
    reserved: int = 0
    other_before: dict[str, list[str]] = field(default_factory=dict)
    other_after: dict[str, list[str]] = field(default_factory=dict)
    audit: Any = None


@dataclass(kw_only=True, slots=True, eq=False)
class Leaving(Afterwards):
    streams: "Streams"
    of: str
    other: str
    left: Left = field(default_factory=Left)
    started: list[str] = field(default_factory=list)

    def go(self) -> Left:
        self.begin()
        self.left.of = self.of
        self.run.wire.started = self._start
        for shard in self.streams.shards:
            # The streams keep records for a day, and the recorder may be that far behind.
            shard.waiting = None
            late = int(self.run.hub.draws.uniform(0, _LATE_HOURS_MAX) * HOUR)
            self.run.hub.after(late, lambda shard=shard: self.streams._worker(shard))
        self.together(HOUR, (self.actor("caller", tenant=self.of), self._wait_for_money))
        self.left.before, self.left.other_before = self._sums(self.of), self._rows(self.other)
        with self.faulty():
            self.together(HOUR, (self.actor("operator", tenant=self.of), self._ask))
            copies = self.run.hub.draws.choice((1, 1, 2))
            self.together(3 * DAY, *((self.actor("", function="erase"), self._erase) for _ in range(copies)))
        self.together(DAY, (self.actor("", function="erase"), self._erase))
        self.run.hub.run(lambda: self.streams.are_recorded, deadline=self.run.hub.now + HOUR)
        self._look()
        self.run.seen.reach["tenants erased"] += 1
        return self.left

    def _start(self, asked: Mapping[str, Any]) -> "Told":
        self.started.append(json.loads(asked["input"])["tenant"])
        return 200, {"executionArn": f"{asked['stateMachineArn']}:{asked['name']}", "startDate": 0}

    def _wait_for_money(self, actor: Actor) -> None:
        """Payments, and a task, that wait for days: an erasure has to cancel what holds money."""
        accounts = self.run.clients.accounts[self.of]
        for place in range(_WAITING):
            form = {
                "from_account_id": accounts[place % len(accounts)],
                "to_account_id": accounts[(place + 1) % len(accounts)],
                "amount": 1 + place,
                "delay_seconds": _DAYS * 24 * 3600,
                "description": f"{self.of} waits",
            }
            key = self.run.clients.key()
            self.run.clients.ask(actor, "POST", "/api/v1/payments/schedule", form, key=key)
        task = self.run.clients.task(actor, "waits") | {"delay_seconds": _DAYS * 24 * 3600}
        task.pop("run_at", None)
        self.run.clients.ask(actor, "POST", "/api/v1/tasks", task, key=self.run.clients.key())

    def _ask(self, actor: Actor) -> None:
        suspended = {"pending": "run", "reason": "test"}
        wanted = {"confirm": self.of, "reason": "test"}
        for path, form, status in (("suspend", suspended, 200), ("erase", wanted, 202)):
            while self.run.clients.ask(actor, "POST", f"{_PATH}/{self.of}/{path}", form).http != status:
                self.run.hub.park(5 * SECOND)

    def _erase(self, actor: Actor) -> None:
        """The state machine. A request that was repeated began more than one."""
        (self.left.name,) = set(self.started)
        while True:
            try:
                told = self.answered(actor, "erase", {"tenant": self.left.name})
            except BooksDisagree as error:
                raise Broken(f"I1: the books of {self.of} disagree: {error}") from error
            match told["state"]:
                case "done":
                    return
                case "refused":
                    raise Broken(f"I1: the books of {self.of} disagree while it is erased")
                case _:
                    self.run.hub.park(max(1, told["seconds"]) * SECOND)

    def _sums(self, tenant: str) -> tuple[int, Counter[int], Counter[tuple[str, int]], Counter[int]]:
        """The balance of all accounts, the balances one by one, the payments, and the amounts of movements."""
        engine = self.run.wire.engine
        accounts = [row for row in engine.rows("accounts") if text(row, "tenant") == tenant]
        balances = [number(row, "available") + number(row, "reserved") for row in accounts]
        payments = [row for row in engine.rows("payments") if is_item_row(row) and _of(row, tenant)]
        moved = [row for row in engine.rows("journal") if _of(row, tenant)]
        return (
            sum(balances),
            Counter(balances),
            Counter((str(text(row, "id")), number(row, "amount")) for row in payments),
            Counter(abs(amount) for row in moved for amount in effects(row).values()),
        )

    def _rows(self, tenant: str) -> dict[str, list[str]]:
        engine = self.run.wire.engine
        found = {name: [json.dumps(row, sort_keys=True) for row in engine.rows(name)] for name in _QUIET}
        return {name: sorted(row for row in rows if f'"{tenant}' in row) for name, rows in found.items()}

    def _look(self) -> None:
        engine, left = self.run.wire.engine, self.left
        for table in self.run.wire.engine.tables():
            for row in engine.rows(table):
                told = json.dumps(row)
                if self.of in told:
                    left.texts.append((f"the table {table}", told))
                if table == "events" and left.name in told and "@service" not in told:
                    left.events.append(told)
        for queue in ("tasks-dlq", "payments-dlq"):
            letters = (str(message["body"]) for message in engine.messages(queue))
            left.texts += [(queue, body) for body in letters if self.of in body]
        for table in ("accounts", "journal", "payments"):
            left.clear += [(table, told) for row in engine.rows(table) for told in _clear(row, left.name)]
        accounts = [row for row in engine.rows("accounts") if _of(row, left.name)]
        left.reserved = sum(number(row, "reserved") for row in accounts)
        left.after, left.other_after = self._sums(left.name), self._rows(self.other)
        self.together(HOUR, (self.actor("operator", tenant=left.name), self._audit))

    def _audit(self, actor: Actor) -> None:
        headers = {"authorization": self.run.clients.operators_bearer, "postdate-tenant": self.left.name}
        self.left.audit = self.run.clients.ask(actor, "GET", "/api/v1/audit", headers=headers).body


def _of(row: "Row", tenant: str) -> bool:
    return text(row, "tenant") == tenant


def _clear(row: "Row", tenant: str) -> list[str]:
    """The names and texts of persons that a renamed row still has."""
    if not _of(row, tenant):
        return []
    sides = [
        side for name in ("payer", "payee") if (side := text(row, name)) and not side.startswith("erased-")
    ]
    texts = [name for name in ("description", "metadata", "reason", "reference", "error") if name in row]
    return [*sides, *texts]


def i1_amounts_outlive_a_tenant(left: Left) -> None:
    """Balances, payments and movements have the same amounts under the new name, no hold is left, and the audit is
    green."""
    for before, after, name in zip(
        left.before, left.after, ("sum", "balances", "payments", "movements"), strict=True
    ):
        if before != after:
            raise Broken(f"I1: the {name} of {left.of} were {before} and are {after} after the erasure")
    if left.reserved:
        raise Broken(f"I1: {left.reserved} are held for an erased tenant")
    if not left.audit["ok"]:
        wrong = [check["name"] for check in left.audit["checks"] if not check["ok"]]
        raise Broken(f"I1: the books of {left.of} disagree after the erasure: {wrong}")


def i19_no_name_outlives_a_tenant(left: Left) -> None:
    """In no row and no dead letter; no event tells of renamed rows, and no row of another tenant has changed."""
    for place, told in left.texts:
        raise Broken(f"I19: {place} names {left.of} after its erasure: {told[:300]}")
    for told in left.events:
        raise Broken(f"I19: an event tells of the renamed rows of {left.of}: {told[:300]}")
    for table, told in left.clear:
        raise Broken(f"I19: a renamed row of {table} still has {told}")
    for table, rows in left.other_before.items():
        if rows != left.other_after[table]:
            raise Broken(f"I19: rows of another tenant in {table} changed while {left.of} was erased")
