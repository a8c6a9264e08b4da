"""The bodies of requests about payments."""

from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import Field, JsonValue, model_validator

from functions.api import patterns
from functions.api.forms import DELAY_SECONDS_MAX, Form, Instant, parsed, part_of_batch
from functions.api.payments.terms import TermsChangeForm, TermsForm
from postdate.domain import instants
from postdate.domain.account import AMOUNT_CAP
from postdate.domain.errors import LimitExceeded, ValidationFailed


class PaymentForm(TermsForm):
    """Exactly one of `scheduled_time` and `delay_seconds` is needed."""

    delay_seconds: int | None = Field(None, ge=1, le=DELAY_SECONDS_MAX)
    scheduled_time: Instant | None = None

    @model_validator(mode="after")
    def _has_one_instant(self) -> "PaymentForm":
        if (self.scheduled_time is None) == (self.delay_seconds is None):
            raise ValueError("one of scheduled_time and delay_seconds is needed")
        return self


class BatchPaymentForm(PaymentForm):
    """A payment of a batch, with its own key. Exactly one of `scheduled_time` and `delay_seconds` is needed."""

    idempotency_key: str | None = Field(None, pattern=patterns.IDEMPOTENCY_KEY)


class PaymentBatchForm(Form):
    payments: list[JsonValue] = Field(min_length=1, max_length=100)


class PaymentChangeForm(TermsChangeForm):
    """At least one field is needed. `scheduled_time` and `delay_seconds` exclude each other."""

    scheduled_time: Instant | None = None
    delay_seconds: int | None = Field(None, ge=1, le=DELAY_SECONDS_MAX)

    @model_validator(mode="after")
    def _changes_something(self) -> "PaymentChangeForm":
        if not any(
            name == "description" or getattr(self, name) is not None for name in self.model_fields_set
        ):
            raise ValueError("at least one field is needed")
        if self.scheduled_time is not None and self.delay_seconds is not None:
            raise ValueError("only one of scheduled_time and delay_seconds is allowed")
        return self


class ExecutionForm(Form):
    execution_id: str = Field(pattern=patterns.EXECUTION_ID)


PaymentFormT = TypeVar("PaymentFormT", PaymentForm, BatchPaymentForm, PaymentChangeForm)


def read(form: type[PaymentFormT], text: bytes) -> PaymentFormT:
    return _within_limits(parsed(form, text))


def read_part(given: JsonValue) -> BatchPaymentForm:
    """Reads one payment of a batch."""
    return _within_limits(part_of_batch(BatchPaymentForm, given))


def _within_limits(asked: PaymentFormT) -> PaymentFormT:
    if asked.amount is not None and asked.amount > AMOUNT_CAP:
        raise LimitExceeded([("amount", f"must be from 1 to {AMOUNT_CAP}")])
    return asked


def instant_field(form: PaymentForm | PaymentChangeForm) -> str:
    return "scheduled_time" if form.delay_seconds is None else "delay_seconds"


def due_at(form: PaymentForm | PaymentChangeForm, now: datetime) -> datetime | ValidationFailed | None:
    """The instant that the form asks for; None for a change without an instant. An instant that has passed, or that is
    more than a year ahead, gives an error. The error is returned and not raised: a repeated registration gets its first
    answer even if its instant has passed since."""
    if form.delay_seconds is not None:
        return now + timedelta(seconds=form.delay_seconds)
    if form.scheduled_time is None:
        return None
    if form.scheduled_time <= now:
        return ValidationFailed([("scheduled_time", "is not in the future")])
    if form.scheduled_time > now + timedelta(seconds=DELAY_SECONDS_MAX):
        return ValidationFailed([("scheduled_time", "is more than a year ahead")])
    return instants.whole(form.scheduled_time)
