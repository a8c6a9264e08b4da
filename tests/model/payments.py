"""A payment as small as it can be, and the project's own rules for it: what they answer is remembered."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from postdate.domain import instants, money, settlement
from postdate.domain.due import Due
from postdate.domain.errors import InvalidState
from postdate.domain.payment import Funding, Payment, State, Terms
from postdate.domain.posting import Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, item_id
from postdate.domain.verdicts import Buried, Deferred, Dropped
from tests.model.instants import BEGIN, Instants
from tests.model.plan import RETRY, Plan
from tests.model.tasks import NEVER

PAYER, PAYEE = "payer", "payee"
_SLOT = Slot(minute=instants.minute_of(BEGIN), shard=0)
_IDS = tuple(item_id("pay", _SLOT, bytes([number]) * 10) for number in range(2))


class P(NamedTuple):
    """`lease` is NEVER without one: if it is EXECUTING then, it is parked."""

    number: int
    state: str
    version: int
    due: int
    planned: int
    amount: int
    attempts: int = 0
    lease: int = NEVER


class Leg(NamedTuple):
    account: str
    available: int
    reserved: int


class Post(NamedTuple):
    """A posting of the model: decided and not yet written. `movement` is (id, payer, payee, amount)."""

    before: P | tuple[()]
    after: P
    legs: tuple[Leg, ...] = ()
    movement: tuple[str, str, str, int] | tuple[()] = ()


class PaymentRules:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.instants = Instants(plan.seconds)
        self._funding = Funding.RESERVE if plan.reserves else Funding.AT_EXECUTION
        self._retry = RetryPolicy(
            max_attempts=plan.attempts, initial_seconds=RETRY.total_seconds(), multiplier=1, jitter=False
        )
        self.verdict = cache(self._verdict)
        self.settle = cache(self._settle)
        self.fail = cache(self._fail)
        self.stumble = cache(self._stumble)
        self.cancel = cache(self._cancel)
        self.edit = cache(self._edit)

    def register(self, number: int, now: int) -> Post:
        at = self.instants.at
        amount = self._plan.amounts[number]
        terms = Terms(payer=PAYER, payee=PAYEE, amount=amount, funding=self._funding)
        posting = money.register(
            terms, id=_IDS[number], tenant="acme", due_at=at[self._plan.due], now=at[now]
        )
        return self._post((), posting)

    def _verdict(self, payment: P, version: int, due: int, now: int, repeated: bool) -> str:
        at = self.instants.at
        call = Due(id=_IDS[payment.number], version=version, due_at=at[due])
        match settlement.verdict(self._payment(payment), call, now=at[now], repeated=repeated):
            case None:
                return "settle"
            case Deferred():
                return "deferred"
            case Buried():
                return "buried"
            case Dropped():
                return "dropped"

    def _settle(self, payment: P, now: int) -> Post:
        return self._post(payment, settlement.settle(self._payment(payment), now=self.instants.at[now]))

    def _fail(self, payment: P, now: int) -> Post:
        found = self._payment(payment)
        return self._post(
            payment, settlement.fail(found, now=self.instants.at[now], code="short", why="short")
        )

    def _stumble(self, payment: P, now: int) -> Post:
        found = self._payment(payment)
        posting = settlement.stumble(found, now=self.instants.at[now], why="no", retry=self._retry, draw=0.0)
        return self._post(payment, posting)

    def _cancel(self, payment: P, now: int, operator: bool) -> Post | None:
        """None when it may not be, or is cancelled already."""
        at = self.instants.at[now]
        return self._asked(payment, lambda found: money.cancel(found, now=at, operator=operator))

    def _edit(self, payment: P, now: int, due: int, amount: int) -> Post | None:
        """Changes the instant or the amount. A 0 leaves the value as it is."""
        at = self.instants.at

        def decide(found: Payment) -> Posting:
            to = at[due] if due else None
            return money.edit(found, now=at[now], due_at=to, amount=amount or None, why="changed")

        return self._asked(payment, decide)

    def _asked(self, payment: P, decide: Callable[[Payment], Posting | None]) -> Post | None:
        try:
            posting = decide(self._payment(payment))
        except InvalidState:
            return None
        return None if posting is None else self._post(payment, posting)

    def _post(self, before: P | tuple[()], posting: Posting) -> Post:
        legs = tuple(Leg(each.account, each.available, each.reserved) for each in posting.legs)
        moved = posting.movement
        movement = (moved.id, str(moved.payer), str(moved.payee), moved.amount) if moved else ()
        assert posting.after is not None
        return Post(before=before, after=self._small(posting.after), legs=legs, movement=movement)

    def _small(self, payment: Payment) -> P:
        number = self.instants.number
        return P(
            number=_IDS.index(payment.id),
            state=payment.state.value,
            version=payment.version,
            due=number(payment.due_at),
            planned=number(payment.planned_at),
            amount=payment.amount,
            attempts=payment.attempts,
            lease=NEVER if payment.lease_until is None else number(payment.lease_until),
        )

    def _payment(self, payment: P) -> Payment:
        at = self.instants.at
        return Payment(
            id=_IDS[payment.number],
            tenant="acme",
            payer=PAYER,
            payee=PAYEE,
            amount=payment.amount,
            funding=self._funding,
            state=State(payment.state),
            version=payment.version,
            planned_at=at[payment.planned],
            due_at=at[payment.due],
            created_at=at[0],
            moved_at=at[0],
            attempts=payment.attempts,
            lease_until=None if payment.lease == NEVER else at[payment.lease],
        )
