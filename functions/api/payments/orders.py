"""Turns requests to schedule payments into orders, and registers them."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from functions.api.caller import Caller
from functions.api.forms import fingerprint
from functions.api.payments.draft import PaymentOrder
from functions.api.payments.forms import PaymentForm, due_at, instant_field, read_part
from functions.api.payments.register import RegisteredPayment
from functions.api.payments.terms import terms_of
from functions.api.registering import too_far
from functions.api.wiring import wired
from postdate.domain.errors import IdempotencyKeyMissing, PostdateError


def register(caller: Caller, orders: Sequence[PaymentOrder]) -> list[RegisteredPayment | PostdateError]:
    """Registers the orders. The answer at each index belongs to the order at that index. An order above the amounts
    that the caller's API key may pay is refused, unless the order was answered before."""
    payments = wired().payments
    return payments.allowance.registered(
        caller, orders, lambda allowed: payments.registrar.register(caller.tenant, allowed)
    )


def asked(given: JsonValue, caller: Caller) -> PaymentOrder | PostdateError:
    """The order of one payment of a batch, or the reason why there is none."""
    try:
        form = read_part(given)
        if form.idempotency_key is None:
            raise IdempotencyKeyMissing
        return order_of(form, form.idempotency_key, caller)
    except PostdateError as error:
        return error


def order_of(form: PaymentForm, key: str, caller: Caller) -> PaymentOrder:
    """Raises Forbidden if the key may not pay from this account."""
    caller.pays_from(form.from_account_id)
    now = wired().clock.now()
    instant, field = due_at(form, now), instant_field(form)
    moment = instant if isinstance(instant, datetime) else now
    return PaymentOrder(
        terms=terms_of(form),
        due_at=moment,
        instant_field=field,
        refusal=instant if isinstance(instant, PostdateError) else too_far(moment, now, field=field),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        actor=caller.actor,
    )
