"""A receiver that keeps a run: as long as it says that it lives, and no longer.

Twelve seconds, or as many as POSTDATE_HEARTBEAT_SECONDS says.
"""

import os
import time
from typing import Final

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_tasks import ended

BEATS_SECONDS: Final = int(os.environ.get("POSTDATE_HEARTBEAT_SECONDS", "12"))
LEASE_SECONDS: Final = 5
RETRY: Final = {"max_attempts": 3, "initial_seconds": 1, "multiplier": 1, "max_seconds": 1}


def test_a_receiver_that_says_it_lives_keeps_its_run_and_a_silent_one_loses_it(
    stack: RunningStack, receiver: Receiver
) -> None:
    client = stack.client()
    asked = {
        "delay_seconds": 0,
        "target": {"type": "webhook", "url": receiver.url},
        "ack": "explicit",
        "timeout_seconds": LEASE_SECONDS,
        "retry": RETRY,
    }
    id = client.post("/api/v1/tasks", asked).expect(201)["task_id"]
    (first,) = receiver.wait_for(id)
    mine = {"token": first.headers["postdate-token"]}
    until = time.monotonic() + BEATS_SECONDS
    while time.monotonic() < until:
        assert client.post(f"/api/v1/runs/{id}/heartbeat", mine).expect(200)["status"] == "RUNNING"
        time.sleep(LEASE_SECONDS / 3)
    assert len(receiver.of(id)) == 1, "somebody else got it meanwhile"

    _, second = receiver.wait_for(id, 2, seconds=60)
    late = client.post(f"/api/v1/runs/{id}/complete", mine)
    assert (late.status, late.body["code"]) == (409, "invalid_state")
    theirs = {"token": second.headers["postdate-token"]}
    assert client.post(f"/api/v1/runs/{id}/complete", theirs).expect(200)["status"] == "SUCCEEDED"
    task = ended(stack, id)
    assert (task["status"], task["attempts"]) == ("SUCCEEDED", 2)
