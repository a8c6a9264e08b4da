"""Flow control, breakers and fairness on the running stack.

The sizes are small, so that all tests together stay short; the figures in the documentation are from runs with
POSTDATE_FLOW_SIZES=full.
"""

import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.client import Client
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver

FULL: Final = os.environ.get("POSTDATE_FLOW_SIZES") == "full"
# A place is good for a second, so that much may fall together (docs/decisions/0011-flow-control.md).
SLACK: Final = 10
# A minute may be open so long before it begins.
OPEN_HORIZON_SECONDS: Final = 35


def register(client: Client, forms: list[dict[str, Any]]) -> list[str]:
    ids = []
    for start in range(0, len(forms), 100):
        answer = client.post("/api/v1/tasks/batch", {"tasks": forms[start : start + 100]}).expect(200)
        ids += [result["task"]["task_id"] for result in answer["results"]]
    return ids


def ahead(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def form(url: str, due_at: datetime, **fields: Any) -> dict[str, Any]:
    return {"run_at": due_at.isoformat(), "target": {"type": "webhook", "url": url}, **fields}


def arrived(receiver: Receiver, ids: set[str], *, seconds: float) -> dict[str, float]:
    """The instant of the first arrival of each run."""
    deadline = time.monotonic() + seconds
    while True:
        found: dict[str, float] = {}
        for arrival in list(receiver.arrivals):
            if arrival.task_id in ids:
                found.setdefault(arrival.task_id, arrival.at)
        if len(found) == len(ids) or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def percentile(values: list[float], of: float) -> float:
    return sorted(values)[math.ceil(len(values) * of / 100) - 1]


@contextmanager
def dead_host() -> Iterator[str]:
    """An address where nobody listens, kept free for as long as it is used."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{kept.getsockname()[1]}/"


def test_a_rate_is_kept_and_everything_gets_done(stack: RunningStack, receiver: Receiver) -> None:
    count, rate = (200 if FULL else 60), 10
    control = {"key": f"e2e-{time.time_ns()}", "rate": rate}
    due_at = ahead(5)
    ids = register(stack.client(), [form(receiver.url, due_at, flow_control=control) for _ in range(count)])
    found = arrived(receiver, set(ids), seconds=count / rate + 30)
    assert len(found) == count
    times = sorted(found.values())
    most = max(sum(first <= at < first + 1 for at in times) for first in times)
    print(
        f"rate: {count} in {times[-1] - times[0]:.1f} s, at most {most} in a second, "
        f"first {times[0] - due_at.timestamp():.3f} s"
    )
    assert times[0] >= due_at.timestamp() - 0.001
    assert times[-1] - times[0] >= (count - 1) / rate - 1
    assert most <= rate + SLACK
    task = stack.client().get(f"/api/v1/tasks/{ids[-1]}").expect(200)
    assert task["attempts"] == 1


def test_a_dead_host_is_left_alone_and_the_others_are_not(stack: RunningStack, receiver: Receiver) -> None:
    """Waiting tasks use up no attempt; at most one batch of claims of each worker was on its way."""
    storm, others = (2000 if FULL else 300), (300 if FULL else 60)
    client = stack.client()
    span = 30 if FULL else 8

    def steady() -> list[float]:
        start = ahead(6)
        due = [start + timedelta(seconds=span * place / others) for place in range(others)]
        ids = register(client, [form(receiver.url, at) for at in due])
        found = arrived(receiver, set(ids), seconds=span + 30)
        assert len(found) == others
        return [1000 * (found[id] - at.timestamp()) for id, at in zip(ids, due, strict=True)]

    alone = steady()
    with dead_host() as url:
        start = ahead(14 if FULL else 6)
        due = [start + timedelta(seconds=span * place / storm) for place in range(storm)]
        dead = register(client, [form(url, at) for at in due])
        beside = steady()
        time.sleep(max(0.0, (due[-1] - datetime.now(UTC)).total_seconds()) + 3)
        tasks = [client.get(f"/api/v1/tasks/{id}").expect(200) for id in dead]
    attempts = [line for task in tasks for line in task["history"] if line["status"] == "RUNNING"]
    instants = sorted(line["at"] for line in attempts)
    left_alone = sum(
        any("circuit breaker" in line["reason"] or "tried" in line["reason"] for line in task["history"])
        for task in tasks
    )
    print(
        f"storm: {storm} tasks, {len(attempts)} calls from {instants[0]} to {instants[-1]}, {left_alone} left alone; "
        f"the others' p50, p99: {percentile(alone, 50):.1f}, {percentile(alone, 99):.1f} ms alone, "
        f"{percentile(beside, 50):.1f}, {percentile(beside, 99):.1f} ms beside"
    )
    assert left_alone >= storm * 0.6
    assert len(attempts) <= 12 * 25 + 5


def test_one_tenants_flood_makes_no_other_tenant_late(stack: RunningStack, receiver: Receiver) -> None:
    """Both due at one instant. Their minute is not open yet when the last of them is registered, so the sweep sees the
    flood as a whole. In an open minute the API would send each call by itself."""
    flood, quiet = (5000 if FULL else 1000), 50
    client, other = stack.client(), stack.client(stack.other_tenant_key)
    registered_by = ahead(3 * (flood + quiet) * seconds_to_register_one(client, receiver))
    due_at = beginning_of_a_minute(after=registered_by + timedelta(seconds=OPEN_HORIZON_SECONDS))
    many = register(client, [form(receiver.url, due_at) for _ in range(flood)])
    few = register(other, [form(receiver.url, due_at) for _ in range(quiet)])
    left = (due_at - datetime.now(UTC)).total_seconds()
    assert left > OPEN_HORIZON_SECONDS, "registered when the minute was open"
    time.sleep(left)
    found = arrived(receiver, {*many, *few}, seconds=180)
    assert len(found) == flood + quiet
    late, flooded = ([found[id] - due_at.timestamp() for id in ids] for ids in (few, many))
    before = sum(each < percentile(late, 50) for each in flooded)
    print(
        f"flood: the few p50, most {percentile(late, 50):.2f}, {max(late):.2f} s; "
        f"the many {percentile(flooded, 50):.2f}, {max(flooded):.2f} s; {before} of the many before the few's p50"
    )
    # How late is for a quiet machine to say; that the few do not stand in the many's line shows on a busy one as well.
    assert percentile(late, 50) < percentile(flooded, 50)


def seconds_to_register_one(client: Client, receiver: Receiver) -> float:
    """On this machine as busy as it is now; what is registered is due when the stack is long gone."""
    began = time.monotonic()
    register(client, [form(receiver.url, ahead(86_400)) for _ in range(100)])
    return (time.monotonic() - began) / 100


def beginning_of_a_minute(*, after: datetime) -> datetime:
    return after.replace(second=0, microsecond=0) + timedelta(minutes=1)
