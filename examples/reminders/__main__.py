"""Reminders of appointments: sent by webhook, moved and called off until they are due, and each acted on once.

PYTHONPATH=client .venv/bin/python -m examples.reminders
"""

import time
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import Any, Final

from examples.local import client, expect, stack
from examples.webhooks import receiving

DUE: Final = timedelta(seconds=20)
_SECONDS_MAX: Final = 120


def main() -> None:
    arrived: SimpleQueue[str] = SimpleQueue()
    seen: set[str] = set()

    def receive(run_id: str, payload: dict[str, Any]) -> None:
        """An attempt whose answer was lost comes again with the same id."""
        if run_id not in seen:
            seen.add(run_id)
            arrived.put(payload["patient"])

    with receiving([stack()["signing_secret"]], receive) as url, client() as postdate:
        due = datetime.now(UTC) + DUE
        tasks = {
            patient: postdate.register_task(
                target={"type": "webhook", "url": url},
                run_at=due,
                name="reminder",
                payload={"patient": patient},
                idempotency_key=f"{patient}-{due.isoformat()}",
            )["task_id"]
            for patient in ("Ada", "Ben", "Cleo")
        }
        postdate.cancel_task(tasks["Ben"])  # the appointment was called off
        postdate.change_task(tasks["Cleo"], run_at=due + timedelta(seconds=2))
        reminded = [arrived.get(timeout=_SECONDS_MAX) for _ in ("Ada", "Cleo")]
        time.sleep(1)
        ends = {patient: postdate.wait_for_task(id)["status"] for patient, id in tasks.items()}
    expect((reminded, arrived.empty()), (["Ada", "Cleo"], True))
    expect(ends, {"Ada": "SUCCEEDED", "Ben": "CANCELLED", "Cleo": "SUCCEEDED"})
    print(f"Reminded {' and '.join(reminded)}; Ben's appointment was called off.")


if __name__ == "__main__":
    main()
