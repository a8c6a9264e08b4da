"""A tenant that has everything is erased on the stack: by the API, its machine, and the rights of the functions."""

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any, Final

from cli import tenants
from cli.client import Client
from cli.local import aws
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_archive import archive
from tests.e2e.test_payments import ended, pay

TENANTS: Final = "/api/v1/ops/tenants"
MARK: Final = "mrkr"
TENANT: Final = f"{MARK}-tenant"
TEXT: Final = f"{MARK} text"
BIG: Final = {MARK: f"{MARK}-" + "x" * 900}
# The waits of the erasure on a local stack take 22 seconds. The rest is for a machine that is busy.
PATIENCE_SECONDS: Final = 240
KINDS: Final = ("payment", "account", "task", "plan", "run", "subscription", "tenant")


def made(stack: RunningStack) -> Client:
    form = {"tenant_id": TENANT, "queues": [stack.destination_queue_url]}
    stack.client(stack.operator_key).post(TENANTS, form).expect(201)
    with aws.speaking_to(stack.place):
        return stack.client(tenants.key(stack.key_table, TENANT, tenants.SCOPES))


def with_payments(client: Client) -> None:
    for account, amount in ((f"{MARK}-alice", 1000), (f"{MARK}-bob", 0)):
        client.post("/api/v1/accounts", {"account_id": account}).expect(201)
        if amount:
            path, form = f"/api/v1/accounts/{account}/deposits", {"amount": amount, "reference": TEXT}
            client.post(path, form, idempotency_key=f"{MARK}-deposit").expect(201)
    told = {"description": TEXT, "metadata": {f"{MARK}-name": TEXT}}
    sides = (f"{MARK}-alice", f"{MARK}-bob")
    done = pay(client, f"{MARK}-done", *sides, 10, delay_seconds=1, **told).expect(201)
    poor = pay(client, f"{MARK}-poor", *sides, 9000, delay_seconds=1, funding="at_execution", **told).expect(
        201
    )
    pay(client, f"{MARK}-held", *sides, 20, delay_seconds=86_400, **told).expect(201)
    assert ended(client, done["payment_id"])["status"] == "COMPLETED"
    assert ended(client, poor["payment_id"])["status"] == "FAILED"


