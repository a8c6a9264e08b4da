"""Settles payments whose instant has come, or ends those that cannot be settled, all of a call in one posting each.

The ledger alone writes, and each posting counts only while its payment is the one that it was decided from: a worker
that crashes here leaves each payment as it was or at its end. A payment that changed meanwhile is decided anew. One
that could not be written, or needs a person first, is stuck: the caller says when it is tried again.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, assert_never

from postdate.domain import settlement
from postdate.domain.errors import AccountFrozen, InsufficientFunds, Unavailable
from postdate.domain.item import Phase
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.ledger import Ledger, Posted, PostingAnswer

_ROUNDS: Final = 6
# Reasons that lie in an account. No attempt changes them, but a person may.
_OF_BOOKS: Final = frozenset(
    {PostingAnswer.SHORT, PostingAnswer.FROZEN, PostingAnswer.CLOSED, PostingAnswer.UNKNOWN}
)
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class SettlingOutcome:
    """The payment after an attempt. `ended_at` is the instant of the ledger's answer, if this attempt ended the
    payment. `stuck` is the reason why its end could not be written, `disagrees` is true if the books are that
    reason. `lacks_money` is true if the payment was left as it is because earlier payments may still bring money."""

    payment: Payment
    ended_at: datetime | None = None
    stuck: str | None = None
    disagrees: bool = False
    lacks_money: bool = False


class Settling:
    """`by` is the author of the changes, as `<type>:<id>`."""

    def __init__(self, ledger: Ledger, clock: Clock, *, by: str = "") -> None:
        self._ledger = ledger
        self._clock = clock
        self._by = by

    def attempt(
        self,
        payments: Iterable[Payment],
        execution_ids: Mapping[str, str] = _NO_NAMES,
        authors: Mapping[str, str] = _NO_NAMES,
        *,
        together: bool = False,
        patient: Container[str] = frozenset(),
    ) -> dict[str, SettlingOutcome]:
        """Attempts to settle payments, and returns the outcomes by the ids of the payments. Each payment may be given
        once. One that has ended or is not due is answered as it is. `authors` sign the changes of these payments.
        `together` is for callers that are behind, as the ledger describes it. `patient` are the payments that do not
        fail now if their payer has too little money."""
        attempt = _Attempt(
            self._ledger, self._clock, execution_ids, self._by, authors, together=together, patient=patient
        )
        return attempt.make(payments)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """A payment, and the posting that is to end it."""

    payment: Payment
    posting: Posting


class _Attempt:
    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        execution_ids: Mapping[str, str],
        by: str,
        authors: Mapping[str, str],
        *,
        together: bool,
        patient: Container[str],
    ) -> None:
        self._ledger = ledger
        self._together = together
        self._patient = patient
        self._by = by
        self._authors = authors
        self._clock = clock
        self._execution_ids = execution_ids
        self._outcomes: dict[str, SettlingOutcome] = {}

    def make(self, payments: Iterable[Payment]) -> dict[str, SettlingOutcome]:
        """Three rounds are settling, failing, and failing without the payer; the others are for what changes."""
        now = self._clock.now()
        steps = [step for payment in payments if (step := self._first(payment, now))]
        for _ in range(_ROUNDS):
            if not steps:
                break
            steps = self._post(steps)
        for step in steps:
            self._stick(step.payment, "it changes faster than it can be settled")
        return self._outcomes

    def _first(self, payment: Payment, now: datetime) -> _Step | None:
        if payment.state.is_final or payment.planned_at > now:
            self._outcomes[payment.id] = SettlingOutcome(payment=payment)
            return None
        return self._settle(payment, now)

    def _settle(self, payment: Payment, now: datetime) -> _Step:
        execution_id = self._execution_ids.get(payment.id)
        return _Step(payment=payment, posting=settlement.settle(payment, now=now, execution_id=execution_id))

    def _post(self, steps: Sequence[_Step]) -> list[_Step]:
        """The steps that follow."""
        answers = self._ledger.post(
            [step.posting.signed(self._authors.get(step.payment.id, self._by)) for step in steps],
            together=self._together,
        )
        now = self._clock.now()
        following: list[_Step] = []
        stale: list[_Step] = []
        for step, posted in zip(steps, answers, strict=True):
            if posted.answer is PostingAnswer.DONE:
                ended = step.posting.after or step.payment
                self._outcomes[ended.id] = SettlingOutcome(payment=ended, ended_at=now)
            elif posted.answer is PostingAnswer.STALE:
                stale.append(step)
            elif self._is_patient(step, posted):
                self._outcomes[step.payment.id] = SettlingOutcome(payment=step.payment, lacks_money=True)
            else:
                match self._instead(step, posted, now):
                    case Posting() as posting:
                        following.append(_Step(payment=step.payment, posting=posting))
                    case why:
                        self._stick(step.payment, why, disagrees=posted.answer in _OF_BOOKS)
        return following + self._anew(stale)

    def _is_patient(self, step: _Step, posted: Posted) -> bool:
        """True if the payment may wait for the money that it lacks."""
        lacks_money = posted.answer is PostingAnswer.SHORT and step.posting.movement is not None
        return lacks_money and not step.payment.held and step.payment.id in self._patient

    def _instead(self, step: _Step, posted: Posted, now: datetime) -> Posting | str:
        """Returns the posting that ends the payment in another way, or the reason why the payment is stuck."""
        payment, posting, account = step.payment, step.posting, posted.account or step.payment.payer
        if posted.answer is PostingAnswer.UNAVAILABLE:
            return "the ledger did not answer"
        if posted.answer is PostingAnswer.REFUSED:
            return "the ledger refused it"
        # The posting already was a failure of the payment. It may only lack the account that the hold returns to.
        if posting.movement is None:
            if posted.answer is PostingAnswer.UNKNOWN and posting.legs:
                return replace(posting, legs=())
            self._tell("not_failed", payment, posted)
            return "its failure could not be written"
        match posted.answer:
            # The money was reserved at the registration, so its lack is a fault of the books and not of the payer.
            case PostingAnswer.SHORT if payment.held:
                self._tell("hold_missing", payment, posted)
                return f"the account {account} does not hold what is reserved for it"
            case PostingAnswer.SHORT:
                code, why = InsufficientFunds.code, f"the account {account} has too little available money"
            case PostingAnswer.FROZEN:
                code, why = AccountFrozen.code, f"the account {account} is frozen"
            case PostingAnswer.CLOSED:
                code, why = "account_closed", f"the account {account} is closed"
            case PostingAnswer.UNKNOWN:
                code, why = "account_not_found", f"there is no account {account}"
            case PostingAnswer.DONE | PostingAnswer.STALE:
                raise ValueError(f"{posted.answer} refuses nothing")
            case _:
                assert_never(posted.answer)
        return settlement.fail(
            payment,
            now=now,
            code=code,
            why=why,
            execution_id=self._execution_ids.get(payment.id),
            # The hold cannot return to an account that is not there.
            payer_is_there=posted.answer is not PostingAnswer.UNKNOWN or account != payment.payer,
        )

    def _anew(self, stale: Sequence[_Step]) -> list[_Step]:
        """Returns new steps for payments that changed meanwhile, if they are still due and not parked."""
        if not stale:
            return []
        try:
            found = self._ledger.payments(step.payment.id for step in stale)
        except Unavailable:
            found = {}
        now = self._clock.now()
        following = []
        for step in stale:
            current = found.get(step.payment.id)
            if current is None:
                self._stick(step.payment, "it changed and cannot be read")
            elif current.version == step.payment.version:
                self._tell("moved_already", current, Posted(answer=PostingAnswer.STALE))
                self._stick(current, "the journal has a movement for it already", disagrees=True)
            elif current.phase is Phase.RESTS or current.due_at > now:
                self._outcomes[current.id] = SettlingOutcome(payment=current)
            else:
                following.append(self._settle(current, now))
        return following

    def _stick(self, payment: Payment, why: str, *, disagrees: bool = False) -> None:
        self._outcomes[payment.id] = SettlingOutcome(payment=payment, stuck=why, disagrees=disagrees)

    def _tell(self, action: str, payment: Payment, posted: Posted) -> None:
        """The books do not agree with the payment: a person has to look."""
        logger.error(
            "the books contradict a payment",
            extra={
                "action": action,
                "payment": payment.id,
                "account": posted.account,
                "answer": posted.answer.name,
            },
        )
