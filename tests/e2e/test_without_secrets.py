"""Everything that the stack keeps is searched for the secrets that were used: it runs after the other files, so that
their rows, messages and log lines are searched as well."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver

PATIENCE_SECONDS: Final = 60
DEAD: Final = "http://127.0.0.1:9/"
# The project's own code, which `make up` uploads.
ASSETS: Final = "cdk-"
# Payloads are in these tables, and in the queues that tasks go to.
TABLES_WITH_PAYLOADS: Final = frozenset({"table postdate-local-items", "table postdate-local-payloads"})
DESTINATION: Final = "queue postdate-local-destination"


def contents(stack: RunningStack) -> Iterator[tuple[str, str]]:
    """The place and the text of each row, message, log line and object."""
    dynamodb, sqs, logs, s3 = (stack.aws(name) for name in ("dynamodb", "sqs", "logs", "s3"))
    for page in dynamodb.get_paginator("list_tables").paginate():
        for table in page["TableNames"]:
            for rows in dynamodb.get_paginator("scan").paginate(TableName=table):
                yield from ((f"table {table}", repr(row)) for row in rows["Items"])
    for url in sqs.list_queues().get("QueueUrls", ()):
        seen = set[str]()
        while messages := [
            each
            for each in sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=5, MessageAttributeNames=["All"]
            ).get("Messages", ())
            if each["MessageId"] not in seen
        ]:
            seen |= {each["MessageId"] for each in messages}
            yield from ((f"queue {url.rpartition('/')[2]}", json.dumps(each)) for each in messages)
    for groups in logs.get_paginator("describe_log_groups").paginate():
        for group in groups["logGroups"]:
            name = group["logGroupName"]
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=name):
                yield from ((f"log {name}", event["message"]) for event in page["events"])
    for bucket in s3.list_buckets()["Buckets"]:
        if bucket["Name"].startswith(ASSETS):
            continue
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket["Name"]):
            for found in page.get("Contents", ()):
                body = s3.get_object(Bucket=bucket["Name"], Key=found["Key"])["Body"].read()
                yield f"bucket {bucket['Name']}", body.decode(errors="replace")


def ended(stack: RunningStack, id: str, status: str) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while (told := stack.client().get(f"/api/v1/tasks/{id}").expect(200)["status"]) != status:
        assert time.monotonic() < ends, told
        time.sleep(0.2)


@pytest.fixture(scope="module")
def used(stack: RunningStack, receiver: Receiver) -> dict[str, str]:
    """Secrets by their names; each was used in a request, a delivery, a failure or a recurring task."""
    client, admin = stack.client(), stack.client(stack.admin_key)
    token = f"Bearer {uuid4().hex}"
    headers, retry = {"Authorization": token}, {"max_attempts": 1}

    def registered(url: str, **fields: Any) -> str:
        target = {"type": "webhook", "url": url, "headers": headers}
        form = {"target": target, "payload": {"marker": token.split()[1][::-1]}, "retry": retry} | fields
        return str(client.post("/api/v1/tasks", form).expect(201)["task_id"])

    ended(stack, registered(f"{receiver.url}/status/200", delay_seconds=0), "SUCCEEDED")
    ended(stack, registered(DEAD, delay_seconds=0), "DEAD")
    registered(f"{receiver.url}/status/200", delay_seconds=3600)
    registered(f"{receiver.url}/status/200", cron="* * * * *")
    queue = {"target": {"type": "sqs", "queue_url": stack.destination_queue_url}, "delay_seconds": 0}
    marked = client.post("/api/v1/tasks", queue | {"payload": {"marker": token.split()[1][::-1]}}).expect(201)
    ended(stack, marked["task_id"], "SUCCEEDED")
    key = admin.post("/api/v1/keys", {"name": "searched", "scopes": ["tasks:read"]}).expect(201)
    stack.client(key["key"]).get("/api/v1/tasks").expect(200)
    rotated = admin.post(f"/api/v1/keys/{key['key_id']}/rotate", {}).expect(200)
    new = admin.post("/api/v1/signing-secrets/rotate", {"overlap_seconds": 600}).expect(200)
    keys = {
        name: getattr(stack, name).partition("_")[2].partition("_")[2]
        for name in ("api_key", "admin_key", "operator_key", "other_tenant_key", "internal_token")
    }
    return keys | {
        "header": token.split()[1],
        "key": key["key"].split("_", 2)[2],
        "rotated key": rotated["key"].split("_", 2)[2],
        "signing secret": stack.signing_secret.removeprefix("whsec_"),
        "new signing secret": new["signing_secret"].removeprefix("whsec_"),
    }


def test_nothing_that_is_kept_has_a_secret_and_payloads_are_where_they_belong(
    stack: RunningStack, used: dict[str, str]
) -> None:
    found, places, marked = set[tuple[str, str]](), set[str](), set[str]()
    marker = used["header"][::-1]
    for place, text in contents(stack):
        places.add(place)
        found |= {(place, name) for name, secret in used.items() if secret in text}
        if marker in text:
            marked.add(place)
    assert found == set()
    assert {each.partition(" ")[0] for each in places} >= {"table", "queue", "log"}
    assert {"table postdate-local-items", "table postdate-local-data-keys"} <= places
    assert "log /aws/lambda/postdate-local-api" in places
    assert "table postdate-local-items" in marked
    assert {each for each in marked - TABLES_WITH_PAYLOADS if not each.startswith(DESTINATION)} == set()
