"""The bodies of requests about payments."""

from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import Field, JsonValue, ValidationInfo, field_validator, model_validator

from functions.api import patterns
from functions.api.forms import (
    DELAY_SECONDS_MAX,
    AccountId,
    Form,
    Instant,
    parsed,
    part_of_batch,
)
from functions.api.texts import METADATA_PAIRS_MAX, Description, Metadata, pairs
from postdate.domain import instants
from postdate.domain.account import AMOUNT_CAP
from postdate.domain.errors import LimitExceeded, ValidationFailed
from postdate.domain.payment import Funding

# More than any account may is a limit and no mistake: it has a code of its own.
Amount = Annotated[int, Field(ge=1, json_schema_extra={"maximum": AMOUNT_CAP})]


class PaymentForm(Form):
    """Exactly one of `scheduled_time` and `delay_seconds` is needed."""

    from_account_id: AccountId
    to_account_id: AccountId
    amount: Amount
    delay_seconds: int | None = Field(None, ge=1, le=DELAY_SECONDS_MAX)
    scheduled_time: Instant | None = None
    description: Description | None = None
    funding: Funding = Funding.RESERVE
    metadata: Metadata = Field({}, max_length=METADATA_PAIRS_MAX)

    @field_validator("to_account_id")
    @classmethod
    def _is_somebody_else(cls, payee: str, info: ValidationInfo) -> str:
        if payee == info.data.get("from_account_id"):
            raise ValueError("is the account that pays")
        return payee

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


class PaymentChangeForm(Form):
    """At least one field is needed. `scheduled_time` and `delay_seconds` exclude each other."""

    scheduled_time: Instant | None = None
    delay_seconds: int | None = Field(None, ge=1, le=DELAY_SECONDS_MAX)
    amount: Amount | None = None
    description: Description | None = None
    metadata: Metadata | None = Field(None, max_length=METADATA_PAIRS_MAX)

    @model_validator(mode="after")
    def _changes_something(self) -> "PaymentChangeForm":
        if not any(
            name == "description" or getattr(self, name) is not None for name in self.model_fields_set
        ):
            raise ValueError("nothing to change")
        if self.scheduled_time is not None and self.delay_seconds is not None:
            raise ValueError("only one of scheduled_time and delay_seconds makes sense")
        return self


class ExecutionForm(Form):
    execution_id: str = Field(pattern=patterns.EXECUTION_ID)


PaymentFormT = TypeVar("PaymentFormT", PaymentForm, BatchPaymentForm, PaymentChangeForm)


def read(form: type[PaymentFormT], text: bytes) -> PaymentFormT:
    return _within_limits(parsed(form, text))


def read_part(given: JsonValue) -> BatchPaymentForm:
    """One of a batch."""
    return _within_limits(part_of_batch(BatchPaymentForm, given))


def _within_limits(asked: PaymentFormT) -> PaymentFormT:
    if asked.amount is not None and asked.amount > AMOUNT_CAP:
        raise LimitExceeded([("amount", f"is 1 to {AMOUNT_CAP}")])
    return asked


def changes(form: PaymentChangeForm) -> dict[str, Any]:
    """The fields of Payment that change and touch no money."""
    described = {"description": form.description} if "description" in form.model_fields_set else {}
    return described if form.metadata is None else {**described, "metadata": pairs(form.metadata)}


def instant_field(form: PaymentForm | PaymentChangeForm) -> str:
    return "scheduled_time" if form.delay_seconds is None else "delay_seconds"


def due_at(form: PaymentForm | PaymentChangeForm, now: datetime) -> datetime | ValidationFailed | None:
    """The instant asked for, or what speaks against it. Money is never moved at an instant that has passed."""
    if form.delay_seconds is not None:
        return now + timedelta(seconds=form.delay_seconds)
    if form.scheduled_time is None:
        return None
    if form.scheduled_time <= now:
        return ValidationFailed([("scheduled_time", "is not in the future")])
    if form.scheduled_time > now + timedelta(seconds=DELAY_SECONDS_MAX):
        return ValidationFailed([("scheduled_time", "is more than a year ahead")])
    return instants.whole(form.scheduled_time)
