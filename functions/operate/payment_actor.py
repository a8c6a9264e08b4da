"""The actions on payments: settle again, and cancel."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from functions.operate.actors import send_calls
from postdate.domain import money
from postdate.domain.due import Via
from postdate.domain.errors import Unavailable
from postdate.domain.letters import used_up
from postdate.domain.operation import Action, Operation
from postdate.domain.operation_items import Item
from postdate.domain.operation_pages import Outcome
from postdate.domain.payment import Payment
from postdate.runtime.dead_letters import Letters
from postdate.runtime.queue import Queue
from postdate.stores.ledger import Ledger, PostingAnswer

_CANCELS: Final = {PostingAnswer.DONE: Outcome.DONE, PostingAnswer.STALE: Outcome.CHANGED}


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentActor:
    """A parked payment is settled by a call of its very version, and by no other. A cancel is one posting."""

    ledger: Ledger
    queue: Queue
    letters: Letters

    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        return dict(self.ledger.payments(ids))

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        payments = [each for each in items if isinstance(each, Payment)]
        if operation.request.action is not Action.CANCEL:
            send_calls(self.queue, operation, payments, Via.DEAD)
            return dict.fromkeys((payment.id for payment in payments), Outcome.SENT)
        decided = [
            money.cancel(payment, now=now, operator=operation.request.operates) for payment in payments
        ]
        postings = [posting.signed(operation.author) for posting in decided if posting is not None]
        answers = [posted.answer for posted in self.ledger.post(postings)] if postings else []
        if PostingAnswer.UNAVAILABLE in answers:
            raise Unavailable("some cancels were not written")
        return {
            posting.after.id: _CANCELS.get(answer, Outcome.FAILED)
            for posting, answer in zip(postings, answers, strict=True)
            if posting.after is not None
        }

    def tidied(self, most: int) -> int:
        letters = self.letters.look(most)
        known = self.ledger.payments(due.id for letter in letters for due in letter.dues)
        over = [letter for letter in letters if used_up(letter.dues, known.get)]
        gone = self.letters.delete(over)
        self.letters.release(letter for letter in letters if letter.id not in gone)
        return len(gone)
