"""Payloads that tenants keep themselves, from the request to the destination; the engine enforces who may read what."""

import json
from typing import Any

import boto3
import pytest

from tests.contract.test_objects import reader_role
from tests.integration.conftest import SETTINGS, forget
from tests.integration.world import Answer, Client, World

TASKS = "/api/v1/tasks"
BUCKET = SETTINGS["PAYLOADS_BUCKET"]


@pytest.fixture
def s3(world: World) -> Any:
    """The bucket and the role that reads it are there."""
    forget()
    client = boto3.Session().client("s3")
    client.create_bucket(Bucket=BUCKET)
    reader_role(BUCKET, SETTINGS["PAYLOADS_ROLE_ARN"].rpartition("/")[2])
    return client


def refer(client: Client, name: str = "a.json", *, tenant: str = "", **fields: Any) -> Answer:
    """A task whose payload is an object of its tenant's, unless said otherwise."""
    ref = f"s3://{BUCKET}/{tenant or client.tenant}/{name}"
    form = {"delay_seconds": 0, "target": client.target, "payload_ref": ref} | fields
    return client.call("POST", TASKS, form)


def run(world: World, client: Client) -> None:
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []


def delivered(world: World, client: Client) -> list[Any]:
    return [json.loads(record["body"]) for record in world.received(client.queue_url)]


def test_an_object_is_read_at_its_tasks_instant_and_delivered(world: World, client: Client, s3: Any) -> None:
    answer = refer(client)
    ref = f"s3://{BUCKET}/{client.tenant}/a.json"
    assert (answer.status, answer.body["payload_ref"]) == (201, ref)
    s3.put_object(Bucket=BUCKET, Key=f"{client.tenant}/a.json", Body=b'{"n": 7}')
    run(world, client)
    task = client.get(f"{TASKS}/{answer.body['task_id']}").body
    assert (task["status"], task["payload"], task["payload_ref"]) == ("SUCCEEDED", None, ref)
    assert delivered(world, client) == [{"n": 7}]


def test_what_is_missing_is_tried_again(world: World, client: Client, s3: Any) -> None:
    task_id = refer(client).body["task_id"]
    run(world, client)
    task = client.get(f"{TASKS}/{task_id}").body
    assert task["status"] == "RETRYING"
    assert "missing" in task["error"]
    assert delivered(world, client) == []


def test_what_is_too_large_is_not(world: World, client: Client, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{client.tenant}/a.json", Body=b"1" * (256 * 1024 + 1))
    task_id = refer(client).body["task_id"]
    run(world, client)
    task = client.get(f"{TASKS}/{task_id}").body
    assert (task["status"], task["error"]) == ("DEAD", "the payload is larger than 256 KB")


@pytest.mark.parametrize("name", ["../other/a", "%2e%2e/other/a", "a//b", ""])
def test_a_name_with_a_trick_in_it_is_refused(client: Client, name: str) -> None:
    answer = refer(client, name)
    assert (answer.status, answer.body["code"]) == (422, "validation_failed")
    assert [error["field"] for error in answer.body["errors"]] == ["payload_ref"]


@pytest.mark.parametrize("recurs", [False, True])
def test_another_tenants_object_is_refused_when_it_is_registered_and_when_it_is_changed(
    client: Client, recurs: bool
) -> None:
    when = {"cron": "0 0 * * *"} if recurs else {"delay_seconds": 600}
    ref = f"s3://{BUCKET}/other/a.json"
    made = client.call("POST", TASKS, {"target": client.target, **when})
    path = f"{TASKS}/{made.body['task_id']}"
    for answer in (
        client.call("POST", TASKS, {"target": client.target, "payload_ref": ref, **when}),
        client.call("PATCH", path, {"payload_ref": ref}),
    ):
        assert (answer.status, answer.body["code"]) == (422, "validation_failed")
        assert [error["field"] for error in answer.body["errors"]] == ["payload_ref"]
    assert client.get(path).body["version"] == 1
    own = f"s3://{BUCKET}/{client.tenant}/a.json"
    assert client.call("PATCH", path, {"payload_ref": own}).body["payload_ref"] == own
    assert client.call("PATCH", path, {"payload": 1}).body["payload_ref"] is None
    assert client.get(path).body["payload"] == 1


def test_a_job_may_name_an_object_too(world: World, client: Client, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{client.tenant}/job", Body=b"[1]")
    ref = f"s3://{BUCKET}/{client.tenant}/job"
    form = {"delaySeconds": 0, "payloadRef": ref, "target": client.job_target}
    job_id = client.call("POST", "/v1/jobs", form).body["jobId"]
    run(world, client)
    assert client.get(f"/v1/jobs/{job_id}").body["status"] == "SUCCEEDED"
    assert delivered(world, client) == [[1]]
