"""Mistakes about idempotency keys, calls of new items, changes and tenants."""

from typing import Final

from tests.simulation.mistakes.bug import API, KEYS, bug

BUGS: Final = (
    bug(
        "a key is reserved without a condition",
        f"{KEYS}:DynamoReservations.reserve",
        "save(condition=free)",
        "save()",
        mix="impatient",
    ),
    bug(
        "another body under a key is the same request",
        f"{API}.idempotency:stands_for",
        "found.fingerprint != wanted.fingerprint",
        "False",
    ),
    bug(
        "a key's item is made anew by the next try",
        f"{KEYS}:Reservation.anew",
        "item_id=self.item_id,",
        "",
        (f"{API}.idempotency:stands_for", "now < _minute_ends(found) or written", "written"),
        mix="impatient",
    ),
    bug(
        "a retry answers with its own instant instead of the stored one",
        f"{API}.idempotency:as_written",
        "reservation.of(created_at)",
        "reservation",
        (f"{API}.idempotency:stands_for", "now < _minute_ends(found) or written(found.item_id)", "False"),
        mix="impatient",
    ),
    bug(
        "a late registration sends no call",
        f"{API}.tasks.one_time.register:TaskRegistrar.register",
        "calls.send(called, queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    bug(
        "a late payment sends no call",
        f"{API}.payments.register:PaymentRegistrar._write",
        "calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    bug(
        "a change counts although another request was faster",
        f"{API}.tasks.one_time.change:TaskChanger._change",
        "written is Written.DONE",
        "written is not Written.UNAVAILABLE",
        mix="contested",
    ),
    bug(
        "If-Match is not checked",
        f"{API}.payments.change:PaymentChanger._change",
        "version != payment.version",
        "False",
        mix="moved",
    ),
    bug(
        "a tenant reaches another's tasks",
        f"{API}.tasks.one_time.change:TaskChanger.load",
        "task is None or task.tenant != tenant",
        "task is None",
    ),
    bug(
        "a tenant reaches another's payments",
        f"{API}.payments.change:PaymentChanger.load",
        "payment is None or tenant not in (None, payment.tenant)",
        "payment is None",
    ),
    bug(
        "a repeated deposit is another deposit",
        f"{API}.accounts.deposit:Cashier.move",
        "posting = _posting(tenant, order, reservation, now=now)",
        "posting = _posting(tenant, order, wanted, now=now)",
        mix="frozen",
    ),
)
