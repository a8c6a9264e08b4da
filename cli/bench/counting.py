"""Runs the deployed functions' own code in this process and counts what it sends; `python -m cli.bench.counting`.

Their handlers, settings and tables are the stack's; only the queue `tasks` is one of ours, so that no deployed worker
takes a call before we do. What Lambda itself asks of the queue is asked here in its place. Everything is run once
uncounted, so that what a warm function remembers is not read again.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import boto3

from cli.bench.meter import Meter

_FUNCTIONS: Final = ("api", "sweep", "run-tasks")
_BATCH: Final = 10
_ARRIVES_WITHIN_SECONDS: Final = 5
_FAR: Final = timedelta(days=1)
_SOON: Final = timedelta(seconds=2)
_ARRIVED: Final = timedelta(seconds=0.9)


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """As much of Lambda's as our handlers look at."""

    function_name: str
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:counted"
    aws_request_id: str = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Counted:
    """One task's or one batch's way, each step's requests on the meter."""

    def __init__(self, *, queue_url: str, destination_url: str, tenant: str) -> None:
        self._queue_url = queue_url
        self._destination_url = destination_url
        self._tenant = tenant
        self._handlers = _handlers(tasks_queue_url=queue_url)
        self._meter = Meter(destination=destination_url)
        self._sqs = boto3.Session().client("sqs")
        self._opened = 0

    def way(self, tasks: int, *, keyed: bool, far: bool = False) -> dict[str, dict[str, float]]:
        """The counts of each phase, for all of these tasks together; `far` ones are only registered and opened."""
        self._meter.taken = {}
        due_at = self._next_minute() if far else datetime.now(UTC) + _SOON
        with self._meter.phase("register"):
            self._register([self._form(due_at, number, keyed=keyed) for number in range(tasks)])
        if far:
            with self._meter.phase("open"):
                self._open(due_at)
            self._sqs.purge_queue(QueueUrl=self._queue_url)
        else:
            time.sleep(max(0.0, (due_at - _ARRIVED - datetime.now(UTC)).total_seconds()))
            self._run(tasks)
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
        """One alone names its key in a header, as a client does."""
        if len(forms) > 1:
            self._call("api", _http("/api/v1/tasks/batch", {"tasks": forms}, {}, self._tenant))
        else:
            headers = {"idempotency-key": key} if (key := forms[0].pop("idempotency_key", None)) else {}
            self._call("api", _http("/api/v1/tasks", forms[0], headers, self._tenant))
        self._meter.note("register", lambda_requests=2)

    def _open(self, due_at: datetime) -> None:
        minute = int(due_at.timestamp()) // 60
        wake_up = {"kind": "sweep", "minute": minute, "group": 0, "stage": "open"}
        self._call("sweep", {"Records": [{"messageId": "1", "body": json.dumps(wake_up)}]})

    def _run(self, tasks: int) -> None:
        deadline = time.monotonic() + _ARRIVES_WITHIN_SECONDS
        done = 0
        while done < tasks:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{tasks - done} of {tasks} calls did not come through the queue")
            time.sleep(0.1)
            done += self._batch()

    def _batch(self) -> int:
        """As Lambda does: receive, call, delete. An empty receive is not counted, a busy queue has none."""
        with self._meter.phase("empty"):
            received = self._sqs.receive_message(
                QueueUrl=self._queue_url, MaxNumberOfMessages=_BATCH, AttributeNames=["All"]
            ).get("Messages", [])
        self._meter.taken.pop("empty")
        if not received:
            return 0
        self._meter.note("claim", lambda_requests=1, sqs_requests=1)
        with self._meter.phase("claim"):
            answer = self._call("run-tasks", {"Records": [_record(message) for message in received]})
        if answer["batchItemFailures"]:
            raise RuntimeError(f"not run: {answer}")
        entries = [
            {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
            for place, message in enumerate(received)
        ]
        with self._meter.phase("completion"):
            self._sqs.delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
        return sum(len(json.loads(message["Body"])["dues"]) for message in received)

    def _call(self, function: str, event: dict[str, Any]) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self._handlers[function](event, Context(function_name=function))
        if answer.get("statusCode", 200) >= 300:
            raise RuntimeError(f"refused: {answer}")
        return answer


def _handlers(*, tasks_queue_url: str) -> dict[str, Callable[[dict[str, Any], Context], Any]]:
    """The functions that are deployed, by the names and with the settings they are deployed with."""
    client = boto3.Session().client("lambda")
    named = {}
    for name in _FUNCTIONS:
        described = client.get_function_configuration(FunctionName=f"postdate-local-{name}")
        os.environ.update(described["Environment"]["Variables"])
        named[name] = described["Handler"]
    os.environ["TASKS_QUEUE_URL"] = tasks_queue_url
    found = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name, handler in named.items():
            module, _, function = handler.rpartition(".")
            found[name] = getattr(importlib.import_module(module), function)
    return found


def _http(path: str, body: dict[str, Any], headers: dict[str, str], tenant: str) -> dict[str, Any]:
    caller = {"tenant": tenant, "key_id": "counted", "scopes": "tasks:write tasks:read"}
    return {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", **headers},
        "requestContext": {
            "http": {"method": "POST", "path": path},
            "stage": "$default",
            "requestId": "counted",
            "authorizer": {"lambda": caller},
        },
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "isBase64Encoded": True,
    }


def _record(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
    }


def main() -> None:
    asked = json.load(sys.stdin)
    counted = Counted(**asked["stack"])
    counted.way(tasks=1, keyed=True)
    counted.way(tasks=1, keyed=False, far=True)
    print(json.dumps([counted.way(**way) for way in asked["ways"]]))


if __name__ == "__main__":
    main()
