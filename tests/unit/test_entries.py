"""Work of a function's start, and its limits."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from cli.local.listening import Answering, listening
from infra.environments import LOCAL
from postdate.domain import payment, task
from postdate.domain.due import Due, Packet, Via
from postdate.domain.slots import item_id
from postdate.runtime import settings
from postdate.runtime.queue import text_of
from postdate.stores.key_text import bearer_text
from postdate.stores.payment_row import attributes_of
from tests.unit.doubles import PLAN, START, a_payment, unique

FUNCTIONS: Final = sorted(path.parent.name for path in Path("functions").glob("*/handler.py"))
DUE_AT: Final = START + timedelta(seconds=1)
COUNTED: Final = """
import botocore.session, json, sys
made = []
create = botocore.session.Session.create_client
botocore.session.Session.create_client = lambda *given, **named: made.append(given[1]) or create(*given, **named)
"""
PAYMENT: Final = {"from_account_id": "a", "to_account_id": "b", "amount": 1, "delay_seconds": 60}
TASK: Final = {"delay_seconds": 60, "target": {"type": "webhook", "url": "http://127.0.0.1:9/"}}
STARTED: Final = """
import os, urllib.request
urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/started").close()
"""
CONTEXT: Final = """
class Context:
    function_name = invoked_function_arn = "postdate-test"
    aws_request_id = "00000001-0000-0000-0000-000000000000"
    memory_limit_in_mb = 512
    get_remaining_time_in_millis = staticmethod(lambda: 60_000)
"""

# A model of a table that would make its own at its first call.
WITHOUT_A_CLIENT: Final = """
from pynamodb.models import Model
def below(model):
    return [each for found in model.__subclasses__() for each in (found, *below(found))]
tables = [each for each in below(Model) if getattr(getattr(each, "Meta", None), "table_name", None)]
without = [each.Meta.table_name for each in tables if each._get_connection().connection._client is None]
"""


def ran(program: str, environment: dict[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": "shared", **environment},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def given(function: str, endpoint: str) -> dict[str, str]:
    """Environment variables that the function reads, with those that Lambda sets."""
    module = __import__(f"functions.{function}.settings", fromlist=["Settings"])
    known = LOCAL.settings.variables()
    read = {name: known.get(name, f"{endpoint}/{name.lower()}") for name in settings.names(module.Settings)}
    return read | {
        **({"PAYMENTS_TABLE": "postdate-test-payments"} if "PAYMENTS_TABLE" in read else {}),
        **({"PARAMETERS": "application/environment/profile"} if "PARAMETERS" in read else {}),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_its_start_needs_an_environment(function: str) -> None:
    """One process tells both: its modules are imported, and then it does not start."""
    names = [path.stem for path in Path("functions", function).glob("*.py") if path.stem != "entry"]
    program = "\n".join(f"import functions.{function}.{name}" for name in names)
    told = ran(f"{program}\nprint('imported', flush=True)\nimport functions.{function}.entry", {})
    assert told.returncode == 1
    assert (told.stdout, "SettingsInvalid" in told.stderr) == ("imported\n", True), told.stderr


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_starts_without_a_call_to_aws_and_makes_its_clients_meanwhile(function: str) -> None:
    """An event makes no further client: AWS answers each call here, with nothing."""
    asked: list[str] = []

    class Aws(Answering):
        def called(self) -> None:
            asked.append(self.path)
            self.body()
            self.answer(204)

    with listening(Aws) as url:
        told = ran(
            f"{COUNTED}{CONTEXT}"
            f"from functions.{function} import entry\n"
            f"{STARTED}"
            "before = list(made)\n"
            "for event in json.load(sys.stdin):\n"
            "    try: entry.handler(event, Context)\n"
            "    except Exception: pass\n"
            f"{WITHOUT_A_CLIENT}"
            "print(json.dumps([before, made[len(before):], without]))",
            given(function, url),
            json.dumps(events(function)),
        )
    assert told.returncode == 0, told.stderr
    before, later, without = json.loads(told.stdout.splitlines()[-1])
    assert "dynamodb" in before
    assert (later, without) == ([], [])
    assert asked[0] == "/started", "the start called AWS"
    assert len(asked[1:]) >= len(events(function))


def events(function: str) -> list[dict[str, Any]]:
    """An event for each store that the function uses."""
    match function:
        case "api":
            return [
                request("GET", "/api/v1/tasks"),
                request("GET", "/api/v1/accounts"),
                request("GET", "/api/v1/payments", query={"account_id": "a"}),
                request("POST", "/api/v1/payments/schedule", PAYMENT),
                request("POST", "/api/v1/tasks", TASK),
            ]
        case "authorize":
            return [{"headers": {"authorization": f"Bearer {bearer_text('0' * 16, 'secret')}"}}]
        case "record":
            row = {
                "Keys": {"id": {"S": "pay_1"}},
                "SequenceNumber": "1",
                "NewImage": attributes_of(a_payment(), listing_shards=2),
            }
            arn = "arn:aws:dynamodb:eu-central-1:1:table/postdate-test-payments/stream/1"
            return [{"Records": [{"eventName": "INSERT", "eventSourceARN": arn, "dynamodb": row}]}]
        case "sweep":
            return [{"Records": [{"messageId": "1", "body": '{"kind": "tick"}'}]}]
        case "reconcile":
            asked: dict[str, Any] = {"run": "rec_1", "started_at": "2026-11-18T10:05:00Z", "name": "night"}
            scan = {"table": "journal", "segment": 0, "segments": 1, "parts": 1, "after": None, "step": 0}
            scan["started_at"] = asked["started_at"]
            return [
                asked | {"action": "plan"},
                asked | {"action": "scan", "scan": scan},
                asked | {"action": "letters"},
                asked | {"action": "tenant", "group": 0, "tenant": None},
            ]
        case "archive":
            return [{}]
        case "erase":
            return [{"tenant": "erased-1"}]
        case "operate":
            return [
                {
                    "operation_id": item_id(task.OPERATION_KIND, PLAN.slot(DUE_AT, unique(1)), unique(1)),
                    "run": 1,
                }
            ]
        case _:
            kind = payment.KIND if function == "settle" else task.KIND
            due = Due(id=item_id(kind, PLAN.slot(DUE_AT, unique(1)), unique(1)), version=1, due_at=DUE_AT)
            packet = Packet(tenant="acme", via=Via.SWEEP, dues=(due,))
            return [{"Records": [record(text_of(packet))]}]


def record(body: str) -> dict[str, Any]:
    counted = {"ApproximateReceiveCount": "1"}
    return {"messageId": "1", "receiptHandle": "r", "body": body, "attributes": counted}


def request(method: str, path: str, body: Any = None, query: dict[str, str] | None = None) -> dict[str, Any]:
    scopes = "accounts:read payments:read payments:write tasks:read tasks:write"
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "queryStringParameters": query or {},
        "headers": {
            "content-type": "application/json",
            "idempotency-key": "key",
            "authorization": f"Bearer {bearer_text('0' * 16, 'secret')}",
        },
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "request-1",
            "authorizer": {"lambda": {"tenant": "acme", "key_id": "k1", "scopes": scopes}},
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
