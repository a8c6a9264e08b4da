"""The deployed functions' own code, run in this process: their handlers, settings and tables are the stack's.

Only the queues that deployed workers read are ours, so that none of them takes a call before we do. What Lambda itself
asks of a queue is asked here in its place.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import boto3

from bench.meter import Meter
from bench.stopwatch import Stopwatch
from cli import tenants
from cli.local import secrets

_BATCH: Final = 10
_SCOPES: Final = frozenset(
    {"tasks:write", "tasks:read", "payments:write", "payments:read", "accounts:read", "admin"}
)
_ARRIVES_WITHIN_SECONDS: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The part of Lambda's context that the handlers read."""

    function_name: str
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:counted"
    aws_request_id: str = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Functions:
    def __init__(self, names: Iterable[str], *, tenant: str, settings: Mapping[str, str]) -> None:
        """`settings` are ours in place of the deployed ones."""
        self._handlers = _handlers(names, settings)
        self._key = tenants.key(
            secrets.key_table({name: os.environ[f"{name.upper()}_TABLE"] for name in ("keys", "data_keys")}),
            tenant,
            _SCOPES,
        )

    def call(self, function: str, event: dict[str, Any]) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self._handlers[function](event, Context(function_name=function))
        if answer.get("statusCode", 200) >= 300:
            raise RuntimeError(f"refused: {answer}")
        return answer

    def post(self, path: str, body: dict[str, Any], *, key: str | None = None) -> Any:
        """Through the API, as a caller with every scope; a key travels in its header."""
        headers = {} if key is None else {"idempotency-key": key}
        answer = self.call("api", _http("POST", path, body, headers, self._key))
        return json.loads(answer["body"])

    def get(self, path: str, bearer: str) -> Any:
        """Through the API, with this key."""
        return json.loads(self.call("api", _http("GET", path, {}, {}, bearer))["body"])


class Calls:
    """A queue of ours and the function that works on it."""

    def __init__(
        self, functions: Functions, meter: Meter | Stopwatch, *, function: str, queue_url: str
    ) -> None:
        self._functions = functions
        self._meter = meter
        self._function = function
        self._queue_url = queue_url
        self._sqs = boto3.Session().client("sqs")

    def clear(self) -> None:
        self._sqs.purge_queue(QueueUrl=self._queue_url)

    def run(self, items: int, *, phase: str, deleted_in: str) -> None:
        deadline = time.monotonic() + _ARRIVES_WITHIN_SECONDS
        done = 0
        while done < items:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{items - done} of {items} calls did not come through the queue")
            time.sleep(0.1)
            done += self._batch(phase, deleted_in)

    def _batch(self, phase: str, deleted_in: str) -> int:
        """Receives, calls the handler, and deletes, like Lambda. An empty receive is not counted, a busy queue has
        none."""
        with self._meter.phase("empty"):
            received = self._sqs.receive_message(
                QueueUrl=self._queue_url, MaxNumberOfMessages=_BATCH, AttributeNames=["All"]
            ).get("Messages", [])
        self._meter.taken.pop("empty")
        if not received:
            return 0
        self._meter.note(phase, lambda_requests=1, sqs_requests=1)
        with self._meter.phase(phase):
            answer = self._functions.call(
                self._function, {"Records": [_record(message) for message in received]}
            )
        if answer["batchItemFailures"]:
            raise RuntimeError(f"not run: {answer}")
        entries = [
            {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
            for place, message in enumerate(received)
        ]
        with self._meter.phase(deleted_in):
            self._sqs.delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
        return sum(len(json.loads(message["Body"])["dues"]) for message in received)


def _handlers(
    names: Iterable[str], settings: Mapping[str, str]
) -> dict[str, Callable[[dict[str, Any], Context], Any]]:
    """The functions that are deployed, by the names and with the settings they are deployed with."""
    client = boto3.Session().client("lambda")
    named = {}
    for name in names:
        described = client.get_function_configuration(FunctionName=f"postdate-local-{name}")
        os.environ.update(described["Environment"]["Variables"])
        named[name] = described["Handler"]
    os.environ.update(settings)
    found = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name, handler in named.items():
            module, _, function = handler.rpartition(".")
            found[name] = getattr(importlib.import_module(module), function)
    return found


def _http(method: str, path: str, body: dict[str, Any], headers: dict[str, str], key: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "authorization": f"Bearer {key}", **headers},
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "counted",
            # The API reads the key itself; from the authorizer it needs only that there is one.
            "authorizer": {"lambda": {"tenant": "", "key_id": "known"}},
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
