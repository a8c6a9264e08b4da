"""The limits of a key for what it pays: the amount of one payment, and the sum of a day.

The sum is counted in the key's row before a payment is registered, by one conditional write, so that requests side by
side never exceed it together. A payment that is refused, or that an earlier request with its Idempotency-Key has
registered, is given back afterwards. When it is not known whether a payment was written, and after a crash between the
two, it stays counted: the sum may be too high until the day ends, and never too low. The SDK repeats a write whose
answer was lost, so one request may be counted once for each of its tries. Keys without these limits cost nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from functions.api.caller import Caller
from functions.api.payments.draft import PaymentOrder
from functions.api.payments.register import RegisteredPayment
from postdate.domain.errors import IdempotencyInProgress, LimitExceeded, PostdateError, Rejected
from postdate.runtime.clock import Clock
from postdate.stores.keys import Keys

Answers = list[RegisteredPayment | PostdateError]


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    keys: Keys
    clock: Clock

    def registered(
        self,
        caller: Caller,
        orders: Sequence[PaymentOrder],
        register: Callable[[Sequence[PaymentOrder]], Answers],
    ) -> Answers:
        """The answers of `register`. An order above the limits is refused, unless it was answered before."""
        allowed = [_checked(caller, order) for order in orders]
        if caller.amount_per_day_max is None:
            return register(allowed)
        # The amounts are counted first: of two requests at once, only one gets the rest of the day.
        day, counted = self._today(), set[int]()
        wanted = [index for index, order in enumerate(allowed) if order.refusal is None]
        if wanted and self._spent(caller, day, sum(allowed[index].terms.amount for index in wanted)):
            counted.update(wanted)
        # All together are too much, so each is counted by itself, in their order.
        elif len(wanted) > 1:
            counted.update(index for index in wanted if self._spent(caller, day, allowed[index].terms.amount))
        for index in wanted:
            if index not in counted:
                allowed[index] = replace(allowed[index], refusal=_beyond(caller))
        answers = register(allowed)
        # A crash before this leaves the day's sum too high, never too low.
        unused = sum(allowed[index].terms.amount for index in counted if _moves_nothing(answers[index]))
        if unused:
            self.keys.give_back(caller.key_id, unused, day=day)
        return answers

    def changed(self, caller: Caller, amount: int | None) -> Callable[[PostdateError], None]:
        """Counts the whole new amount of a payment against the key's limits. The caller calls the returned function
        with the error of a refused change, and a change refused for good gives the amount back."""
        if amount is None:
            return lambda error: None
        if error := _too_much(caller, amount):
            raise error
        if caller.amount_per_day_max is None:
            return lambda error: None
        day = self._today()
        if not self._spent(caller, day, amount):
            raise _beyond(caller)

        def refused(error: PostdateError) -> None:
            if isinstance(error, Rejected):
                self.keys.give_back(caller.key_id, amount, day=day)

        return refused

    def _spent(self, caller: Caller, day: str, amount: int) -> bool:
        most = caller.amount_per_day_max
        return most is None or self.keys.spend(caller.key_id, amount, most=most, day=day)

    def _today(self) -> str:
        return self.clock.now().astimezone(UTC).date().isoformat()


def _checked(caller: Caller, order: PaymentOrder) -> PaymentOrder:
    error = _too_much(caller, order.terms.amount)
    return order if error is None or order.refusal is not None else replace(order, refusal=error)


def _too_much(caller: Caller, amount: int) -> LimitExceeded | None:
    if caller.amount_max is None or amount <= caller.amount_max:
        return None
    return LimitExceeded([("amount", f"is at most {caller.amount_max} for this key")])


def _beyond(caller: Caller) -> LimitExceeded:
    return LimitExceeded([("amount", f"exceeds the {caller.amount_per_day_max} that this key may pay a day")])


def _moves_nothing(answer: RegisteredPayment | PostdateError) -> bool:
    """Certainly nothing new: refused for good, or registered before this request."""
    if isinstance(answer, RegisteredPayment):
        return answer.known
    return isinstance(answer, Rejected | IdempotencyInProgress)
