"""A tenant whose every text is a marker is erased by the real function: no table, queue or object has a marker then,
and the audit is green before and after."""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import boto3
import pytest

from cli.archive import read, verify
from functions.api.wiring import wired
from functions.archive import handler as archive
from functions.erase import handler as erase
from functions.reconcile import handler as reconcile
from functions.reconcile.papers import Papers
from postdate.domain import erasing
from postdate.domain.erasing import Erasure
from postdate.domain.event import SERVICE, Subject
from postdate.domain.reconciling import Proposal, Reconciliation
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import SqsLetters
from postdate.runtime.machine import MemoryMachine
from postdate.stores.archive import S3Archive
from postdate.stores.erasures import DynamoErasures
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.reports import MemoryReports
from postdate.stores.tallies import scope_of
from postdate.stores.vault import Vault
from tests.boundary import Boundary
from tests.engines import Engines, speaking_to
from tests.integration.conftest import SETTINGS, entered, forget
from tests.integration.test_events import Stream, recorded
from tests.integration.world import ALL_SCOPES, Client, Context, World
from tests.machine import RETRY, Interpreted

TENANTS: Final = "/api/v1/ops/tenants"
MARK: Final = "mrkr"
BIG: Final = f"{MARK}-" + "x" * 900
FOLLOWED: Final = (
    *("items", "payments", "accounts", "keys", "tenants", "subscriptions", "flow", "operations"),
    "switches",
)
_numbers = count(1)


