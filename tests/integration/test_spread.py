"""Tasks of one instant that ask for a spread fill the time after it evenly, as they are registered and stored."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.integration.world import Client

TASKS: Final = 2_000
BATCH: Final = 100
SECONDS: Final = 60
# The sum of squares exceeds this by chance once in a thousand million runs: chi-square with 59 degrees of freedom.
MOST: Final = 150.0


def test_two_thousand_tasks_fill_their_minute_evenly(client: Client) -> None:
    at = (datetime.now(UTC) + timedelta(days=100)).replace(second=0, microsecond=0)
    form: dict[str, Any] = {"run_at": at.isoformat(), "target": client.target, "spread_seconds": SECONDS}
    found: list[datetime] = []
    for first in range(0, TASKS, BATCH):
        forms = [form | {"idempotency_key": f"spread-{number}"} for number in range(first, first + BATCH)]
        answer = client.call("POST", "/api/v1/tasks/batch", {"tasks": forms})
        assert answer.status == 200, answer.body
        found += [datetime.fromisoformat(result["task"]["run_at"]) for result in answer.body["results"]]
    assert all(at <= instant < at + timedelta(seconds=SECONDS) for instant in found)
    a_second = Counter((instant - at) // timedelta(seconds=1) for instant in found)
    mean = TASKS / SECONDS
    assert sum((a_second[second] - mean) ** 2 / mean for second in range(SECONDS)) < MOST
    # Within a second too: as many instants lie in its first half as in its second one.
    early = sum(instant.microsecond < 500_000 for instant in found)
    assert abs(early - TASKS / 2) < 7 * (TASKS / 4) ** 0.5
