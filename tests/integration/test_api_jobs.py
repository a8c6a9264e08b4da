"""The job API through its handler, over the real engine: the sketch of the requirements, and what came of a job."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postdate.domain.task import Destination
from tests.integration.conftest import SETTINGS, forget
from tests.integration.world import Client, World

JOBS = "/v1/jobs"


def soon() -> str:
    """Midnight after tomorrow's."""
    tomorrow = datetime.now(UTC).date() + timedelta(days=2)
    return f"{tomorrow.isoformat()}T00:00:00.000Z"


@pytest.fixture
def usual(client: Client, world: World) -> Client:
    """A tenant with a default target."""
    goes_to(world, client, client.queue_url)
    return client


def goes_to(world: World, client: Client, queue_url: str) -> None:
    known = world.tenants.get(client.tenant)
    assert known is not None
    usual = Destination(type="sqs", address=queue_url)
    allowed = known.destinations | {("sqs", queue_url)}
    world.tenants.put(replace(known, destinations=allowed, default_target=usual))
    forget()


def details(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    return client.get(f"{JOBS}/{job['jobId']}").body


def test_the_sketch_of_the_requirements_is_taken_and_told_again(usual: Client) -> None:
    ref = f"s3://{SETTINGS['PAYLOADS_BUCKET']}/{usual.tenant}/order"
    form = {"runAt": soon(), "payloadRef": ref, "idempotencyKey": "j"}
    first, second = usual.call("POST", JOBS, form), usual.call("POST", JOBS, form)
    assert (first.status, second.status, second.headers["idempotent-replayed"]) == (201, 201, "true")
    assert first.body == second.body == {"jobId": first.body["jobId"], "status": "PENDING"}
    assert first.headers["location"] == f"{JOBS}/{first.body['jobId']}"
    found = details(usual, first.body)
    asked = {"runAt": soon(), "payloadRef": ref, "target": usual.job_target, "payload": None}
    asked["idempotencyKey"] = "j"
    assert {name: found[name] for name in asked} == asked
    assert (found["status"], found["attempts"], found["nextRun"]) == ("PENDING", 0, soon())
    assert (found["failureReason"], found["jobAttempts"], found["cron"]) == (None, [], None)
    assert found["retry"]["maxAttempts"] == 30
    other = usual.call("POST", JOBS, form | {"payloadRef": f"{ref}-2"})
    assert (other.status, other.body["code"]) == (422, "idempotency_key_reused")
    assert usual.call("POST", f"{JOBS}/{first.body['jobId']}/cancel").body == {"status": "CANCELLED"}
    assert details(usual, first.body)["status"] == "CANCELLED"


@pytest.mark.parametrize(
    "when", [{"delaySeconds": 600}, {"cron": "0 3 * * *"}], ids=["once", "again and again"]
)
def test_a_job_tells_its_version_and_its_cancellation_may_name_one(
    usual: Client, when: dict[str, Any]
) -> None:
    made = usual.call("POST", JOBS, when)
    path = f"{JOBS}/{made.body['jobId']}"
    found = usual.get(path)
    assert (made.headers["etag"], found.body["version"]) == ('"1"', 1)
    known = usual.call("GET", path, headers={"if-none-match": found.headers["etag"]})
    assert known.status == 304
    later = {"delay_seconds": 900} if "cron" not in when else {"cron": "0 4 * * *"}
    task = f"/api/v1/tasks/{made.body['jobId']}"
    assert usual.call("PATCH", task, later, {"if-match": found.headers["etag"]}).status == 200
    for tag in (made.headers["etag"], found.headers["etag"]):
        late = usual.call("POST", f"{path}/cancel", headers={"if-match": tag})
        assert (late.status, late.body["code"]) == (412, "version_conflict")
    cancelled = usual.call("POST", f"{path}/cancel", headers={"if-match": usual.get(path).headers["etag"]})
    assert (cancelled.body, cancelled.headers["etag"]) == ({"status": "CANCELLED"}, '"3"')


def test_a_key_stands_for_its_job_whatever_the_default_target_has_become(usual: Client, world: World) -> None:
    form = {"delaySeconds": 600, "idempotencyKey": "j"}
    first = usual.call("POST", JOBS, form).body
    goes_to(world, usual, f"{usual.queue_url}-2")
    again = usual.call("POST", JOBS, form)
    assert (again.status, again.body) == (201, first)
    assert details(usual, first)["target"] == usual.job_target
    assert details(usual, usual.call("POST", JOBS, {"delaySeconds": 600}).body)["target"] == {
        "type": "sqs",
        "queueUrl": f"{usual.queue_url}-2",
    }


def test_without_a_default_target_a_job_has_to_name_one(client: Client) -> None:
    refused = client.call("POST", JOBS, {"delaySeconds": 600})
    assert (refused.status, [error["field"] for error in refused.body["errors"]]) == (422, ["target"])


def test_every_name_is_in_camel_case_and_what_others_named_stays(client: Client) -> None:
    webhook = {"type": "webhook", "url": "http://127.0.0.1:9/x", "headers": {"X-my_header": "1"}}
    form = {
        "delaySeconds": 600,
        "payload": {"snake_case": {"a_b": 1}},
        "target": webhook,
        "retry": {"maxAttempts": 3, "initialSeconds": 1.5},
        "flowControl": {"key": "a_key", "rate": 5, "periodSeconds": 60},
        "timeoutSeconds": 20,
        "tags": ["a_tag"],
    }
    found = details(client, client.call("POST", JOBS, form).body)
    assert not [name for name in (*found, *found["retry"], *found["flowControl"]) if "_" in name]
    assert found["payload"] == form["payload"]
    headers = {"X-my_header": found["target"]["headers"]["X-my_header"]}
    assert headers["X-my_header"] not in ("1", "***")
    assert found["target"] == {**webhook, "method": "POST", "headers": headers}
    assert (found["retry"]["maxAttempts"], found["retry"]["initialSeconds"]) == (3, 1.5)
    assert found["flowControl"] == {"key": "a_key", "rate": 5, "periodSeconds": 60, "parallelism": None}
    assert (found["timeoutSeconds"], found["tags"]) == (20, ["a_tag"])
    for wrong, field in (
        ({"target": {"type": "sqs", "queue_url": client.queue_url}}, "target.queueUrl"),
        ({"retry": {"max_attempts": 3}}, "retry.max_attempts"),
        ({"payload_ref": "s3://b/k"}, "payload_ref"),
        ({"flowControl": {"key": "k", "parallelism": 1, "periodSeconds": 2}}, "flowControl"),
    ):
        refused = client.call("POST", JOBS, {"delaySeconds": 600, "target": client.job_target} | wrong)
        assert refused.status == 422
        assert field in [error["field"] for error in refused.body["errors"]]


def test_attempts_tell_their_workers_and_leases(usual: Client, world: World) -> None:
    job = usual.call("POST", JOBS, {"delaySeconds": 0, "payload": 1, "retry": {"maxAttempts": 2}}).body
    assert world.run(world.received(world.queues["tasks"], tenant=usual.tenant)) == []
    found = details(usual, job)
    (attempt,) = found["jobAttempts"]
    assert (found["status"], found["attempts"], attempt["attempt"]) == ("SUCCEEDED", 1, 1)
    assert (attempt["outcome"], attempt["error"]) == ("SUCCEEDED", None)
    assert attempt["workerId"]
    began, ended = (datetime.fromisoformat(attempt[name]) for name in ("startedAt", "finishedAt"))
    assert began <= ended < began + timedelta(seconds=10)
    assert datetime.fromisoformat(attempt["leaseUntil"]) - began == timedelta(
        seconds=int(SETTINGS["LEASE_SECONDS"])
    )
    (run,) = usual.get(f"/api/v1/tasks/{job['jobId']}/runs").body["runs"]
    assert run["attempts"][0]["worker_id"] == attempt["workerId"]
    reasons = [line["reason"] for line in usual.get(f"/api/v1/tasks/{job['jobId']}").body["history"]]
    assert all(reason.isprintable() for reason in reasons)


def test_jobs_are_listed_by_their_filters_once_each(usual: Client) -> None:
    ids = [
        usual.call("POST", JOBS, {**when, "tags": ["mine"], "name": f"n{number}"}).body["jobId"]
        for number, when in enumerate(
            ({"cron": "@daily", "idempotencyKey": "daily"}, {"delaySeconds": 600}, {"delaySeconds": 900})
        )
    ]
    usual.call("POST", JOBS, {"delaySeconds": 60})
    found, query = [], "tag=mine&limit=2"
    while query:
        page = usual.get(JOBS, query).body
        found += page["jobs"]
        query = f"tag=mine&limit=2&cursor={page['nextCursor']}" if page["nextCursor"] else ""
    assert sorted(job["jobId"] for job in found) == sorted(ids)
    (daily,) = [job for job in found if job["name"] == "n0"]
    assert (daily["cron"], daily["timezone"], daily["runAt"]) == ("0 0 * * *", "UTC", None)
    assert (daily["idempotencyKey"], daily["nextRun"] is None) == ("daily", False)
    assert daily == {name: value for name, value in details(usual, daily).items() if name != "payload"}
    assert len(usual.get(JOBS, "status=ACTIVE").body["jobs"]) == 1
    assert usual.get(JOBS, "colour=red").status == 422
    assert len(usual.get(JOBS).body["jobs"]) == 4


def test_a_payload_that_is_not_the_tenants_is_refused(usual: Client) -> None:
    refused = usual.call("POST", JOBS, {"runAt": soon(), "payloadRef": "s3://bucket/key"})
    assert (refused.status, [error["field"] for error in refused.body["errors"]]) == (422, ["payloadRef"])
