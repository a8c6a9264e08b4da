"""The machine `reconcile` with the real functions: twelve kinds of corruption are planted, named, and left alone."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import boto3
import pytest

from functions.api import wiring
from functions.operate.handler import handler as operate
from functions.reconcile import handler as reconcile
from functions.reconcile import wiring as reconcile_wiring
from functions.record import handler as record
from functions.record.mend import IN_STREAM
from postdate.domain import task
from postdate.domain.due import Due, Packet, Via
from postdate.domain.event import Event, Subject
from postdate.domain.reconciling import ArchiveRun
from postdate.domain.slots import item_id
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import text_of
from postdate.stores.reports import S3Reports, note_archive
from tests.boundary import Boundary
from tests.contract.examples import PLAN
from tests.engines import Engines, speaking_to
from tests.integration.conftest import SETTINGS, entered, forget
from tests.integration.test_events import Stream, recorded
from tests.integration.world import Client, Context, World
from tests.machine import RETRY, Interpreted

LATER: Final = timedelta(minutes=11)
_tenants = count(1)


class NextDay(SystemClock):
    """Behind the last record that a stream may still have."""

    def now(self) -> datetime:
        return super().now() + IN_STREAM + LATER


class Later(SystemClock):
    """Eleven minutes ahead, so that what a test has just written is no longer young."""

    def now(self) -> datetime:
        return super().now() + LATER

    def sleep_until(self, instant: datetime) -> None:
        pass


@dataclass
class Night:
    """One execution, and what came of it."""

    status: str
    report: dict[str, Any]
    walked: set[tuple[str, str]]


@pytest.fixture
def world(
    new_world: Callable[[], World], boundary: Boundary, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setattr(reconcile_wiring, "SystemClock", Later)
    # The engine has one server, so an empty answer is the whole truth.
    monkeypatch.setattr(reconcile_wiring, "LETTERS_WAIT_SECONDS", 0)
    yield entered(new_world(), monkeypatch)
    forget()


@pytest.fixture
def s3(engine: Engines) -> Any:
    with speaking_to(engine):
        return boto3.client("s3")


@pytest.fixture(autouse=True)
def wired_late(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    reconcile.wired.cache_clear()
    monkeypatch.setattr(record.wired().mender, "_clock", NextDay())
    yield
    reconcile.wired.cache_clear()


def machine(**instead: Any) -> Interpreted:
    calls = {
        "Reconcile": lambda event: reconcile.handler(event, Context()),
        "Record": lambda event: record.handler(event, Context()),
    }
    return Interpreted(name="reconcile", calls=calls | instead, clock=Later())


@pytest.fixture(autouse=True)
def archived(world: World, s3: Any) -> None:
    """The archive came to its end."""
    note_archive(reports(s3), ArchiveRun(finished_at=Later().now(), failed=()))


def reports(s3: Any) -> S3Reports:
    return S3Reports(bucket=SETTINGS["REPORTS_BUCKET"], client=s3)


def night(s3: Any, run: Interpreted | None = None, name: str = "night") -> Night:
    run = run or machine()
    run.start(name, {})
    run.run()
    prefix = f"reports/{reconcile.run_id(datetime(2026, 11, 18, 10, 5, tzinfo=UTC), name)}"
    bucket = SETTINGS["REPORTS_BUCKET"]
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    report = json.loads(s3.get_object(Bucket=bucket, Key=listed[0]["Key"])["Body"].read()) if listed else {}
    return Night(status=run.status[name], report=report, walked=run.walked)


@dataclass
class Books:
    """Eight accounts, each the payer of two completed payments and of one to come; a plan, and two dead tasks."""

    client: Client
    stream: Stream
    paid: dict[str, list[str]]
    held: dict[str, str]
    plans: list[str]
    dead: list[str]


PAYERS: Final = tuple(f"payer{number}" for number in range(8))


@pytest.fixture
def books(world: World) -> Books:
    client = world.tenant(f"reconciled-{next(_tenants)}")
    stream = Stream(world, client)
    client.accounts(bob=0, **dict.fromkeys(PAYERS, 100))
    paid: dict[str, list[str]] = {payer: [] for payer in PAYERS}
    held = {}
    for payer in PAYERS:
        for number in range(2):
            made = client.pay(key=f"{payer}-{number}", from_account_id=payer, delay_seconds=1)
            paid[payer].append(made.body["payment_id"])
        later = client.pay(key=f"{payer}-later", from_account_id=payer, delay_seconds=86_400)
        held[payer] = later.body["payment_id"]
    assert recorded(stream.records()) == []
    assert world.settle(world.received(world.queues["payments"], tenant=client.tenant)) == []
    assert recorded(stream.records()) == []
    plans = [
        client.call("POST", "/api/v1/tasks", {"cron": "0 0 * * *", "target": client.target}).body["task_id"]
        for _ in range(2)
    ]
    gone = world.sqs.create_queue(QueueName=f"postdate-test-destination-gone-{client.tenant}")["QueueUrl"]
    target = {"type": "sqs", "queue_url": client.queue_url}
    world.sqs.delete_queue(QueueUrl=gone)
    world.sqs.delete_queue(QueueUrl=client.queue_url)
    dead = [client.register(target=target, retry={"max_attempts": 1}).body["task_id"] for _ in range(2)]
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    return Books(client=client, stream=stream, paid=paid, held=held, plans=plans, dead=dead)


def rows(world: World, table: str, **where: str) -> list[dict[str, Any]]:
    found = world.rows(world.tables[table])
    return [row for row in found if all(row.get(name) == {"S": text} for name, text in where.items())]


def change(world: World, table: str, row: Mapping[str, Any], **numbers: int) -> None:
    changed = {**row, **{name: {"N": str(value)} for name, value in numbers.items()}}
    world.dynamodb.put_item(TableName=world.tables[table], Item=changed)


def remove(world: World, table: str, row: Mapping[str, Any], *key: str) -> None:
    world.dynamodb.delete_item(TableName=world.tables[table], Key={name: row[name] for name in key})


def account(world: World, books: Books, name: str) -> dict[str, Any]:
    (row,) = rows(world, "accounts", account=f"{books.client.tenant}#{name}")
    return row


def is_run_of(row: Mapping[str, Any], plan: str) -> bool:
    return row["id"]["S"].startswith(task.RUN_KIND) and plan in str(row)


def letter_ids(world: World) -> list[tuple[str, str]]:
    messages = world.sqs.receive_message(
        QueueUrl=world.queues["tasks-dlq"], MaxNumberOfMessages=10, VisibilityTimeout=0
    ).get("Messages", [])
    return [(each["Body"], each["ReceiptHandle"]) for each in messages]


def test_what_is_right_is_told_as_right(world: World, books: Books, s3: Any) -> None:
    found = night(s3, name="right")
    assert (found.status, found.report["ok"], found.report["findings"]) == ("SUCCEEDED", True, [])
    looked = found.report["looked_at"]
    assert looked["accounts"] >= 9
    assert looked["rows_journal"] >= 24
    assert (looked["plans"], looked["dead"]) == (2, 2)
    assert found.report["unjudged"] == []


@pytest.mark.parametrize(
    ("run", "subjects"),
    [
        (ArchiveRun(finished_at=Later().now() - timedelta(hours=27), failed=()), {"archive"}),
        (ArchiveRun(finished_at=Later().now(), failed=("acme",)), {"acme"}),
    ],
    ids=["stands still", "left a feed out"],
)
def test_an_archive_that_is_behind_is_told(
    world: World, s3: Any, run: ArchiveRun, subjects: set[str]
) -> None:
    note_archive(reports(s3), run)
    found = night(s3, name=f"behind-{min(subjects)}")
    assert found.report["by_check"] == {"events_archived": 1}
    assert {each["subject"] for each in found.report["findings"]} == subjects


def test_twelve_kinds_of_corruption_are_named_and_none_is_repaired(
    world: World, books: Books, s3: Any
) -> None:
    tenant = books.client.tenant
    expected: set[tuple[str, str]] = set()

    def journal(payer: str) -> dict[str, Any]:
        (row,) = rows(world, "journal", tenant=tenant, payment_id=books.paid[payer][0])
        return row

    # 1. A balance that nobody moved. 2. A reservation that no payment holds. 3. A balance below 0.
    row = account(world, books, "payer0")
    change(world, "accounts", row, available=int(row["available"]["N"]) + 5)
    expected.add(("journal_gives_balances", "payer0"))
    row = account(world, books, "payer1")
    change(world, "accounts", row, reserved=13, available=int(row["available"]["N"]) - 3)
    expected.add(("reserved_matches_holds", "payer1"))
    change(world, "accounts", account(world, books, "payer2"), available=-1)
    expected |= {("no_negative_balance", "payer2"), ("journal_gives_balances", "payer2")}
    # 4. A movement that is gone. 5. One whose payment is gone. 6. One with another amount. 7. One under another id.
    remove(world, "journal", journal("payer3"), "listing", "id")
    expected |= {("one_movement_a_payment", "payer3"), ("journal_gives_balances", "payer3")}
    (payment,) = rows(world, "payments", tenant=tenant, id=books.paid["payer4"][0])
    remove(world, "payments", payment, "slot", "id")
    expected.add(("one_movement_a_payment", "payer4"))
    change(world, "journal", journal("payer5"), amount=11)
    expected |= {("legs_sum_to_zero", "payer5"), ("journal_gives_balances", "payer5")}
    doubled = journal("payer6")
    twice = doubled | {"id": {"S": f"{doubled['id']['S']}x"}, "place": {"S": f"{doubled['place']['S']}x"}}
    world.dynamodb.put_item(TableName=world.tables["journal"], Item=twice)
    expected |= {
        *(("legs_sum_to_zero", "payer6"), ("journal_gives_balances", "payer6")),
        ("one_movement_a_payment", "payer6"),
    }
    # 8. An account that is gone.
    remove(world, "accounts", account(world, books, "payer7"), "account")
    expected.add(("account_exists", "payer7"))
    # Their payee is the other side of four of these.
    expected |= {
        *(("journal_gives_balances", "bob"), ("legs_sum_to_zero", "bob")),
        ("one_movement_a_payment", "bob"),
    }
    # 9. A plan without a next run. 10. A dead task without a letter. 11. A letter that calls nothing.
    (run,) = [row for row in rows(world, "items", tenant=tenant) if is_run_of(row, books.plans[0])]
    remove(world, "items", run, "slot", "id")
    expected.add(("next_run_exists", books.plans[0]))
    for body, receipt in letter_ids(world):
        if books.dead[0] in body:
            world.sqs.delete_message(QueueUrl=world.queues["tasks-dlq"], ReceiptHandle=receipt)
            if books.dead[1] in body:
                expected.add(("dead_task_has_letter", books.dead[1]))
    expected.add(("dead_task_has_letter", books.dead[0]))
    nothing = item_id(task.KIND, PLAN.slot(datetime(2026, 11, 18, tzinfo=UTC), b"0" * 10), b"0" * 10)
    due = Due(id=nothing, version=1, due_at=datetime(2026, 11, 18, tzinfo=UTC))
    packet = text_of(Packet(tenant=tenant, via=Via.DEAD, dues=(due,)))
    sent = world.sqs.send_message(QueueUrl=world.queues["tasks-dlq"], MessageBody=packet)
    expected.add(("letter_has_item", sent["MessageId"]))
    # 12. An event that no history tells of. A gap that a history tells of is filled. The tenant is young: none of its
    # events has expired.
    owner = Subject(tenant=tenant, kind="tenant", id=tenant)
    created = Event(subject=owner, type="tenant.created", sequence=1, occurred_at=Later().now())
    record.wired().recorder.record_events(tenant, [created])
    events = rows(world, "events", tenant=tenant)
    lost = [row for row in events if books.paid["payer0"][0] in row["subject"]["S"]]
    remove(world, "events", min(lost, key=lambda row: row["sequence"]["S"]), "subject", "sequence")
    gone = [row for row in events if books.paid["payer4"][0] in row["subject"]["S"]]
    remove(world, "events", min(gone, key=lambda row: row["sequence"]["S"]), "subject", "sequence")
    expected.add(("events_complete", f"evt_1_{books.paid['payer4'][0]}"))

    watched = ("accounts", "payments", "journal", "items", "operations")
    before = {name: rows(world, name) for name in watched[:4]}
    found = night(s3, name="wrong")
    assert found.status == "SUCCEEDED"
    named = {
        (each["check"], each["subject"]) for each in found.report["findings"] if each["tenant"] == tenant
    }
    assert named == expected
    assert {name: rows(world, name) for name in before} == before
    assert found.report["events_filled"] == [f"evt_1_{books.paid['payer0'][0]}"]
    proposed = {each["subject"] for each in found.report["findings"] if each["repair"]}
    assert proposed >= {"payer0", "payer1", books.plans[0]}
    assert proposed.isdisjoint({"payer3", "payer5", "payer6", "payer7"})
    feed = books.client.get("/api/v1/events", query="type=audit.failed").body["events"]
    assert [event["type"] for event in feed] == ["audit.failed"]
    assert "account_exists" in feed[0]["data"]["after"]["checks"]


def test_a_letter_that_another_reader_hides_is_not_missed(world: World, books: Books, s3: Any) -> None:
    hidden = world.sqs.receive_message(
        QueueUrl=world.queues["tasks-dlq"], MaxNumberOfMessages=10, VisibilityTimeout=300
    )["Messages"]
    assert any(books.dead[0] in each["Body"] for each in hidden)
    found = night(s3, name=f"hidden-{books.client.tenant}")
    assert (found.status, found.report["findings"]) == ("SUCCEEDED", [])
    assert found.report["unjudged"] == ["letters of tasks"]


def test_a_dead_task_whose_letter_was_discarded_needs_none(world: World, books: Books, s3: Any) -> None:
    operator = Client(tenant=books.client.tenant, scopes="tasks:read tasks:write operations:write")
    asked = {"action": "discard", "kind": "tasks", "ids": books.dead, "reason": "nobody wants them"}
    operation = operator.call("POST", "/api/v1/operations", asked).body["operation_id"]
    assert operate({"operation_id": operation, "run": 1}, Context())["goes_on"] is False
    assert letter_ids(world) == []
    found = night(s3, name=f"discarded-{operator.tenant}")
    assert (found.status, found.report["findings"]) == ("SUCCEEDED", [])
    assert found.report["looked_at"]["dead"] == 2


def test_a_movement_that_no_list_shows_is_looked_for_by_its_key(world: World, books: Books, s3: Any) -> None:
    (row,) = rows(world, "journal", tenant=books.client.tenant, payment_id=books.paid["payer3"][0])
    remove(world, "journal", row, "listing", "id")
    found = night(s3, name=f"not-listed-{books.client.tenant}")
    assert (found.status, found.report["unjudged"]) == ("SUCCEEDED", [])
    named = {(each["check"], each["subject"]) for each in found.report["findings"]}
    assert named == {
        (check, subject)
        for check in ("one_movement_a_payment", "journal_gives_balances")
        for subject in ("payer3", "bob")
    }


def test_all_edges_of_the_machine_are_walked(world: World, books: Books, s3: Any) -> None:
    """Each state fails once and is tried again, and fails for good once; a step goes on when it had no time."""
    walked: set[tuple[str, str]] = set()
    change(world, "accounts", account(world, books, "payer0"), available=1)
    tried: list[str] = []

    def failing_once(event: dict[str, Any]) -> Any:
        if event["action"] not in tried:
            tried.append(event["action"])
            raise RuntimeError(event["action"])
        return (record if event["action"] in ("check", "audit_failed") else reconcile).handler(
            event, Context()
        )

    found = night(s3, machine(Reconcile=failing_once, Record=failing_once), name="again")
    assert (found.status, found.report["ok"]) == ("SUCCEEDED", False)
    walked |= found.walked
    for action in ("plan", "scan", "compare", "letters", "tenant", "check", "report", "audit_failed"):

        def broken(event: dict[str, Any], action: str = action) -> Any:
            if event["action"] == action or (event["action"] == "give_up" and "give_up" not in tried):
                tried.append(event["action"])
                raise RuntimeError(event["action"])
            of_record = event["action"] in ("check", "audit_failed")
            return (record if of_record else reconcile).handler(event, Context())

        given_up = night(s3, machine(Reconcile=broken, Record=broken), name=f"broken-{action}")
        assert given_up.status == ("SUCCEEDED" if action == "check" else "FAILED")
        walked |= given_up.walked
    change(world, "accounts", account(world, books, "payer0"), available=70)
    walked |= night(s3, name="right-again").walked
    walked |= going_on(s3).walked
    assert machine().edges - walked == set()
    assert {state for state, way in walked if way == RETRY} == {
        *("Plan", "ReadSegment", "ComparePart", "CheckLetters", "CheckTenant", "CheckEvents", "Report"),
        *("TellTenant", "GiveUp"),
    }


def going_on(s3: Any) -> Night:
    """Each scan and each comparison has time for one page, or for some accounts, only."""
    stepped: set[str] = set()

    def in_steps(event: dict[str, Any]) -> Any:
        answer = reconcile.handler(event, Context())
        if event["action"] in ("scan", "compare") and event["action"] not in stepped:
            stepped.add(event["action"])
            return {**event, "goes_on": True, "scan": {**event.get("scan", {}), "goes_on": True}}
        return answer

    return night(s3, machine(Reconcile=in_steps), name="in-steps")


def test_a_machine_that_dies_after_any_state_finds_the_same_when_it_is_run_again(
    world: World, books: Books, s3: Any
) -> None:
    row = account(world, books, "payer0")
    change(world, "accounts", row, available=int(row["available"]["N"]) + 5)

    class Died(BaseException):
        pass

    states = ("plan", "scan", "compare", "letters", "tenant", "check", "report", "audit_failed")
    for died_after in states:

        def dying(event: dict[str, Any], died_after: str = died_after) -> Any:
            of_record = event["action"] in ("check", "audit_failed")
            answer = (record if of_record else reconcile).handler(event, Context())
            if event["action"] == died_after:
                raise Died
            return answer

        name = f"dies-after-{died_after}"
        dead = machine(Reconcile=dying, Record=dying)
        dead.start(name, {})
        with pytest.raises(Died):
            dead.run()
        found = night(s3, name=name)
        assert found.status == "SUCCEEDED"
        named = {(each["check"], each["subject"]) for each in found.report["findings"]}
        assert named == {("journal_gives_balances", "payer0")}
    feed = books.client.get("/api/v1/events", query="type=audit.failed").body["events"]
    assert len(feed) == len(states)


def test_a_payment_that_was_given_another_instant_counts_once(world: World, books: Books, s3: Any) -> None:
    """The first slot of the payment keeps a pointer, which has no amount."""
    path = f"/api/v1/payments/{books.held['payer0']}"
    assert books.client.call("PATCH", path, {"scheduled_time": "2027-03-01T00:00:00Z"}).status == 200
    assert [row for row in rows(world, "payments", tenant=books.client.tenant) if "points_to" in row]
    found = night(s3)
    assert found.status == "SUCCEEDED"
    assert [each for each in found.report["findings"] if each["check"] != "events_complete"] == []


def test_a_repair_is_made_when_a_person_has_approved_it(
    world: World, books: Books, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = books.client
    row = account(world, books, "payer0")
    change(world, "accounts", row, available=int(row["available"]["N"]) + 5)
    row = account(world, books, "payer1")
    change(world, "accounts", row, available=int(row["available"]["N"]) - 5)
    (run,) = [row for row in rows(world, "items", tenant=client.tenant) if is_run_of(row, books.plans[0])]
    remove(world, "items", run, "slot", "id")
    assert night(s3).report["ok"] is False
    operator = Client(tenant=client.tenant, scopes="ops", operates=True)
    (listed,) = operator.get("/api/v1/ops/reconciliations").body["reconciliations"]
    assert listed["by_check"] == {"journal_gives_balances": 2, "next_run_exists": 1}
    subjects = [each["subject_id"] for each in listed["proposals"]]
    assert sorted(subjects) == sorted(["payer0", "payer1", books.plans[0]])

    alone = f"/api/v1/ops/reconciliations/{listed['reconciliation_id']}"
    assert operator.get(alone).body == listed
    assert [each["check"] for each in listed["findings"]] == [
        *["journal_gives_balances"] * 2,
        "next_run_exists",
    ]
    assert client.get(alone).status == 403
    assert operator.get("/api/v1/ops/reconciliations/rec_nothing").status == 404

    monkeypatch.setattr(wiring.wired(), "clock", Later())
    path = f"{alone}/approve"
    assert client.call("POST", path, {"reason": "not mine to approve"}).status == 403
    assert operator.call("POST", path, {"reason": "r", "subject_ids": ["nobody"]}).status == 404
    wanted = {"reason": "a script wrote it", "subject_ids": ["payer0", books.plans[0]]}
    for _ in range(2):
        approved = operator.call("POST", path, wanted)
        assert approved.status == 200
        told = {each["subject_id"]: each for each in approved.body["proposals"]}
        assert (told["payer0"]["outcome"], told[books.plans[0]]["outcome"]) == ("done", "done")
        assert told["payer0"]["approved_by"] == operator.key_id
        assert (told["payer1"]["outcome"], told["payer1"]["approved_by"]) == (None, None)
        assert operator.get(alone).body == approved.body
    told = operator.get("/api/v1/ops/overview").body["reconciliation"]
    assert (told["reconciliation_id"], told["to_approve"]) == (listed["reconciliation_id"], 1)
    assert int(account(world, books, "payer0")["available"]["N"]) == 70
    adjustments = [
        each
        for each in client.get("/api/v1/accounts/payer0/transactions").body["transactions"]
        if each["type"] == "ADJUSTMENT"
    ]
    assert len(adjustments) == 1
    found = night(s3, name="the-next-night")
    named = [(each["check"], each["subject"]) for each in found.report["findings"]]
    assert named == [("journal_gives_balances", "payer1")]
