"""The boundary to AWS: every call of boto3 and of pynamodb passes here, is noted, and fails where a test says so."""

import io
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias

import boto3
from botocore import handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError
from botocore.httpsession import URLLib3Session

from postdate.runtime import dependencies
from tests import gaps
from tests.refusals import in_part, refusal

# The engine answers these otherwise than AWS.
_OTHERWISE: Final = frozenset(
    {"BatchExecuteStatement", "ExecuteTransaction", "TransactWriteItems", "BatchGetItem"}
)
# As every client of botocore has it. Without it each request with a body waits 40 ms for an acknowledgement.
_SENT_AT_ONCE: Final = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
Send: TypeAlias = Callable[[], AWSResponse]
Fault: TypeAlias = Callable[[AWSPreparedRequest, Send], AWSResponse]


class Crash(BaseException):
    """The process ends here; no `except Exception` is run on the way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One HTTP request, botocore's own repeats included."""

    operation: str
    asked: Mapping[str, Any]

    def names(self, text: str) -> bool:
        """True if the call names this id, table or queue."""
        return text in json.dumps(self.asked, ensure_ascii=False)


def _reads_switches(asked: Mapping[str, Any]) -> bool:
    tables = asked.get("RequestItems")
    return isinstance(tables, Mapping) and all(name.endswith("switches") for name in tables)


@dataclass(kw_only=True, slots=True)
class _Plan:
    operations: frozenset[str]
    faults: list[Fault]
    when: Callable[[Call], bool]


@dataclass(slots=True)
class Boundary:
    """Every request of the API looks at its key, and every worker at the switches, now and then in a table: these calls
    are neither noted nor failed, unless a test `admits` them. While it is `rowless`, writes are refused without the row
    in their way. While it `refuses`, it refuses what AWS would refuse and leaves unread what is too much to read at
    once."""

    calls: list[Call] = field(default_factory=list)
    admits: bool = False
    rowless: bool = False
    refuses: bool = True
    _plans: list[_Plan] = field(default_factory=list)
    _session: URLLib3Session = field(default_factory=lambda: URLLib3Session(socket_options=_SENT_AT_ONCE))

    def fail(
        self,
        operations: str | Iterable[str],
        *faults: Fault,
        when: Callable[[Call], bool] = lambda call: True,
    ) -> None:
        """The next calls of these operations meet these faults, one each; what comes after them passes."""
        names = frozenset({operations} if isinstance(operations, str) else operations)
        self._plans.append(_Plan(operations=names, faults=list(faults), when=when))

    def asked(self, operation: str) -> list[Mapping[str, Any]]:
        return [call.asked for call in self.calls if call.operation == operation]

    def clear(self) -> None:
        self.admits = False
        dependencies.of_this_process().forget()
        self.calls.clear()
        self._plans.clear()

    @property
    def faults_left(self) -> int:
        return sum(len(plan.faults) for plan in self._plans)

    def before_send(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
        _, service, operation = event_name.split(".")
        if service not in ("dynamodb", "sqs", "appconfigdata"):
            return None
        call = Call(operation=operation, asked=json.loads(request.body or b"{}"))
        if not self.admits and (
            str(call.asked.get("TableName", "")).endswith("keys") or _reads_switches(call.asked)
        ):
            return None
        self.calls.append(call)
        for plan in self._plans:
            if plan.faults and call.operation in plan.operations and plan.when(call):
                return plan.faults.pop(0)(request, lambda: self._sent(call, request))
        return self._sent(call, request) if call.operation in _OTHERWISE else None

    def _sent(self, call: Call, request: AWSPreparedRequest) -> AWSResponse:
        """The engine's answer, made what AWS answers."""
        if call.operation not in _OTHERWISE:
            return self._session.send(request)
        told: dict[str, Any] | None = None
        if self.refuses:
            if why := refusal(call.asked):
                return _response(request, 400, _content({"__type": "ValidationException", "message": why}))
            told = in_part(call.asked, lambda kept: self._told(kept, _asking(request, kept))[1])
        if told is not None:
            return _response(request, 200 if "Responses" in told else 400, _content(told))
        status, told = self._told(call.asked, request)
        return _response(request, status, _content(told))

    def _told(self, asked: Mapping[str, Any], request: AWSPreparedRequest) -> tuple[int, dict[str, Any]]:
        sent = self._session.send(request)
        answer = json.loads(sent.content)
        if "RequestItems" in asked:
            return sent.status_code, gaps.read_in_part(asked, answer) if self.refuses else answer
        client = _client(request.url)
        return sent.status_code, gaps.worded(
            asked,
            answer,
            lambda table, key: client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item"),
            rowless=self.rowless,
        )


def _content(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer).encode()


def _asking(request: AWSPreparedRequest, asked: Mapping[str, Any]) -> AWSPreparedRequest:
    """The request with another body. No engine looks at signatures of bodies."""
    body = _content(asked)
    headers = {**request.headers, "Content-Length": str(len(body))}
    return AWSPreparedRequest(request.method, request.url, headers, body, request.stream_output)


@cache
def _client(endpoint: str) -> Any:
    return boto3.client("dynamodb", endpoint_url=endpoint)


def lost(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    """The call succeeds, and its answer is lost."""
    send()
    raise ConnectionClosedError(endpoint_url=request.url)


def timed_out(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    """The call succeeds after the client's timeout."""
    send()
    raise ReadTimeoutError(endpoint_url=request.url)


def raising(kind: type[Exception]) -> Fault:
    """Fails the call with this error before it has an effect."""

    def fault(request: AWSPreparedRequest, send: Send) -> AWSResponse:
        raise kind(endpoint_url=request.url)

    return fault


unreachable = raising(EndpointConnectionError)


def crash_before(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    raise Crash


def crash_after(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    send()
    raise Crash


def refused(code: str, status: int = 400, **more: Any) -> Fault:
    """AWS answers with this error and does nothing."""
    content = json.dumps({"__type": code, "message": "no", **more}).encode()
    return lambda request, send: _response(request, status, content)


def done_but_500(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    send()
    return refused("InternalServerError", 500)(request, send)


def answered(content: Mapping[str, Any]) -> Fault:
    """AWS does nothing and says this."""
    return lambda request, send: _response(request, 200, json.dumps(content).encode())


def unread(*, answered: int = 0) -> Fault:
    """BatchGetItem reads the first `answered` keys of each table and leaves the others for later."""

    def fault(request: AWSPreparedRequest, send: Send) -> AWSResponse:
        told, left = json.loads(send().content), {}
        for table, wanted in json.loads(request.body)["RequestItems"].items():
            read, rest = wanted["Keys"][:answered], wanted["Keys"][answered:]
            told["Responses"][table] = [
                row for row in told["Responses"][table] if any(key.items() <= row.items() for key in read)
            ]
            if rest:
                left[table] = {**wanted, "Keys": rest}
        return _response(request, 200, json.dumps({**told, "UnprocessedKeys": left}).encode())

    return fault


class _Raw(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()


def _response(request: AWSPreparedRequest, status: int, content: bytes) -> AWSResponse:
    headers = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, status, headers, _Raw(content))


BOUNDARY = Boundary()
handlers.BUILTIN_HANDLERS.append(("before-send", BOUNDARY.before_send))
