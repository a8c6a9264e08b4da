"""State machines on the stack, begun by the runbook's own commands, run to their ends with their own rights."""

import json
import re
import shlex
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chaos.game.runbook import RUNBOOK, asked_of_aws, commands
from tests.e2e.conftest import RunningStack

# `recover` looks every 30 seconds, and the sweep needs some wake-ups to close minutes again. The rest is for a machine
# that is busy.
PATIENCE_SECONDS: Final = 240


def begun(stack: RunningStack, entry: str, asked: dict[str, Any] | None = None) -> str:
    """The entry's command that starts a machine, with these changes of its input. Returns the execution. `$INSTANT` is
    three minutes ago."""
    found = commands(entry, RUNBOOK.read_text(encoding="utf-8"))
    (command,) = (each for each in found if each.startswith("aws stepfunctions start-execution"))
    named = {
        "INSTANT": (datetime.now(UTC) - timedelta(minutes=3)).isoformat(),
        "AWS_REGION": str(stack.aws("sqs").meta.region_name),
        "ACCOUNT": str(stack.aws("sts").get_caller_identity()["Account"]),
    }
    text = re.sub(r"\$(\w+)", lambda name: named[name[1]], command)
    service, method, given = asked_of_aws(shlex.split(text.replace("postdate-prod-", "postdate-local-")))
    if asked:
        given["input"] = json.dumps(json.loads(given["input"]) | asked)
    return str(getattr(stack.aws(service), method)(**given)["executionArn"])


def outcome(stack: RunningStack, execution: str) -> tuple[str, list[str], Any]:
    """The end of an execution, the states that it went through, and its output. States inside a Map are not told."""
    machines, deadline = stack.aws("stepfunctions"), time.monotonic() + PATIENCE_SECONDS
    while (told := machines.describe_execution(executionArn=execution))["status"] == "RUNNING":
        assert time.monotonic() < deadline, failures(stack, execution)
        time.sleep(0.5)
    entered = [each.get("stateEnteredEventDetails") for each in history(stack, execution)]
    return told["status"], [each["name"] for each in entered if each], json.loads(told.get("output", "null"))


def history(stack: RunningStack, execution: str) -> list[dict[str, Any]]:
    pages = stack.aws("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution)
    return [each for page in pages for each in page["events"]]


def failures(stack: RunningStack, execution: str) -> list[Any]:
    return [each for each in history(stack, execution) if each["type"].endswith("Failed")]


def test_recover_ends_when_the_sweep_has_caught_up(stack: RunningStack) -> None:
    """Both of its ways at once: after lost calls, and after a restore of the table `items`."""
    entry = "Calls were lost in an outage"
    lost, restored = begun(stack, entry), begun(stack, entry, {"restored": ["items"]})
    looks = ["WaitForSweep", "Look", "IsCaughtUp"]
    for execution, way in ((lost, []), (restored, ["RaiseTokens"])):
        status, states, _ = outcome(stack, execution)
        first, rest = states[:-1], states[len(way) + 3 : -1]
        assert (status, states[-1]) == ("SUCCEEDED", "Over"), failures(stack, execution)
        assert first[: len(way) + 3] == ["Plan", "IsPossible", *way, "PutBack"]
        assert rest == looks * (len(rest) // 3)
        assert failures(stack, execution) == []


def test_recover_refuses_what_is_not_its_to_mend(stack: RunningStack) -> None:
    execution = begun(stack, "Calls were lost in an outage", {"restored": ["payments"]})
    assert outcome(stack, execution)[:2] == ("FAILED", ["Plan", "IsPossible", "Refused"])


def test_reconcile_ends_with_a_report_that_operators_read(stack: RunningStack) -> None:
    admin = stack.client(stack.admin_key)
    for account in ("reconciled-a", "reconciled-b"):
        admin.post("/api/v1/accounts", {"account_id": account}).expect(201)
    began = datetime.now(UTC)
    execution = begun(stack, "reconciliation_differs")
    status, _, told = outcome(stack, execution)
    assert (status, failures(stack, execution)) == ("SUCCEEDED", [])
    operator = stack.client(stack.operator_key)
    (newest, *_) = operator.get("/api/v1/ops/reconciliations").expect(200)["reconciliations"]
    assert datetime.fromisoformat(newest["started_at"]) >= began - timedelta(seconds=1)
    assert newest["ok"] is told["ok"]
    assert newest["looked_at"]["accounts"] >= 2
