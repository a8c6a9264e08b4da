"""The boundary to AWS: every call of boto3 and of pynamodb passes here, is noted, and fails where a test says so."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from botocore import handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError
from botocore.httpsession import URLLib3Session

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
        """Whether it speaks of this id, table or queue."""
        return text in json.dumps(self.asked, ensure_ascii=False)


@dataclass(kw_only=True, slots=True)
class _Plan:
    operation: str
    faults: list[Fault]
    when: Callable[[Call], bool]


@dataclass(slots=True)
class Boundary:
    calls: list[Call] = field(default_factory=list)
    _plans: list[_Plan] = field(default_factory=list)
    _session: URLLib3Session = field(default_factory=URLLib3Session)

    def fail(self, operation: str, *faults: Fault, when: Callable[[Call], bool] = lambda call: True) -> None:
        """The next calls of this operation meet these faults, one each; what comes after them passes."""
        self._plans.append(_Plan(operation=operation, faults=list(faults), when=when))

    def asked(self, operation: str) -> list[Mapping[str, Any]]:
        return [call.asked for call in self.calls if call.operation == operation]

    def clear(self) -> None:
        self.calls.clear()
        self._plans.clear()

    @property
    def faults_left(self) -> int:
        return sum(len(plan.faults) for plan in self._plans)

    def before_send(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
        call = Call(operation=event_name.rpartition(".")[2], asked=json.loads(request.body or b"{}"))
        self.calls.append(call)
        for plan in self._plans:
            if plan.faults and plan.operation == call.operation and plan.when(call):
                return plan.faults.pop(0)(request, lambda: self._session.send(request))
        return None


def lost(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    """It is done, and nobody hears of it."""
    send()
    raise ConnectionClosedError(endpoint_url=request.url)


def unreachable(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    raise EndpointConnectionError(endpoint_url=request.url)


def crash_before(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    raise Crash


def crash_after(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    send()
    raise Crash


def refused(code: str, status: int = 400, **more: Any) -> Fault:
    """AWS answers with this error and does nothing."""
    return lambda request, send: _response(request, status, {"__type": code, "message": "no", **more})


def done_but_500(request: AWSPreparedRequest, send: Send) -> AWSResponse:
    send()
    return _response(request, 500, {"__type": "InternalServerError", "message": "no"})


def answered(content: Mapping[str, Any]) -> Fault:
    """AWS does nothing and says this."""
    return lambda request, send: _response(request, 200, content)


class _Raw(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()


def _response(request: AWSPreparedRequest, status: int, content: Mapping[str, Any]) -> AWSResponse:
    headers = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, status, headers, _Raw(json.dumps(content).encode()))


BOUNDARY = Boundary()
handlers.BUILTIN_HANDLERS.append(("before-send", BOUNDARY.before_send))
