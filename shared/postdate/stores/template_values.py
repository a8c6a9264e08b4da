"""Values of a template inside rows. The row of a task and the row of a definition keep them under the same names."""

from dataclasses import replace
from typing import Any, Final

from pynamodb.attributes import UnicodeAttribute

from postdate.domain.flow import FlowControl
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Ack, Destination, Payload, Task, Template
from postdate.stores.rows import Row

# The meaning of a row without these values, for ever. The defaults of the code may change; stored tasks must not.
ROW_RETRY: Final[dict[str, Any]] = {
    "max_attempts": 5,
    "initial_seconds": 5.0,
    "multiplier": 2.0,
    "max_seconds": 900.0,
    "jitter": True,
}
_ROW_RETRY: Final = RetryPolicy(**ROW_RETRY)
_ROW_TIMEOUT_SECONDS: Final = 30
# The row of a task leaves these values out.
ROW_USUAL: Final = {"timeout": _ROW_TIMEOUT_SECONDS, "ack": Ack.RESPONSE.value}


def template_values(given: Task | Template) -> dict[str, Any]:
    """The fields that a task and a template share, but for the destination and the payload. None stands for a value
    that is left out."""
    return {
        "retry": retry_values(given.retry) or None,
        "timeout": given.timeout_seconds,
        "ack": given.ack.value,
        "flow": flow_values(given.flow),
        "depth": given.depth or None,
    }


def template_fields(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a Task or a Template that these values stand for."""
    return {
        "retry": retry_of(values.get("retry")),
        "timeout_seconds": values.get("timeout", _ROW_TIMEOUT_SECONDS),
        "ack": Ack(values.get("ack", Ack.RESPONSE)),
        "flow": flow_of(values.get("flow")),
        "depth": values.get("depth", 0),
    }


class PayloadRow(Row):
    """The attributes of a payload, equal in the row of a task and in that of a definition."""

    payload = UnicodeAttribute(null=True)
    payload_key = UnicodeAttribute(null=True)
    payload_ref = UnicodeAttribute(null=True)


def payload_values(payload: Payload) -> dict[str, str | None]:
    """The attributes of `PayloadRow`; None stands for an attribute that is left out."""
    return {"payload": payload.text, "payload_key": payload.key, "payload_ref": payload.ref}


def payload_of(row: PayloadRow) -> Payload:
    return Payload(text=row.payload, key=row.payload_key, ref=row.payload_ref)


def destination_values(destination: Destination) -> dict[str, Any]:
    target: dict[str, Any] = {"type": destination.type, "address": destination.address}
    if destination.method != "POST":
        target["method"] = destination.method
    if destination.headers:
        target["headers"] = destination.headers
    if destination.sealed:
        target["sealed"] = destination.sealed
    if destination.detail_type:
        target["detail_type"] = destination.detail_type
    return target


def destination_of(target: dict[str, Any]) -> Destination:
    return Destination(
        type=target["type"],
        address=target["address"],
        method=target.get("method", "POST"),
        headers=tuple((name, value) for name, value in target.get("headers", ())),
        sealed=tuple((name, text) for name, text in target.get("sealed", ())),
        detail_type=target.get("detail_type", ""),
    )


def retry_values(retry: RetryPolicy) -> dict[str, Any]:
    """The fields that differ from the row's own default."""
    return {
        field: value
        for field in RetryPolicy.__dataclass_fields__
        if (value := getattr(retry, field)) != getattr(_ROW_RETRY, field)
    }


def retry_of(values: dict[str, Any] | None) -> RetryPolicy:
    return replace(_ROW_RETRY, **values) if values else _ROW_RETRY


def flow_values(flow: FlowControl | None) -> list[Any] | None:
    return None if flow is None else [flow.key, flow.rate, flow.period_seconds, flow.parallelism]


def flow_of(values: list[Any] | None) -> FlowControl | None:
    if values is None:
        return None
    key, rate, period_seconds, parallelism = values
    return FlowControl(key=key, rate=rate, period_seconds=period_seconds, parallelism=parallelism)
