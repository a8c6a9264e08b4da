"""`postdate recover` against the deployed functions: what it reads of them, stops, refuses and starts again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.local.once import ROOT
from infra.environments import LOCAL
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_tasks import ended


def recover(stack: RunningStack, *arguments: str) -> tuple[int, Any]:
    place = ("--port", str(stack.place.port))
    ran = subprocess.run(
        [sys.executable, "-m", "cli.main", "recover", "--json", "--env", "local", *place, *arguments],
        cwd=ROOT, env=os.environ | {"POSTDATE_LOCAL_DIR": str(stack.place.directory)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, json.loads(ran.stdout)


@contextmanager
def stopped(stack: RunningStack) -> Iterator[None]:
    assert recover(stack, "--stop") == (0, {"stopped": True})
    try:
        yield
    finally:
        assert recover(stack, "--start") == (0, {"stopped": False, "schedules_enabled": []})


def test_money_is_mended_only_while_nothing_moves_it(stack: RunningStack) -> None:
    since = datetime.now(UTC).isoformat()
    status, answer = recover(stack, "--since", since, "--restored", "payments")
    assert (status, answer["error"].split(":")[0]) == (1, "The functions of local are not stopped")
    with stopped(stack):
        assert stack.client().get("/api/v1/tasks").status in (429, 500, 503)
        status, answer = recover(stack, "--since", since, "--restored", "payments")
        assert status == 1
        assert answer["error"].startswith("A function that began before the stop may run for another")
    stack.client().get("/api/v1/tasks").expect(200)


def test_a_start_enables_the_schedule_of_the_tick(stack: RunningStack) -> None:
    scheduler, name = stack.aws("scheduler"), LOCAL.named("tick")
    before = scheduler.get_schedule(Name=name)
    given = {"Name", "ScheduleExpression", "FlexibleTimeWindow", "Target"}
    scheduler.update_schedule(**{field: before[field] for field in given}, State="DISABLED")
    assert recover(stack, "--start") == (0, {"stopped": False, "schedules_enabled": [name]})
    after = scheduler.get_schedule(Name=name)
    assert after["State"] == "ENABLED"
    assert {field: after[field] for field in given} == {field: before[field] for field in given}


def test_the_sweep_goes_on_from_a_watermark_that_was_put_back(
    stack: RunningStack, receiver: Receiver
) -> None:
    client = stack.client()
    form = {"delay_seconds": 45, "target": {"type": "webhook", "url": f"{receiver.url}/"}}
    id = client.post("/api/v1/tasks", form).expect(201)["task_id"]
    now = datetime.now(UTC)
    status, answer = recover(
        stack, "--since", now.isoformat(), "--from", (now - timedelta(minutes=3)).isoformat()
    )
    assert (status, answer["epoch"], answer["tokens_raised"]) == (0, 1, 0)
    assert datetime.fromisoformat(answer["swept_again_from"]) <= now - timedelta(minutes=3)
    receiver.wait_for(id, seconds=90)
    assert (ended(stack, id)["status"], len(receiver.of(id))) == ("SUCCEEDED", 1)
