"""A payload that its tenant keeps, on the running stack, whose engine enforces what each role and session may do."""

import json

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver


def test_an_object_of_the_tenants_is_delivered_and_no_other_is_taken(
    stack: RunningStack, receiver: Receiver
) -> None:
    s3, client = stack.aws("s3"), stack.client()
    bucket, target = stack.payloads_bucket, {"type": "webhook", "url": receiver.url}
    s3.put_object(Bucket=bucket, Key="demo/orders/4711.json", Body=b'{"order": 4711}')
    ref = f"s3://{bucket}/demo/orders/4711.json"
    task = client.post("/api/v1/tasks", {"delay_seconds": 1, "target": target, "payload_ref": ref}).expect(
        201
    )
    (arrival,) = receiver.wait_for(task["task_id"])
    assert json.loads(arrival.body) == {"order": 4711}
    theirs = {"delay_seconds": 1, "target": target, "payload_ref": f"s3://{bucket}/other/secret.json"}
    refused = client.post("/api/v1/tasks", theirs)
    assert refused.status == 422
