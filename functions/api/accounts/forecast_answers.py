"""The answer about an account's forecast."""

from typing import Annotated

from typing_extensions import TypedDict

from functions.api.accounts import forecast
from functions.api.answers import Count, Cursor, Instant, Partial, described
from functions.api.forms import text_of


class ForecastMovement(TypedDict):
    payment_id: str
    at: Instant
    amount: Annotated[int, described("Below 0 for money that leaves the account.")]
    balance: Annotated[Count, described("The balance after the movement.")]


class Forecast(TypedDict):
    account_id: str
    until: Instant
    balance: Annotated[Count, described("The current value, like the next two fields.")]
    available: Count
    reserved: Count
    balance_at_until: Count
    available_at_until: Count
    falls_short_at: Annotated[
        Instant | None,
        described(
            "The first instant at which a payment would not be covered. It would fail then and move nothing."
        ),
    ]
    movements: Annotated[list[ForecastMovement], described("The first 100, in the order of their instants.")]
    next_cursor: Cursor
    partial: Partial


def foreseen(found: forecast.Forecast, cursor: str | None) -> Forecast:
    return {
        "account_id": found.before.id,
        "until": text_of(found.until),
        "balance": found.before.balance,
        "available": found.before.available,
        "reserved": found.before.reserved,
        "balance_at_until": found.after.balance,
        "available_at_until": found.after.available,
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
        "next_cursor": cursor,
        "partial": cursor is not None,
    }
