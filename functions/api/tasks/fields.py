"""The fields that the bodies of requests about tasks share."""

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field, model_validator

from functions.api.forms import DELAY_SECONDS_MAX, Form
from functions.api.texts import SEEN
from postdate.domain.catch_up import WINDOW_MAX
from postdate.domain.flow import PARALLELISM_MAX, FlowControl
from postdate.domain.retry import ATTEMPTS_MAX, RetryPolicy
from postdate.domain.schedule import JITTER_SECONDS_MAX
from postdate.domain.spread import SPREAD_SECONDS_MAX

_USUAL: Final = RetryPolicy()
SECOND: Final = timedelta(seconds=1)
Cron = Annotated[str, Field(min_length=1, max_length=256)]
Zone = Annotated[str, Field(min_length=1, max_length=64)]
MaxRuns = Annotated[int, Field(ge=1, le=1_000_000_000)]
JitterSeconds = Annotated[int, Field(ge=0, le=JITTER_SECONDS_MAX)]
WindowSeconds = Annotated[int, Field(ge=1, le=WINDOW_MAX // SECOND)]
TimeoutSeconds = Annotated[int, Field(ge=1, le=900)]
ExpirySeconds = Annotated[int, Field(ge=1, le=DELAY_SECONDS_MAX)]
SpreadSeconds = Annotated[int, Field(ge=0, le=SPREAD_SECONDS_MAX)]
Tag = Annotated[str, Field(min_length=1, max_length=64), SEEN]
Tags = Annotated[list[Tag], Field(max_length=10)]
Name = Annotated[str, Field(min_length=1, max_length=128), SEEN]
PayloadRef = Annotated[str, Field(max_length=1200)]


class RetryForm(Form):
    max_attempts: int = Field(_USUAL.max_attempts, ge=1, le=ATTEMPTS_MAX)
    initial_seconds: float = Field(_USUAL.initial_seconds, ge=0.1, le=86_400)
    multiplier: float = Field(_USUAL.multiplier, ge=1, le=10)
    max_seconds: float = Field(_USUAL.max_seconds, ge=1, le=86_400)
    jitter: bool = _USUAL.jitter

    def policy(self) -> RetryPolicy:
        return RetryPolicy(**self.model_dump())


class FlowControlForm(Form):
    """`rate`, `parallelism` or both are needed. Only with a `rate` may `period_seconds` differ from its default."""

    key: Name
    rate: int | None = Field(None, ge=1, le=10_000)
    period_seconds: int = Field(1, ge=1, le=86_400)
    parallelism: int | None = Field(None, ge=1, le=PARALLELISM_MAX)

    @model_validator(mode="after")
    def _controls_something(self) -> "FlowControlForm":
        if self.rate is None and self.parallelism is None:
            raise ValueError("one of rate and parallelism is needed")
        if self.rate is None and not self.at_default("period_seconds"):
            raise ValueError(f"{self.named('period_seconds')} needs a rate")
        return self

    def control(self) -> FlowControl:
        return FlowControl(**self.model_dump())


def flow(given: FlowControlForm | None) -> FlowControl | None:
    return None if given is None else given.control()


def refuse_two_payloads(form: Form, *, payload: bool, payload_ref: bool) -> None:
    """Raises ValueError if both fields are given. In a change a `payload` of null counts as given."""
    if payload and payload_ref:
        raise ValueError(f"only one of {form.named('payload')} and {form.named('payload_ref')} is allowed")
