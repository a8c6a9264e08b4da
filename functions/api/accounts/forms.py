"""What a caller may say about an account, and what we say back."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from functions.api.accounts.forecast import Forecast
from functions.api.forms import DELAY_SECONDS_MAX, AccountId, Form, text_of
from functions.api.texts import METADATA_PAIRS_MAX, SEEN, Description, Metadata, Seen
from postdate.domain.account import AMOUNT_CAP, AMOUNT_MAX, Account, Limits
from postdate.domain.movement import Movement, Type

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
            raise ValueError("nothing to change")
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
    """By an amount, or to what the journal says."""

    amount: Annotated[int, Field(ge=-MOVED_MAX, le=MOVED_MAX)] | None = None
    to_journal: Literal[True] | None = None
    reason: Seen = Field(min_length=1, max_length=500)

    @field_validator("amount")
    @classmethod
    def _adjusts_something(cls, amount: int | None) -> int | None:
        if amount == 0:
            raise ValueError("is 0, which adjusts nothing")
        return amount

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "AdjustmentForm":
        if (self.amount is None) is (self.to_journal is None):
            raise ValueError("wants either amount or to_journal")
        return self


def view(account: Account) -> dict[str, Any]:
    limits = account.limits
    return {
        "account_id": account.id,
        "balance": account.balance,
        "available": account.available,
        "reserved": account.reserved,
        "status": account.status.value,
        "limits": {
            "amount_min": limits.amount_min,
            "amount_max": limits.amount_max,
            "delay_seconds_min": int(limits.delay_min.total_seconds()),
            "delay_seconds_max": int(limits.delay_max.total_seconds()),
        },
        "version": account.version,
        "created_at": text_of(account.created_at),
        "updated_at": text_of(account.updated_at),
    }


def receipt(movement: Movement, account: str) -> dict[str, Any]:
    """What came of a deposit or an adjustment. Balances are not told: the answer is the same however often it is
    asked for."""
    told = {
        "transaction_id": movement.id,
        "account_id": account,
        "type": movement.type.value,
        "amount": movement.effect_on(account),
        "created_at": text_of(movement.at),
    }
    if movement.type is Type.DEPOSIT:
        return told | _note(movement)
    return told | {"reason": movement.reason}


def transaction(movement: Movement, account: str) -> dict[str, Any]:
    """A row of the journal as this account sees it."""
    pays = movement.payer == account
    return {
        "transaction_id": movement.id,
        "payment_id": movement.payment_id,
        "type": movement.type.value,
        "direction": "OUT" if pays else "IN",
        "amount": movement.amount,
        "counterparty": movement.payee if pays else movement.payer,
        "created_at": text_of(movement.at),
        "reason": movement.reason,
        **_note(movement),
    }


def _note(movement: Movement) -> dict[str, Any]:
    """What whoever made a deposit has written down with it."""
    return {
        "reference": movement.reference,
        "description": movement.description,
        "metadata": dict(movement.metadata),
    }


def forecast_view(found: Forecast) -> dict[str, Any]:
    return {
        "account_id": found.now.id,
        "until": text_of(found.until),
        "balance": found.now.balance,
        "available": found.now.available,
        "reserved": found.now.reserved,
        "balance_at_until": found.then.balance,
        "available_at_until": found.then.available,
        "falls_short_at": text_of(found.falls_short_at),
        "movements": [
            {
                "payment_id": step.payment_id,
                "at": text_of(step.at),
                "amount": step.amount,
                "balance": step.balance,
            }
            for step in found.steps
        ],
    }
