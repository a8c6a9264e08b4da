"""The drill: back up, go on, lose tables, restore them under other names, recover, and look at the books.

The backups and restores are the local engine's own. Each case loses other tables; what happens before is the same.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.aws.restored import equipped
from cli.recovery import Recovery
from functions.api.accounts.restate import QUIET
from functions.api.wiring import wired
from infra.environments import PROD
from postdate.domain.instants import milliseconds
from postdate.domain.task_requests import TOKENS_AHEAD
from postdate.runtime.clock import SystemClock
from postdate.use_cases.auditing import Auditor
from tests.boundary import Boundary
from tests.integration.conftest import SETTINGS, entered
from tests.integration.world import Client, Record, World

START = datetime(2026, 11, 18, tzinfo=UTC)
TICK = {"kind": "tick"}
PAYERS = ("alice", "carol", "dave", "erin")
SECONDS = 15


class Impatient(SystemClock):
    """No index of the local engine is ever behind."""

    def sleep_until(self, instant: datetime) -> None:
        pass


@dataclass(kw_only=True)
class Drill:
    """One tenant's day, on a world of its own. `arrived` are deliveries: the run's id and its token. Calls of what is
    `kept_back` are lost, so that it still waits when the tables are."""

    world: World
    client: Client
    boundary: Boundary
    monkeypatch: pytest.MonkeyPatch
    since: datetime = START
    backups: dict[str, str] | None = None
    kept_back: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.arrived: list[tuple[str, int]] = []
        self.client.accounts(bob=0, **dict.fromkeys(PAYERS, 100))

    def pay(self, payer: str, key: str, **fields: Any) -> str:
        answer = self.client.pay(key=key, from_account_id=payer, **fields)
        assert answer.status == 201, answer.body
        id: str = answer.body["payment_id"]
        return id

    def task(self, **fields: Any) -> str:
        id: str = self.client.register(**fields).body["task_id"]
        return id

    def status(self, id: str) -> str:
        kind = "payments" if id.startswith("pay_") else "tasks"
        answer = self.client.get(f"/api/v1/{kind}/{id}")
        return str(answer.body["status"]) if answer.status == 200 else str(answer.status)

    def lives(self, done: Callable[[], bool]) -> None:
        """Sweeps, settles and delivers, as the functions are woken, until the condition holds."""
        ends_at = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < ends_at, {id: self.status(id) for id in self.ids}
            assert self.world.sweep(TICK) == []
            assert self._woken("payments", self.world.settle)
            assert self._woken("tasks", self.world.run)
            time.sleep(0.1)

    def _woken(self, queue: str, function: Callable[[Iterable[Record]], list[str]]) -> bool:
        received = self.world.received(self.world.queues[queue])
        found = [each for each in received if not any(id in each["body"] for id in self.kept_back)]
        if found:
            function(found)
        for record in self.world.received(self.client.queue_url):
            told = record["messageAttributes"]
            self.arrived.append((told["Postdate-Run-Id"], int(told["Postdate-Token"])))
        return True

    @property
    def ids(self) -> list[str]:
        return [name for name in vars(self).values() if isinstance(name, str) and "_" in name]

    def backs_up(self) -> None:
        self.backups = {
            name: self.world.dynamodb.create_backup(TableName=table, BackupName=name)["BackupDetails"][
                "BackupArn"
            ]
            for name, table in self.world.tables.items()
            if name in ("items", "payments", "accounts", "journal")
        }
        self.since = datetime.now(UTC)

    def restores(self, *names: str) -> None:
        """The functions use the new tables from now on, and the others as they are."""
        assert self.backups is not None
        tables = dict(self.world.tables)
        for name in names:
            tables[name] = f"{tables[name]}-restored"
            self.world.dynamodb.restore_table_from_backup(
                TargetTableName=tables[name], BackupArn=self.backups[name]
            )
        used = {f"{name.upper()}_TABLE": table for name, table in tables.items()}
        self.world = replace(self.world, tables=tables, environment=self.world.environment | used)
        entered(self.world, self.monkeypatch)
        for queue in ("tasks", "payments"):
            self.world.received(self.world.queues[queue])
        self.arrived.clear()

    def recovers(self, *names: str, **more: Any) -> dict[str, Any]:
        recovery = Recovery(
            settings=self.world.environment,
            dynamodb=self.world.dynamodb,
            clock=Impatient(),
            restored=frozenset(names),
            since=self.since,
            **more,
        )
        found: dict[str, Any] = recovery.run(first=self.since - timedelta(minutes=2))
        return found

    def has_rested(self, account: str) -> None:
        """Waits for as long as an account has to be unchanged before it is set right."""
        self.world.dynamodb.update_item(
            TableName=self.world.tables["accounts"],
            Key={"account": {"S": f"{self.client.tenant}#{account}"}},
            UpdateExpression="SET updated = :updated",
            ExpressionAttributeValues={":updated": {"N": str(milliseconds(datetime.now(UTC) - QUIET))}},
        )

    def audit(self) -> list[str]:
        """The checks that do not hold, with what they observed."""
        found = Auditor(ledger=wired().tables.ledger, clock=wired().clock).audit(self.client.tenant)
        assert found.moving == []
        return [f"{check.name}: {check.observed}" for check in found.checks if not check.ok]


@pytest.fixture
def drill(new_world: Callable[[], World], boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> Drill:
    """Up to the loss: what was stored before the backup, and what became of it since."""
    world = entered(new_world(), monkeypatch)
    drill = Drill(world=world, client=world.tenant("drill"), boundary=boundary, monkeypatch=monkeypatch)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    drill.settled = drill.pay("alice", "settled", delay_seconds=1)
    drill.sooner = drill.pay("alice", "sooner", scheduled_time=tomorrow)
    drill.cancelled = drill.pay("carol", "cancelled", scheduled_time=tomorrow)
    drill.waits = drill.pay("dave", "waits", delay_seconds=3)
    drill.ran, drill.later = drill.task(), drill.task(delay_seconds=3)
    drill.kept_back = (drill.waits, drill.later)
    drill.backs_up()
    soon = {"delay_seconds": 1}
    assert drill.client.call("PATCH", f"/api/v1/payments/{drill.sooner}", soon).status == 200
    assert drill.client.call("POST", f"/api/v1/payments/{drill.cancelled}/cancel").status == 200
    drill.new = drill.pay("erin", "new", delay_seconds=1)
    moved = (drill.settled, drill.sooner, drill.new)
    drill.lives(
        lambda: {drill.status(id) for id in moved} == {"COMPLETED"} and drill.status(drill.ran) == "SUCCEEDED"
    )
    drill.kept_back = ()
    return drill


def balances(drill: Drill) -> dict[str, tuple[int, int]]:
    found = {name: drill.client.get(f"/api/v1/accounts/{name}").body for name in ("bob", *PAYERS)}
    return {name: (each["available"], each["reserved"]) for name, each in found.items()}


def test_lost_items_come_back_and_nothing_moves_twice(drill: Drill) -> None:
    (_, given) = next(each for each in drill.arrived if each[0] == drill.ran)
    drill.restores("items", "payments")
    assert [drill.status(id) for id in (drill.settled, drill.sooner, drill.ran)] == ["PENDING"] * 3
    assert drill.status(drill.new) == "404"
    assert drill.world.sweep(TICK) == ["0"], "a sweeper of another table has to refuse"

    told = drill.recovers("items", "payments")
    mended = told["tenants"]["drill"]
    assert set(mended["completed"]) == {drill.settled, drill.sooner}
    assert mended["rebuilt"] == [drill.new]
    assert mended["parked"] == [drill.cancelled]
    assert list(mended["unsound"]) == ["carol"]
    drill.lives(
        lambda: (
            drill.status(drill.waits) == "COMPLETED"
            and {drill.status(id) for id in (drill.ran, drill.later)} == {"SUCCEEDED"}
        )
    )
    assert drill.status(drill.cancelled) == "EXECUTING"
    assert balances(drill) == {
        "bob": (40, 0),
        "alice": (80, 0),
        "carol": (100, 0),
        "dave": (90, 0),
        "erin": (90, 0),
    }
    tokens = [token for id, token in drill.arrived if id == drill.ran]
    assert min(tokens) > TOKENS_AHEAD > given
    assert drill.audit() == ["reserved_matches_holds: ['carol: 0 reserved, 10 held']"]

    replayed = drill.client.pay(key="new", from_account_id="erin", delay_seconds=1)
    assert (replayed.status, replayed.body["payment_id"]) == (201, drill.new)
    assert replayed.headers["idempotent-replayed"] == "true"
    assert balances(drill)["erin"] == (90, 0)

    adjustment = {"to_journal": True, "reason": "payments were restored"}
    carol = "/api/v1/accounts/carol/adjustments"
    early = drill.client.call("POST", carol, adjustment, {"idempotency-key": "carol"})
    assert (early.status, early.body["code"]) == (409, "invalid_state"), "it has changed since the instant"
    drill.has_rested("carol")
    assert drill.client.call("POST", carol, adjustment, {"idempotency-key": "carol"}).status == 201
    operator = Client(tenant=drill.client.tenant, scopes="ops payments:write", operates=True)
    assert operator.call("POST", f"/api/v1/payments/{drill.cancelled}/cancel").status == 200
    assert balances(drill)["carol"] == (100, 0)
    assert drill.audit() == []


@pytest.mark.parametrize(
    ("names", "completed", "movements"),
    [
        (("accounts",), 0, 0),
        (("journal",), 0, 3),
        (("payments", "accounts"), 2, 0),
        (("accounts", "journal"), 0, 3),
    ],
    ids=["accounts", "journal", "payments+accounts", "accounts+journal"],
)
def test_whatever_is_lost_is_mended_from_the_rest(
    drill: Drill, names: tuple[str, ...], completed: int, movements: int
) -> None:
    """But for deposits and registrations that only the lost tables knew, of which there are none here."""
    before = balances(drill)
    drill.restores(*names)
    told = drill.recovers(*names)["tenants"].get("drill", {})
    assert "unsound" not in told
    assert (len(told.get("completed", ())), len(told.get("movements", ()))) == (completed, movements)
    if "payments" not in names:
        assert balances(drill) == before
    assert drill.audit() == []
    drill.lives(lambda: drill.status(drill.waits) == "COMPLETED")
    assert drill.audit() == []


def test_all_tables_of_one_instant_go_on_from_there(drill: Drill) -> None:
    """Answers given after the instant are forgotten: a payment moves again, and the cancelled one waits again."""
    drill.restores("items", "payments", "accounts", "journal")
    told = drill.recovers("items", "payments", "accounts", "journal")
    assert told["tenants"] == {}
    assert balances(drill)["alice"] == (80, 20)
    drill.lives(lambda: {drill.status(id) for id in (drill.settled, drill.waits)} == {"COMPLETED"})
    assert (drill.status(drill.sooner), drill.status(drill.cancelled)) == ("PENDING", "PENDING")
    assert drill.status(drill.new) == "404"
    assert drill.audit() == []


def test_recovering_twice_and_a_dry_run_change_nothing_more(drill: Drill) -> None:
    drill.restores("items", "payments")
    planned = drill.recovers("items", "payments", dry=True)
    assert drill.world.sweep(TICK) == ["0"]
    assert drill.status(drill.settled) == "PENDING"
    first = drill.recovers("items", "payments")
    assert planned["tenants"]["drill"]["completed"] == first["tenants"]["drill"]["completed"]
    assert planned["tokens_raised"] == first["tokens_raised"] == 2
    again = drill.recovers("items", "payments")
    assert again["tenants"] == {"drill": {"unsound": first["tenants"]["drill"]["unsound"]}}
    assert (again["tokens_raised"], again["epoch"]) == (0, first["epoch"] + 1)


def test_a_watermark_without_its_notes_is_recovered_from_a_minute_that_is_named(drill: Drill) -> None:
    """The table slots is gone as well: a new one knows nothing."""
    slots = drill.world.tables["slots"]
    for row in drill.world.rows(slots):
        key = {"scope": row["scope"], "name": row["name"]}
        drill.world.dynamodb.delete_item(TableName=slots, Key=key)
    drill.recovers()
    drill.lives(lambda: drill.status(drill.waits) == "COMPLETED")
    assert SETTINGS["SHARD_PLAN"] == drill.world.environment["SHARD_PLAN"]
    assert drill.audit() == []


def test_a_restored_table_is_given_what_the_restore_left_out(drill: Drill) -> None:
    drill.restores("items", "journal")
    items, journal = (drill.world.tables[name] for name in ("items", "journal"))
    environment = replace(PROD, restored={"items": items, "journal": journal})
    changes = list(equipped(drill.world.dynamodb, environment, ["items", "journal"]))
    assert changes == [
        f"{items}: rows expire",
        f"{items}: can be restored to any second",
        f"{items}: protected from deletion",
        f"{journal}: can be restored to any second",
        f"{journal}: protected from deletion",
    ]
    assert list(equipped(drill.world.dynamodb, environment, ["items", "journal"])) == []
    described = drill.world.dynamodb.describe_time_to_live(TableName=items)["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires_at"
    for table in (items, journal):
        drill.world.dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
