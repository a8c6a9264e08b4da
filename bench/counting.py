"""Counts what tasks and payments take, by running the functions' own code; `python -m bench.counting`.

Everything is run once uncounted, so that what a warm function remembers is not read again. With `timed` the phases have
their times in place of units.
"""

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from bench.deployed import Calls, Functions
from bench.meter import Meter
from bench.stopwatch import Stopwatch

_FAR: Final = timedelta(days=1)
_SOON: Final = timedelta(seconds=2)
_ARRIVED: Final = timedelta(seconds=0.9)
_PAYMENTS: Final = "/api/v1/payments/schedule"
_ACCOUNTS: Final = 21
_DEPOSIT: Final = 10_000


class CountedTasks:
    """Takes one task or one batch through its steps, with the requests of each step on the meter."""

    def __init__(
        self,
        functions: Functions,
        meter: Meter | Stopwatch,
        *,
        queue_url: str,
        destination_url: str,
        opened: int,
    ) -> None:
        """`opened` minutes of tomorrow have tasks already."""
        self._functions = functions
        self._meter = meter
        self._destination_url = destination_url
        self._calls = Calls(functions, meter, function="run-tasks", queue_url=queue_url)
        self._opened = opened

    def way(self, tasks: int, *, keyed: bool, far: bool = False) -> dict[str, dict[str, float]]:
        """The counts of each phase, for all of these tasks together; `far` ones are only registered and opened."""
        self._meter.taken = {}
        due_at = self._next_minute() if far else datetime.now(UTC) + _SOON
        with self._meter.phase("register"):
            self._register([self._form(due_at, number, keyed=keyed) for number in range(tasks)])
        if far:
            with self._meter.phase("open"):
                self._open(due_at)
            self._calls.clear()
        else:
            _wait_for(due_at)
            self._calls.run(tasks, phase="claim", deleted_in="completion")
        return {phase: dict(counts) for phase, counts in self._meter.taken.items()}

    def _next_minute(self) -> datetime:
        """The start of a minute a day ahead that nothing else is due in and nobody has opened."""
        self._opened += 1
        asked = datetime.now(UTC) + _FAR + timedelta(minutes=self._opened)
        return asked.replace(second=0, microsecond=0)

    def _form(self, due_at: datetime, number: int, *, keyed: bool) -> dict[str, Any]:
        target = {"type": "sqs", "queue_url": self._destination_url}
        key = {"idempotency_key": f"counted-{due_at.timestamp()}-{number}"} if keyed else {}
        return {"run_at": due_at.isoformat(), "target": target, "payload": {"n": number}, **key}

    def _register(self, forms: list[dict[str, Any]]) -> None:
        """Sends a single task with its key in a header, as a client does."""
        if len(forms) > 1:
            self._functions.post("/api/v1/tasks/batch", {"tasks": forms})
        else:
            self._functions.post("/api/v1/tasks", forms[0], key=forms[0].pop("idempotency_key", None))
        self._meter.note("register", lambda_requests=1)

    def _open(self, due_at: datetime) -> None:
        minute = int(due_at.timestamp()) // 60
        wake_up = {"kind": "sweep", "minute": minute, "group": 0, "stage": "open"}
        self._functions.call("sweep", {"Records": [{"messageId": "1", "body": json.dumps(wake_up)}]})


class CountedPayments:
    """Takes one payment or one batch through its steps. The cost of its key is a phase of its own."""

    def __init__(self, functions: Functions, meter: Meter | Stopwatch, *, queue_url: str) -> None:
        self._functions = functions
        self._meter = meter
        self._calls = Calls(functions, meter, function="settle", queue_url=queue_url)
        self._accounts = [f"counted-{number}" for number in range(_ACCOUNTS)]
        for account in self._accounts:
            functions.post("/api/v1/accounts", {"account_id": account})
            functions.post(f"/api/v1/accounts/{account}/deposits", {"amount": _DEPOSIT}, key=account)

    def way(self, payments: int, *, hot: bool = False) -> dict[str, dict[str, float]]:
        """The counts of each phase, for all of these payments together: over twenty accounts, or from them onto one."""
        self._meter.taken = {}
        due_at = datetime.now(UTC) + _SOON
        with self._meter.phase("register"):
            self._register([self._form(due_at, number, hot=hot) for number in range(payments)])
        _wait_for(due_at)
        self._calls.run(payments, phase="settle", deleted_in="settle")
        return {phase: dict(counts) for phase, counts in self._meter.taken.items()}

    def _form(self, due_at: datetime, number: int, *, hot: bool) -> dict[str, Any]:
        *others, last = self._accounts
        payer = number % len(others)
        payee = last if hot else others[(payer + 1 + number // len(others)) % len(others)]
        return {
            "from_account_id": others[payer],
            "to_account_id": payee,
            "amount": 1,
            "scheduled_time": due_at.isoformat(),
            "idempotency_key": str(uuid4()),
        }

    def _register(self, forms: list[dict[str, Any]]) -> None:
        if len(forms) > 1:
            self._functions.post(f"{_PAYMENTS}/batch", {"payments": forms})
        else:
            self._functions.post(_PAYMENTS, forms[0], key=forms[0].pop("idempotency_key"))
        self._meter.note("register", lambda_requests=1)


def _wait_for(due_at: datetime) -> None:
    """Waits until the delay of the queue has passed, a moment before the instant."""
    time.sleep(max(0.0, (due_at - _ARRIVED - datetime.now(UTC)).total_seconds()))


def main() -> None:
    asked = json.load(sys.stdin)
    queues, apart = asked["queues"], asked["apart"]
    settings = {
        "TASKS_QUEUE_URL": queues["tasks"],
        "SLOW_QUEUE_URL": queues["tasks"],
        "PAYMENTS_QUEUE_URL": queues["payments"],
    }
    # The functions make their clients while they are imported: the meter has to know them before.
    timed = asked.get("timed", False)
    meter = Stopwatch() if timed else Meter(destination=asked["destination_url"])
    functions = Functions(("api", "sweep", "run-tasks", "settle"), tenant=asked["tenant"], settings=settings)
    tasks = CountedTasks(
        functions,
        meter,
        queue_url=queues["tasks"],
        destination_url=asked["destination_url"],
        opened=asked.get("opened", 0),
    )
    tasks.way(tasks=1, keyed=True)
    tasks.way(tasks=1, keyed=False, far=True)
    counted = [tasks.way(**way) for way in asked["tasks"]]
    payments = CountedPayments(functions, meter, queue_url=queues["payments"])
    payments.way(payments=1)
    if isinstance(meter, Meter):
        meter.apart = apart
    print(json.dumps({"tasks": counted, "payments": [payments.way(**way) for way in asked["payments"]]}))


if __name__ == "__main__":
    main()