@pytest.fixture
def world(
    new_world: Callable[[], World], boundary: Boundary, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """A world and buckets for this test alone, because all of it is searched."""
    made = new_world()
    for name in ("ARCHIVE_BUCKET", "REPORTS_BUCKET"):
        bucket = (
            f"integration-{'reports' if name == 'REPORTS_BUCKET' else 'archive'}-erasure-{next(_numbers)}"
        )
        boto3.Session().client("s3").create_bucket(Bucket=bucket)
        made.environment[name] = bucket  # type: ignore[index]
    yield entered(made, monkeypatch)
    forget()


@pytest.fixture
def s3(engine: Engines) -> Any:
    with speaking_to(engine):
        return boto3.client("s3")


class AtOnce(SystemClock):
    """The machine waits for nothing."""

    def sleep_until(self, instant: datetime) -> None:
        pass


class Tomorrow(AtOnce):
    def now(self) -> datetime:
        return super().now() + timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Marked:
    """The tenant, the streams of its tables, and its balances."""

    client: Client
    streams: tuple[Stream, ...]

    def told(self) -> None:
        """The recorder reads what changed."""
        for stream in self.streams:
            assert recorded(stream.records()) == []


def called(client: Client, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
    answer = client.call(method, path, body, {} if key is None else {"idempotency-key": key})
    assert answer.status < 300, (path, answer.body)
    return answer.body


def filled(world: World) -> Marked:
    """A tenant that did everything, with a marker in each text that a request can give."""
    client = world.tenant(f"{MARK}-{next(_numbers)}")
    operator = Client(tenant=client.tenant, scopes=f"{ALL_SCOPES} ops", operates=True)
    marked = Marked(client=client, streams=tuple(Stream(world, client, each) for each in FOLLOWED))
    text, payer, payee = f"{MARK} text", f"{MARK}-alice", f"{MARK}-bob"
    metadata = {f"{MARK}-name": text}
    told = {"description": text, "metadata": metadata}
    client.accounts(**{payer: 1000, payee: 0})
    deposit = {"amount": 50, "reference": f"{MARK}-reference", **told}
    called(client, "POST", f"/api/v1/accounts/{payer}/deposits", deposit, key=f"{MARK}-deposit")
    adjusted = {"amount": 5, "reason": text}
    called(client, "POST", f"/api/v1/accounts/{payee}/adjustments", adjusted, key=f"{MARK}-adjustment")
    paying = {"from_account_id": payer, "to_account_id": payee, **told}
    done = client.pay(key=f"{MARK}-done", **paying)
    held = client.pay(key=f"{MARK}-held", **paying, delay_seconds=86_400).body["payment_id"]
    called(client, "PATCH", f"/api/v1/payments/{held}", {"amount": 7})
    moved = client.pay(key=f"{MARK}-moved", **paying, delay_seconds=86_400).body["payment_id"]
    later = {"scheduled_time": "2027-03-01T00:00:00Z"}
    called(client, "PATCH", f"/api/v1/payments/{moved}", later)
    cancelled = client.pay(key=f"{MARK}-gone", **paying, delay_seconds=86_400).body["payment_id"]
    called(client, "POST", f"/api/v1/payments/{cancelled}/cancel")
    poor = client.pay(key=f"{MARK}-poor", **paying | {"amount": 900_000}, funding="at_execution")
    marked.told()
    settled(world, client, done.body["payment_id"], "COMPLETED")
    settled(world, client, poor.body["payment_id"], "FAILED")
    with_tasks(world, client)
    operated(client, operator, held)
    marked.told()
    tally = {"scope": {"S": scope_of(client.tenant)}, "name": {"S": "2026-11-18T10:05#00"}}
    world.dynamodb.put_item(TableName=world.tables["slots"], Item=tally)
    reported(world, client.tenant)
    return marked


def reported(world: World, tenant: str) -> None:
    """A reconciliation has found something about this tenant and about another one."""
    findings = [{"check": "c", "tenant": each, "subject": f"{each}-s"} for each in (tenant, "another")]
    found = Reconciliation(
        id="rec_1",
        started_at=datetime.now(UTC),
        finished_at=datetime.now(UTC),
        by_check={"c": 2},
        looked_at={},
        unjudged=2,
        events_filled=2,
        report="reports/rec_1.json",
        findings=tuple(findings),
        proposals=(Proposal(tenant=tenant, subject=f"{tenant}-s", repair="r"),),
    )
    subject = Subject(tenant=tenant, kind="account", id=f"{MARK}-alice")
    report = {
        "findings": findings,
        "unjudged": [f"{tenant}#{MARK}-alice", f"events of {tenant}", "another#a"],
        "events_filled": [subject.event_id(1), "evt_1_pay_x"],
    }
    DynamoReconciliations(table=world.tables["operations"], client=world.dynamodb).put(found)
    erase.wired().eraser.findings.reports.put(found.report, report)


def settled(world: World, client: Client, id: str, state: str) -> None:
    for _ in range(10):
        assert world.settle(world.received(world.queues["payments"], tenant=client.tenant)) == []
        if client.get(f"/api/v1/payments/{id}").body["status"] == state:
            return
        SystemClock().sleep_until(datetime.now(UTC) + timedelta(seconds=1))
    raise AssertionError(client.get(f"/api/v1/payments/{id}").body)


def with_tasks(world: World, client: Client) -> None:
    """Tasks in each state that lasts, a plan, a dead letter, payloads of their own rows, a subscription and flow."""
    headers = {"Authorization": f"Bearer {MARK}"}
    webhook = {"type": "webhook", "url": f"http://127.0.0.1:9/{MARK}", "headers": headers}
    named = {"name": f"{MARK}-name", "tags": [f"{MARK}-tag"], "payload": {MARK: MARK}}
    flow = {"flow_control": {"key": f"{MARK}-key", "rate": 5, "period_seconds": 1, "parallelism": 2}}
    client.register(key=f"{MARK}-run", **named, **flow)
    client.register(**named, target=webhook, retry={"max_attempts": 1})
    big = client.register(**named | {"payload": {MARK: BIG}}, delay_seconds=86_400).body["task_id"]
    called(client, "PATCH", f"/api/v1/tasks/{big}", {"payload": {MARK: f"{BIG}-2"}})
    plan = {**named, "payload": {MARK: BIG}, "cron": "0 0 * * *", "target": client.target}
    called(client, "POST", "/api/v1/tasks", plan)
    job = {"delaySeconds": 86_400, "payload": {MARK: MARK}, "idempotencyKey": f"{MARK}-job"}
    called(client, "POST", "/v1/jobs", job | {"target": client.job_target})
    subscribed = {"target": webhook, "types": ["payment.*"], "description": f"{MARK} text"}
    filters = {"account_id": f"{MARK}-alice", "metadata": {f"{MARK}-name": MARK}}
    called(client, "POST", "/api/v1/subscriptions", {**subscribed, "filter": filters})
    called(client, "PATCH", f"/api/v1/flow-keys/{MARK}-key", {"rate": 7})
    for _ in range(2):
        world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    dead = SqsLetters(url=world.queues["tasks-dlq"], client=world.sqs)
    letters = dead.look(10)
    dead.release(letters)
    assert letters != []


def operated(client: Client, operator: Client, payment: str) -> None:
    """A key, an operation and a switch."""
    key = {"name": f"{MARK} text", "scopes": ["payments:read"], "account_ids": [f"{MARK}-alice"]}
    called(operator, "POST", "/api/v1/keys", key)
    asked = {"action": "cancel", "kind": "payments", "ids": [payment], "reason": f"{MARK} text"}
    called(operator, "POST", "/api/v1/operations", asked | {"dry_run": True})
    suspended = {"pending": "wait", "reason": f"{MARK} text"}
    called(operator, "POST", f"/api/v1/ops/tenants/{client.tenant}/suspend", suspended)


def begun(client: Client, monkeypatch: pytest.MonkeyPatch) -> str:
    """An operator asks for it. Returns the new name."""
    started = MemoryMachine()
    monkeypatch.setattr(wired().operators, "erasing_machine", started)
    operator = Client(tenant=client.tenant, scopes="ops", operates=True)
    form = {"confirm": client.tenant, "reason": f"{MARK} text"}
    answer = operator.call("POST", f"{TENANTS}/{client.tenant}/erase", form)
    assert (answer.status, answer.body["status"]) == (202, "ERASING")
    ((name, given),) = started.started.items()
    assert name.startswith(given["tenant"])
    assert given == {"tenant": answer.body["erased_as"]}
    return str(given["tenant"])


def machine(call: Any = None) -> Interpreted:
    calls = {"Erase": call or (lambda event: erase.handler(event, Context()))}
    return Interpreted(name="erase", calls=calls, clock=AtOnce())


def ran(run: Interpreted, tenant: str, name: str = "erasure") -> str:
    run.start(name, {"tenant": tenant})
    run.run()
    return run.status[name]


def places(world: World, s3: Any, mark: str) -> set[str]:
    """The tables, dead letters and objects in which the marker is readable."""
    found = set[str]()
    for name, table in world.tables.items():
        rows = world.rows(table)
        found |= {name for row in rows if mark in repr(row)}
    for name in ("tasks-dlq", "payments-dlq"):
        messages = world.sqs.receive_message(
            QueueUrl=world.queues[name], MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        found |= {name} if mark in repr(messages.get("Messages", ())) else set()
    for variable in ("ARCHIVE_BUCKET", "REPORTS_BUCKET"):
        bucket = world.environment[variable]
        for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
            body = s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()
            body = gzip.decompress(body) if each["Key"].endswith(".gz") else body
            found |= {variable} if mark in each["Key"] or mark.encode() in body else set()
    return found


def audit(tenant: str) -> dict[str, Any]:
    """By an operator, whatever became of the tenant's keys."""
    body: dict[str, Any] = Client(tenant=tenant, scopes="admin ops", operates=True).get("/api/v1/audit").body
    return body


def operator_of(tenant: str) -> Client:
    return Client(tenant=tenant, scopes="ops events:read", operates=True)


def sums(world: World, tenant: str) -> list[tuple[int, int]]:
    rows = world.rows(world.tables["accounts"])
    ours = [row for row in rows if row["tenant"]["S"] == tenant]
    return sorted((int(row["available"]["N"]), int(row["reserved"]["N"])) for row in ours)


def rows_of(world: World, table: str, tenant: str) -> list[str]:
    rows = world.rows(table)
    return sorted(json.dumps(row, sort_keys=True) for row in rows if tenant in repr(row))


def all_rows(world: World, tenant: str) -> dict[str, list[str]]:
    return {name: rows_of(world, table, tenant) for name, table in world.tables.items()}


def neighbour(world: World) -> Client:
    """A tenant that stays."""
    client = world.tenant(f"other-{next(_numbers)}")
    client.accounts(alice=100, bob=0)
    client.pay(key="k", delay_seconds=86_400)
    client.register(key="k", payload={"text": "y" * 900}, delay_seconds=86_400)
    return client


def archived(stored: S3Archive) -> None:
    nights = Interpreted(
        name="archive", calls={"Archive": lambda event: archive.handler(event, Context())}, clock=AtOnce()
    )
    nights.start("night", {"today": True})
    nights.run()
    assert nights.status["night"] == "SUCCEEDED"
    assert verify(stored).problems == []


def test_no_marker_is_left_in_any_table_and_the_audit_is_green(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = neighbour(world)
    kept = all_rows(world, other.tenant)
    marked = filled(world)
    client = marked.client
    assert audit(client.tenant)["ok"]
    assert sum(available + reserved for available, reserved in sums(world, client.tenant)) == 1055
    assert any(reserved for _, reserved in sums(world, client.tenant))
    assert places(world, s3, MARK) == {*world.tables, "tasks-dlq", "REPORTS_BUCKET"}
    tenant = begun(client, monkeypatch)
    assert ran(machine(), tenant) == "SUCCEEDED"
    marked.told()
    assert places(world, s3, MARK) == set()
    assert places(world, s3, "erases") == set()
    found = audit(tenant)
    assert found["ok"], found
    assert sum(available + reserved for available, reserved in sums(world, tenant)) == 1055
    assert [reserved for _, reserved in sums(world, tenant)] == [0, 0]
    assert all_rows(world, other.tenant) == kept
    assert erase.wired().eraser.findings.reports.get("reports/rec_1.json") == {
        "findings": [{"check": "c", "tenant": "another", "subject": "another-s"}],
        "unjudged": ["another#a"],
        "events_filled": ["evt_1_pay_x"],
    }
    assert audit(other.tenant)["ok"]


def test_the_archive_keeps_its_objects_and_nobody_reads_a_name_in_them(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = S3Archive(bucket=world.environment["ARCHIVE_BUCKET"], client=s3)
    marked = filled(world)
    archived(stored)
    keys = stored.keys("")
    told = list(read(stored, world.vault, marked.client.tenant))
    assert MARK in repr(told)
    assert ran(machine(), begun(marked.client, monkeypatch)) == "SUCCEEDED"
    assert stored.keys("") == keys
    assert verify(stored).problems == []
    fresh = Vault(data_keys=world.vault._data_keys, clock=SystemClock())
    assert not fresh.has_key(f"archive/{marked.client.tenant}")
    archive.wired.cache_clear()
    archived(stored)
    assert places(world, s3, MARK) == set()
    assert not fresh.has_key(f"archive/{marked.client.tenant}")


def test_the_erasure_is_told_by_the_new_name_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    owned = Stream(world, replace(marked.client, tenant=tenant), "tenants")
    assert recorded(owned.records()) == []
    assert ran(machine(), tenant) == "SUCCEEDED"
    assert recorded(owned.records()) == []
    for table in ("payments", "accounts"):
        stream = Stream(world, replace(marked.client, tenant=tenant), table)
        records = stream.records()
        assert records != []
        assert recorded(records) == []
    told = [json.loads(each) for each in rows_of(world, world.tables["events"], tenant)]
    (event,) = [each for each in told if "type" in each]
    assert event["type"] == {"S": "tenant.erased"}
    assert event["subject"] == {"S": f"{SERVICE}#tenant#{tenant}"}
    assert event["data"] == {"S": '{"after":{}}'}
    shown = operator_of(tenant).get(f"{TENANTS}/{tenant}").body
    assert (shown["status"], shown["erased_as"]) == ("ERASED", tenant)
    assert operator_of(tenant).get(f"{TENANTS}/{marked.client.tenant}").status == 404
    assert tenant not in repr(operator_of(tenant).get(TENANTS).body)


class Died(Exception):
    """The worker died."""


@pytest.mark.parametrize("before", [True, False], ids=["before the place is noted", "after"])
def test_a_worker_that_dies_after_each_step_is_continued(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    eraser = erase.wired().eraser
    dies: set[int] = set()
    note_progress = DynamoErasures.note_progress

    def moved(store: DynamoErasures, to: Erasure) -> None:
        if to.step in dies:
            return note_progress(store, to)
        dies.add(to.step)
        if not before:
            note_progress(store, to)
        raise Died

    monkeypatch.setattr(DynamoErasures, "note_progress", moved)
    for _ in range(2 * len(erasing.STEPS)):
        with suppress(Died):
            if eraser.work(tenant, has_time=lambda: True).seconds is None:
                break
    assert dies == set(range(1, len(erasing.STEPS) + 1))
    marked.told()
    assert places(world, s3, MARK) == set()
    assert audit(tenant)["ok"]
    assert sum(available + reserved for available, reserved in sums(world, tenant)) == 1055


def test_a_worker_without_time_works_page_by_page(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page has one row."""
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    eraser = erase.wired().eraser
    scan = eraser.owned.client.scan
    monkeypatch.setattr(eraser.owned.client, "scan", lambda **given: scan(**given, Limit=1))
    calls = 0
    while eraser.work(tenant, has_time=lambda: False).seconds is not None:
        calls += 1
    assert calls > 100
    assert places(world, s3, MARK) == set()
    assert audit(tenant)["ok"]


def test_what_comes_late_is_erased_in_the_second_pass(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow recorder and a slow registration write rows after the first pass."""
    marked = filled(world)
    late = {
        name: next(
            row
            for row in world.rows(world.tables[name])
            if MARK in repr(row) and row.get("status", {}).get("S") not in ("COMPLETED", "PENDING")
        )
        for name in ("events", "items", "payments", "idempotency", "flow")
    }
    tenant = begun(marked.client, monkeypatch)
    eraser = erase.wired().eraser
    slow = replace(eraser, waits=replace(eraser.waits, streams=timedelta(hours=1)))
    seconds = slow.work(tenant, has_time=lambda: True).seconds
    assert seconds is not None
    assert 3500 < seconds <= 3600
    assert places(world, s3, MARK) == {"tenants", "data_keys"}
    for name, row in late.items():
        world.dynamodb.put_item(TableName=world.tables[name], Item=row)
    assert slow.work(tenant, has_time=lambda: True).seconds is not None
    assert replace(slow, clock=Tomorrow()).work(tenant, has_time=lambda: True).seconds is None
    assert places(world, s3, MARK) == set()
    assert audit(tenant)["ok"]


def test_a_movement_between_the_steps_is_renamed_by_a_repeated_request(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator deposits on an account whose journal was walked already."""
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    eraser = erase.wired().eraser
    while (at := eraser.erasures.get(tenant)) is not None and at.name != "accounts":
        eraser.work(tenant, has_time=lambda: False)
    operator = Client(tenant=marked.client.tenant, scopes="ops admin", operates=True)
    called(operator, "POST", f"/api/v1/accounts/{MARK}-bob/deposits", {"amount": 3}, key="late")
    assert ran(machine(), tenant) == "FAILED"
    assert ran(machine(), tenant) == "SUCCEEDED"
    assert audit(tenant)["ok"]
    assert sum(available + reserved for available, reserved in sums(world, tenant)) == 1058


def test_a_night_in_the_middle_of_an_erasure_finds_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has new names, and the accounts have the old ones."""
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    eraser = erase.wired().eraser
    while (at := eraser.erasures.get(tenant)) is not None and at.name != "accounts":
        eraser.work(tenant, has_time=lambda: False)
    papers = Papers(reports=MemoryReports(), run="night")
    scans, parts = reconcile.wired().collector.plan(datetime.now(UTC))
    for scan in scans:
        reconcile.wired().collector.scan(scan, papers, has_time=lambda: True)
    for part in parts:
        reconcile.wired().judge.compare(part, papers, after="", has_time=lambda: True)
    found = list(papers.found())
    assert [finding for paper in found for finding in paper.get("findings", ())] == []
    assert {name.partition("#")[0] for paper in found for name in paper.get("moving", ())} == {
        tenant,
        marked.client.tenant,
    }


def test_books_that_disagree_are_not_renamed(world: World, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = filled(world)
    tenant = begun(marked.client, monkeypatch)
    key = {"account": {"S": f"{marked.client.tenant}#{MARK}-alice"}}
    change = {"TableName": world.tables["accounts"], "Key": key, "UpdateExpression": "ADD available :n"}
    world.dynamodb.update_item(**change, ExpressionAttributeValues={":n": {"N": "1"}})
    run = machine()
    assert ran(run, tenant) == "FAILED"
    assert ("GoesOn", "Refused") in run.walked
    assert sums(world, tenant) == []
    assert len(sums(world, marked.client.tenant)) == 2
    world.dynamodb.update_item(**change, ExpressionAttributeValues={":n": {"N": "-1"}})
    assert begun(marked.client, monkeypatch) == tenant
    assert ran(run, tenant, "again") == "SUCCEEDED"
    assert places(world, s3, MARK) == set()


def test_all_edges_of_the_machine_are_walked() -> None:
    answers = iter([("goes on", 0), ("waits", 3), RuntimeError("again"), ("done", 0), ("refused", 0)])

    def told(event: dict[str, Any]) -> Any:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return {"tenant": event["tenant"], "state": found[0], "seconds": found[1]}

    run = machine(told)
    assert ran(run, "erased-1", "first") == "SUCCEEDED"
    assert ran(run, "erased-1", "second") == "FAILED"
    assert run.edges - run.walked == set()
    assert {state for state, way in run.walked if way == RETRY} == {"Erase"}


def test_an_erasure_needs_a_suspended_tenant_and_its_id_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = neighbour(world)
    operator = operator_of(client.tenant)
    path = f"{TENANTS}/{client.tenant}"
    form = {"confirm": client.tenant, "reason": "contract ended"}
    assert client.call("POST", f"{path}/erase", form).status == 403
    assert operator.call("POST", f"{path}/erase", form).body["code"] == "invalid_state"
    assert operator.call("POST", f"{path}/suspend", {"pending": "run", "reason": "unpaid"}).status == 200
    wrong = operator.call("POST", f"{path}/erase", form | {"confirm": "another"})
    assert (wrong.status, wrong.body["errors"][0]["field"]) == (422, "confirm")
    assert operator.call("POST", f"{TENANTS}/nobody/erase", form | {"confirm": "nobody"}).status == 404
    tenant = begun(client, monkeypatch)
    assert begun(client, monkeypatch) == tenant
    for change in (("PATCH", path, {"tier": "gold"}), ("POST", f"{path}/resume", {})):
        assert operator.call(*change).body["code"] == "invalid_state"
    assert ran(machine(), tenant) == "SUCCEEDED"
    erased = {"confirm": tenant, "reason": "again"}
    assert operator.call("POST", f"{TENANTS}/{tenant}/erase", erased).body["code"] == "invalid_state"
    assert operator.call("POST", f"{TENANTS}/{tenant}/resume", {}).body["code"] == "invalid_state"
    assert operator.call("POST", TENANTS, {"tenant_id": "erased-1"}).status == 422


def test_the_request_begins_an_execution_that_names_the_new_name_alone(world: World, engine: Engines) -> None:
    client = neighbour(world)
    operator, path = operator_of(client.tenant), f"{TENANTS}/{client.tenant}"
    arn = SETTINGS["ERASE_MACHINE_ARN"]
    form = {"confirm": client.tenant, "reason": "contract ended"}
    assert operator.call("POST", f"{path}/suspend", {"pending": "run", "reason": "unpaid"}).status == 200
    assert operator.call("POST", f"{path}/erase", form).status == 503
    with speaking_to(engine):
        machines, iam = boto3.client("stepfunctions"), boto3.client("iam")
    role = iam.create_role(RoleName="erasing", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    nothing = json.dumps({"StartAt": "Over", "States": {"Over": {"Type": "Succeed"}}})
    machines.create_state_machine(name=arn.rpartition(":")[2], definition=nothing, roleArn=role)
    try:
        begun = operator.call("POST", f"{path}/erase", form)
        (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
        given = machines.describe_execution(executionArn=execution["executionArn"])["input"]
    finally:
        machines.delete_state_machine(stateMachineArn=arn)
        iam.delete_role(RoleName="erasing")
    assert begun.status == 202
    assert json.loads(given) == {"tenant": begun.body["erased_as"]}
    assert client.tenant not in execution["name"]
