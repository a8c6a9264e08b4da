"""Work that goes on by itself, and operators: with the rights that the functions really have."""

import time
from typing import Final

from cli import tenants
from cli.local import aws
from tests.e2e.conftest import RunningStack

DONE_WITHIN_SECONDS: Final = 120


def test_a_backfill_of_several_steps_is_answered_at_once_and_comes_to_its_end(stack: RunningStack) -> None:
    client = stack.client()
    target = {"type": "sqs", "queue_url": stack.destination_queue_url}
    task_id = client.post("/api/v1/tasks", {"cron": "0 0 * * *", "target": target}).expect(201)["task_id"]
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"}
    began = time.monotonic()
    asked = client.post(f"/api/v1/tasks/{task_id}/backfill", span).expect(202)
    assert time.monotonic() - began < 10
    assert (asked["state"], asked["eligible"]) == ("RUNNING", {"count": 60})
    path = f"/api/v1/operations/{asked['operation_id']}"
    while (told := client.get(path).expect(200))["state"] == "RUNNING":
        assert time.monotonic() < began + DONE_WITHIN_SECONDS, told
        time.sleep(0.5)
    assert (told["state"], told["done"], told["reason"]) == ("DONE", 60, None)
    listed = client.get(f"/api/v1/tasks/{task_id}/runs?limit=100").expect(200)["runs"]
    assert len({run["planned_at"] for run in listed if run["planned_at"] < "2026-03-02"}) == 60
    client.delete(f"/api/v1/tasks/{task_id}").expect(200)


def test_an_operator_acts_for_the_tenant_that_it_names_through_the_gateway(stack: RunningStack) -> None:
    operator = stack.client(stack.operator_key)
    assert operator.get("/api/v1/tasks").status == 403
    named = operator.get("/api/v1/tasks", postdate_tenant="demo").expect(200)
    assert named["tasks"]
    with aws.speaking_to(stack.place):
        tenants.tenant(stack.tables["tenants"], "without-tasks", vault=stack.vault)
    assert operator.get("/api/v1/tasks", postdate_tenant="without-tasks").expect(200)["tasks"] == []
    assert operator.get("/api/v1/tasks", postdate_tenant="unknown").status == 403
    assert stack.client().get("/api/v1/tasks", postdate_tenant="without-tasks").status == 403
