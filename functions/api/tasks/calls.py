"""The fields of the call that answers about one-time and about recurring tasks have in common.

A new field of the call is written here, in the forms beside this module, in `Template` and `Task` of
`postdate.domain.task`, and in `postdate.stores.template_values`.
"""

from typing import Annotated, Any, TypeAlias

from typing_extensions import TypedDict

from functions.api.answers import Count, described, words
from functions.api.tasks import targets
from functions.api.tasks.targets import Target
from postdate.domain import flow, task
from postdate.domain.retry import RetryPolicy

PayloadRef: TypeAlias = Annotated[
    str | None,
    described("The object that each attempt reads the payload from; null if the request had a payload."),
]
Payload: TypeAlias = Annotated[Any, described("The payload of the request; null if it is a reference.")]
Ack: TypeAlias = Annotated[str, words(task.Ack)]


class Retry(TypedDict):
    max_attempts: Count
    initial_seconds: float
    multiplier: float
    max_seconds: float
    jitter: bool


class FlowControl(TypedDict):
    key: str
    rate: Count | None
    period_seconds: Count
    parallelism: Count | None


class CallAnswer(TypedDict):
    target: Target
    payload_ref: PayloadRef
    retry: Retry
    timeout_seconds: Count
    ack: Ack
    flow_control: FlowControl | None


def call_answer(given: task.Task | task.Template) -> CallAnswer:
    """The call as its owner sees it. The values of headers may be credentials, so the answer has hashes of them."""
    return {
        "target": targets.view(given.destination),
        "payload_ref": given.payload.ref,
        "retry": _retry(given.retry),
        "timeout_seconds": given.timeout_seconds,
        "ack": given.ack.value,
        "flow_control": _flow_control(given.flow),
    }


def _retry(policy: RetryPolicy) -> Retry:
    return {
        "max_attempts": policy.max_attempts,
        "initial_seconds": policy.initial_seconds,
        "multiplier": policy.multiplier,
        "max_seconds": policy.max_seconds,
        "jitter": policy.jitter,
    }


def _flow_control(given: flow.FlowControl | None) -> FlowControl | None:
    if given is None:
        return None
    return {
        "key": given.key,
        "rate": given.rate,
        "period_seconds": given.period_seconds,
        "parallelism": given.parallelism,
    }
