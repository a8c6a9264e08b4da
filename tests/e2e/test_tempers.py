"""A target that fails, hangs, asks to wait, and dies after it has accepted: each task ends as its policy says.

Forty tasks, or as many as POSTDATE_TEMPERS says.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import ASKED_SECONDS, Receiver, receiving, temper_of
from tests.e2e.test_flow import form, register
from tests.e2e.test_tasks import ended

COUNT: Final = int(os.environ.get("POSTDATE_TEMPERS", "40"))
POLICY: Final = {"max_attempts": 4, "initial_seconds": 1, "multiplier": 2, "max_seconds": 4, "jitter": False}
DELAYS_SECONDS: Final = (1, 2, 4)
# The delay that a busy machine may add; that a delay is not shorter than it should be holds on any.
LATE_SECONDS: Final = 30


@pytest.fixture
def moody() -> Iterator[Receiver]:
    """A host of its own: a breaker that it opens is nobody else's."""
    with receiving() as running:
        yield running


def test_each_task_ends_as_its_policy_says_and_its_history_tells_it(
    stack: RunningStack, moody: Receiver
) -> None:
    due_at = datetime.now(UTC) + timedelta(seconds=3)
    url = f"{moody.url}/tempers"
    ids = register(stack.client(), [form(url, due_at, retry=POLICY, timeout_seconds=5) for _ in range(COUNT)])
    time.sleep(3)
    tasks = [ended(stack, id, seconds=120) for id in ids]
    tempers = Counter(temper_of(task["task_id"], 1 + n) for task in tasks for n in range(task["attempts"]))
    print(dict(tempers), Counter((task["status"], task["attempts"]) for task in tasks))
    for task in tasks:
        drawn = [temper_of(task["task_id"], attempt) for attempt in range(1, 5)]
        well = drawn.index("is well") + 1 if "is well" in drawn else None
        assert (task["status"], task["attempts"]) == (("SUCCEEDED", well) if well else ("DEAD", 4))
        tokens = [int(arrival.headers["postdate-token"]) for arrival in moody.of(task["task_id"])]
        # A call that was reset on a kept connection is sent once more, as the same attempt.
        assert tokens == sorted(tokens)
        assert set(tokens) <= set(range(1, task["attempts"] + 1))
        told(task, drawn)


def told(task: dict[str, Any], drawn: list[str]) -> None:
    """Failure reason and instant of the retry, of each failed attempt."""
    lines = task["history"]
    failed = [line for line in lines if line["status"] in ("RETRYING", "DEAD")]
    began = [line for line in lines if line["status"] == "RUNNING"]
    for line, temper in zip(failed, drawn, strict=False):
        if temper in ("fails", "asks to wait"):
            assert line["reason"] == {"fails": "http 500", "asks to wait": "http 429"}[temper]
        else:
            assert line["reason"]
    for number, (line, again) in enumerate(zip(failed, began[1:], strict=False)):
        wanted = max(DELAYS_SECONDS[number], ASKED_SECONDS if drawn[number] == "asks to wait" else 0)
        waited = (datetime.fromisoformat(again["at"]) - datetime.fromisoformat(line["at"])).total_seconds()
        assert wanted - 0.002 <= waited <= wanted + LATE_SECONDS