def with_tasks(client: Client, url: str) -> None:
    """Tasks that have ended, died and wait, a plan, and payloads in rows of their own."""
    webhook = {"type": "webhook", "url": f"{url}/{MARK}", "headers": {"X-Name": TEXT}}
    named = {"name": f"{MARK}-name", "tags": [f"{MARK}-tag"], "target": webhook, "payload": BIG}
    dead = {**named, "target": {"type": "webhook", "url": f"{url}/status/410?{MARK}"}}
    ids = [
        client.post("/api/v1/tasks", {**form, "delay_seconds": 0}).expect(201)["task_id"]
        for form in (named, dead)
    ]
    client.post("/api/v1/tasks", {**named, "delay_seconds": 86_400}, idempotency_key=f"{MARK}-k").expect(201)
    client.post("/api/v1/tasks", {**named, "cron": "0 0 * * *"}).expect(201)
    subscribed = {"target": webhook, "types": ["payment.*"], "description": TEXT}
    client.post("/api/v1/subscriptions", subscribed).expect(201)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while [client.get(f"/api/v1/tasks/{id}").expect(200)["status"] for id in ids] != ["SUCCEEDED", "DEAD"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def told(client: Client) -> None:
    """Waits until the events of all kinds are recorded."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        events = client.get("/api/v1/events?order=desc&limit=100").expect(200)["events"]
        kinds = {event["subject"]["kind"] for event in events}
        if kinds >= set(KINDS) and any(event["type"] == "payment.failed" for event in events):
            return
        assert time.monotonic() < deadline, kinds
        time.sleep(0.2)


def texts(stack: RunningStack) -> Iterator[tuple[str, str]]:
    """All that the stack keeps, as text, and where: rows, messages, objects and executions."""
    dynamodb, sqs, s3 = (stack.aws(service) for service in ("dynamodb", "sqs", "s3"))
    for name, table in stack.tables.items():
        for page in dynamodb.get_paginator("scan").paginate(TableName=table):
            yield from ((f"table {name}", repr(row)) for row in page["Items"])
    for name, url in stack.queues.items():
        asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}
        yield f"queue {name}", repr(sqs.receive_message(**asked).get("Messages", ()))
    for bucket in s3.list_buckets()["Buckets"]:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket["Name"]):
            for each in page.get("Contents", ()):
                if each["Key"].endswith((".gz", ".json", ".jsonl")):
                    body = s3.get_object(Bucket=bucket["Name"], Key=each["Key"])["Body"].read()
                    whole = gzip.decompress(body) if each["Key"].endswith(".gz") else body
                    yield f"object {each['Key']}", f"{each['Key']} {whole.decode()}"
    machines = stack.aws("stepfunctions")
    for machine in machines.list_state_machines()["stateMachines"]:
        found = machines.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]
        for execution in found:
            told = machines.describe_execution(executionArn=execution["executionArn"])
            yield f"execution {execution['name']}", json.dumps([told["input"], told.get("output")])


def places(stack: RunningStack) -> set[str]:
    return {place for place, text in texts(stack) if MARK in text}


def erased(operator: Client) -> tuple[str, list[dict[str, Any]]]:
    """Waits for the end of the erasure. Returns the new name, and the progress that was shown meanwhile."""
    form = {"confirm": TENANT, "reason": TEXT}
    begun = operator.post(f"{TENANTS}/{TENANT}/erase", form).expect(202)
    shown, deadline = [begun["erasure"]], time.monotonic() + PATIENCE_SECONDS
    while (answer := operator.get(f"{TENANTS}/{TENANT}")).status == 200:
        shown.append(answer.body["erasure"])
        assert time.monotonic() < deadline, shown[-1]
        time.sleep(0.5)
    assert answer.status == 404
    return begun["erased_as"], shown


def over(operator: Client, tenant: str) -> None:
    """The tenant's row goes before its data keys do."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while operator.get(f"{TENANTS}/{tenant}").expect(200)["erasure"] is not None:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_tenant_that_has_everything_is_erased_and_no_name_is_left(
    stack: RunningStack, receiver: Receiver
) -> None:
    client, operator = made(stack), stack.client(stack.operator_key)
    with_payments(client)
    with_tasks(client, receiver.url)
    told(client)
    archive(stack, "run", "--today")
    assert MARK in repr(archive(stack, "read", "--tenant", TENANT)["events"])
    objects = {place for place, _ in texts(stack) if place.startswith("object")}
    before = places(stack)
    needed = {"payments", "accounts", "journal", "items", "payloads", "idempotency", "keys", "data_keys"}
    needed |= {"events", "subscriptions", "tenants"}
    assert {f"table {name}" for name in needed} <= before
    assert not {place for place in before if place.startswith("object")}
    balance = client.get(f"/api/v1/accounts/{MARK}-alice").expect(200)["balance"]
    assert operator.get("/api/v1/audit", postdate_tenant=TENANT).expect(200)["ok"]

    counted = operator.get(f"{TENANTS}/{TENANT}/erasure").expect(200)
    assert counted["next_cursor"] is None
    assert needed <= {name for name, count in counted["rows"].items() if count}
    assert counted["payments_cancelled"] == {"count": 1, "amount": 20}
    assert counted["letters"] >= 1
    assert places(stack) >= before

    refused = operator.post(f"{TENANTS}/{TENANT}/erase", {"confirm": TENANT, "reason": TEXT})
    assert refused.body["code"] == "invalid_state"
    operator.post(f"{TENANTS}/{TENANT}/suspend", {"pending": "run", "reason": TEXT}).expect(200)
    name, shown = erased(operator)
    steps = [each["step"] for each in shown]
    assert steps == sorted(steps)
    assert any(each["waits_until"] for each in shown)
    assert shown[-1]["rows"] >= sum(counted["rows"].values()) - counted["rows"]["data_keys"] - 1
    over(operator, name)

    assert places(stack) == set()
    assert objects <= {place for place, _ in texts(stack)}
    audit = operator.get("/api/v1/audit", postdate_tenant=name)
    assert audit.status == 200, audit.body
    assert audit.body["ok"], audit.body
    rows = stack.aws("dynamodb").scan(TableName=stack.tables["accounts"])["Items"]
    ours = [row for row in rows if row["tenant"]["S"] == name]
    assert sorted(int(row["available"]["N"]) for row in ours) == [10, balance]
    assert [int(row["reserved"]["N"]) for row in ours] == [0, 0]
    assert archive(stack, "verify")["ok"]
