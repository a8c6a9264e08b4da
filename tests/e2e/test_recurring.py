"""A task that runs every minute, while the processes that run it are killed: none missed, none twice, none early.

Two minutes, or as many as POSTDATE_RECURRING_MINUTES says.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from cli.client import Client
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_survival import workers

MINUTES: Final = int(os.environ.get("POSTDATE_RECURRING_MINUTES", "2"))
MINUTE: Final = timedelta(minutes=1)
SETTLED_SECONDS: Final = 90
# A worker that is still starting has not yet said how long its messages are to be hidden: they would be for 15 minutes.
AWAKE_SECONDS: Final = 5


def test_every_planned_minute_has_its_one_run_although_workers_die(
    stack: RunningStack, receiver: Receiver
) -> None:
    client = stack.client()
    form = {
        "cron": "* * * * *",
        "target": {"type": "webhook", "url": f"{receiver.url}/hang-once"},
        "overlap": "allow",
        "catch_up": "all",
    }
    task = client.post("/api/v1/tasks", form).expect(201)
    task_id, first = task["task_id"], datetime.fromisoformat(task["next_run_at"])
    planned = [first + number * MINUTE for number in range(MINUTES)]
    with killed_now_and_then(stack, planned) as kill:
        assert receiver.wait_for(task_id, seconds=90), "its first run never came"
        kill(workers(stack, "run-tasks"))
        time.sleep(max(0.0, (planned[-1] - datetime.now(UTC)).total_seconds()))
    runs = ended(client, task_id, planned)
    client.delete(f"/api/v1/tasks/{task_id}").expect(200)

    for run in sorted(runs, key=instant_of):
        print(run["planned_at"], run["status"], run["lateness_ms"])
    by_instant = Counter(datetime.fromisoformat(run["planned_at"]) for run in runs)
    assert [by_instant[instant] for instant in planned] == [1] * MINUTES
    assert set(by_instant) - set(planned) <= {planned[-1] + number * MINUTE for number in range(1, 4)}
    assert {run["status"] for run in runs if instant_of(run) in planned} == {"SUCCEEDED"}
    arrivals = receiver.of(task_id)
    for run in runs:
        mine = [arrival for arrival in arrivals if arrival.headers["webhook-id"] == run["run_id"]]
        tokens = [int(arrival.headers["postdate-token"]) for arrival in mine]
        assert tokens == sorted(set(tokens)), "one attempt came twice"
        assert all(arrival.at >= instant_of(run).timestamp() - 0.001 for arrival in mine), "early"
        assert len(mine) >= (run["status"] == "SUCCEEDED")
    assert {arrival.headers["webhook-id"] for arrival in arrivals} <= {run["run_id"] for run in runs}
    assert max(int(arrival.headers["postdate-token"]) for arrival in arrivals) >= 2, "no worker died at work"


@contextmanager
def killed_now_and_then(
    stack: RunningStack, planned: list[datetime]
) -> Iterator[Callable[[list[int]], None]]:
    """Workers die at every other instant, when they hold its call, and in between before the others."""
    over, rng = Event(), random.Random(7)

    def kill(pids: list[int]) -> None:
        print(f"{datetime.now(UTC):%H:%M:%S.%f} kills {len(pids)}")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def run() -> None:
        for number, instant in enumerate(planned[1:]):
            ahead = rng.uniform(20, 40) if number % 2 else rng.uniform(-0.2, 0.8)
            left = (instant - datetime.now(UTC)).total_seconds() - ahead
            if left > 0 and not over.wait(left):
                kill([pid for pid in workers(stack, "run-tasks") if age(pid) > AWAKE_SECONDS])

    killer = Thread(target=run, daemon=True)
    killer.start()
    try:
        yield kill
    finally:
        over.set()
        killer.join(5)


def age(pid: int) -> float:
    """Age of a process in seconds; 0 when it has ended."""
    try:
        return time.time() - Path(f"/proc/{pid}").stat().st_ctime
    except OSError:
        return 0.0


def ended(client: Client, task_id: str, planned: list[datetime]) -> list[dict[str, Any]]:
    """All of the task's runs once those of the planned instants are over."""
    deadline = time.monotonic() + SETTLED_SECONDS
    while True:
        runs = list(listed(client, task_id))
        over = {instant_of(run) for run in runs if run["status"] not in ("PENDING", "RUNNING", "RETRYING")}
        if over >= set(planned) or time.monotonic() > deadline:
            return runs
        time.sleep(0.5)


def listed(client: Client, task_id: str) -> Iterator[dict[str, Any]]:
    cursor = ""
    while cursor is not None:
        after = f"&cursor={cursor}" if cursor else ""
        page = client.get(f"/api/v1/tasks/{task_id}/runs?limit=100{after}").expect(200)
        yield from page["runs"]
        cursor = page["next_cursor"]


def instant_of(run: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(run["planned_at"])
