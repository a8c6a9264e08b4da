"""Answers of the simulated AWS: refusals, mixed results, and their form on the wire."""

import io
import json
from collections.abc import Iterator
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.simulation.call import TRANSACTIONS, Call
from tests.simulation.hub import Hub
from tests.simulation.mix import Fault

Told = tuple[int, dict[str, Any]]


def refused(call: Call, fault: Fault, hub: Hub) -> Told:
    if fault is Fault.ERROR:
        code, status = ("InternalServerError", 500) if call.service == "dynamodb" else ("InternalError", 500)
        return status, {"__type": code, "message": "no"}
    if fault is Fault.THROTTLED:
        code = "ThrottlingException" if call.service == "dynamodb" else "RequestThrottled"
        return 400, {"__type": code, "message": "no"}
    if fault is Fault.IN_PROGRESS:
        return 400, {"__type": "TransactionInProgressException", "Message": "no"}
    if call.operation in TRANSACTIONS:
        name = "TransactItems" if call.operation == "TransactWriteItems" else "TransactStatements"
        count = len(call.asked[name])
        place = hub.draws.randrange(count)
        reasons = [
            {"Code": "TransactionConflict", "Message": "no"} if each == place else {"Code": "None"}
            for each in range(count)
        ]
        return 400, {
            "__type": "TransactionCanceledException",
            "Message": "no",
            "CancellationReasons": reasons,
        }
    return 400, {"__type": "TransactionConflictException", "message": "no"}


def mixed(answer: dict[str, Any]) -> dict[str, Any]:
    for reason in answer.get("CancellationReasons", ()):
        if reason["Code"] == "None":
            reason |= {"Code": "TransactionConflict", "Message": "no"}
            break
    return answer


def result_of(call: Call, status: int, answer: dict[str, Any]) -> str:
    if status == 200:
        if call.operation != "BatchExecuteStatement":
            return ""
        errors = [each["Error"]["Code"] for each in answer["Responses"] if "Error" in each]
        return f" {' '.join(errors)}" if errors else ""
    reasons = " ".join(reason["Code"] for reason in answer.get("CancellationReasons", ()))
    return f" {answer.get('__type', '').rpartition('#')[2]} {reasons}"


class _Raw(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()


def response(request: AWSPreparedRequest, status: int, content: dict[str, Any]) -> AWSResponse:
    body = _Raw(json.dumps(content).encode())
    return AWSResponse(request.url, status, {"content-type": "application/x-amz-json-1.0"}, body)
