"""The bodies of requests about accounts."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from functions.api.forms import DELAY_SECONDS_MAX, AccountId, Form
from functions.api.texts import METADATA_PAIRS_MAX, SEEN, Description, Metadata, Seen
from postdate.domain.account import AMOUNT_CAP, AMOUNT_MAX, Limits

MOVED_MAX = AMOUNT_CAP

LimitOfAmount = Annotated[int, Field(ge=1, le=AMOUNT_CAP)]
LimitOfDelay = Annotated[int, Field(ge=1, le=DELAY_SECONDS_MAX)]


class LimitsForm(Form):
    amount_min: LimitOfAmount = 1
    amount_max: LimitOfAmount = AMOUNT_MAX
    delay_seconds_min: LimitOfDelay = 1
    delay_seconds_max: LimitOfDelay = DELAY_SECONDS_MAX

    @model_validator(mode="after")
    def _leaves_something(self) -> "LimitsForm":
        if wrong := self.limits().contradiction:
            raise ValueError(wrong)
        return self

    def limits(self) -> Limits:
        return Limits(
            amount_min=self.amount_min,
            amount_max=self.amount_max,
            delay_min=timedelta(seconds=self.delay_seconds_min),
            delay_max=timedelta(seconds=self.delay_seconds_max),
        )


class AccountForm(Form):
    account_id: AccountId
    limits: LimitsForm = LimitsForm()


class LimitsChangeForm(Form):
    """At least one field is needed."""

    amount_min: LimitOfAmount | None = None
    amount_max: LimitOfAmount | None = None
    delay_seconds_min: LimitOfDelay | None = None
    delay_seconds_max: LimitOfDelay | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "LimitsChangeForm":
        if not self.given():
            raise ValueError("at least one field is needed")
        return self

    def given(self) -> dict[str, Any]:
        """The fields of Limits that change."""
        amounts = {"amount_min": self.amount_min, "amount_max": self.amount_max}
        delays = {"delay_min": self.delay_seconds_min, "delay_max": self.delay_seconds_max}
        return {
            **{name: amount for name, amount in amounts.items() if amount is not None},
            **{name: timedelta(seconds=each) for name, each in delays.items() if each is not None},
        }


class AccountBatchForm(Form):
    accounts: list[JsonValue] = Field(min_length=1, max_length=100)


class AccountChangeForm(Form):
    limits: LimitsChangeForm


class DepositForm(Form):
    amount: int = Field(ge=1, le=MOVED_MAX)
    reference: Annotated[str, Field(min_length=1, max_length=128), SEEN] | None = None
    description: Description | None = None
    metadata: Metadata = Field({}, max_length=METADATA_PAIRS_MAX)


class AdjustmentForm(Form):
    """An adjustment by an amount, or to what the journal says."""

    amount: Annotated[int, Field(ge=-MOVED_MAX, le=MOVED_MAX)] | None = None
    to_journal: Literal[True] | None = None
    reason: Seen = Field(min_length=1, max_length=500)

    @field_validator("amount")
    @classmethod
    def _adjusts_something(cls, amount: int | None) -> int | None:
        if amount == 0:
            raise ValueError("must not be 0")
        return amount

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "AdjustmentForm":
        if (self.amount is None) is (self.to_journal is None):
            raise ValueError("needs exactly one of amount and to_journal")
        return self
