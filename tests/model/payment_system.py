"""Two payments of one payer, or one that meets trouble, as a system to search."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

from tests.model import payment_invariants
from tests.model.ledger import Books, beginning, posted
from tests.model.payers import Payers
from tests.model.payments import PaymentRules
from tests.model.plan import Plan
from tests.model.search import Step, broken
from tests.model.settlers import Settlers
from tests.model.sqs import Message, sent


class PaymentSystem:
    """Payments that no client wants to register late are registered and called at the start."""

    def __init__(self, plan: Plan) -> None:
        self.name, self._plan = plan.name, plan
        self._rules = PaymentRules(plan)
        self._actors = (Settlers(plan, self._rules), Payers(plan, self._rules))

    def start(self) -> Books:
        books = beginning(self._plan)
        for number in range(len(self._plan.amounts)):
            if f"registered {number + 1}" not in self._plan.wishes:
                _, books = posted(self._plan, books, self._rules.register(number, 0))
                call = Message(
                    item=number,
                    version=1,
                    due=self._plan.due,
                    seen=False,
                    receives=0,
                    visible=max(0, self._plan.due - 1),
                )
                books = books._replace(queue=sent(books.queue, call))
        return books

    def steps(self, state: Books) -> Iterator[Step]:
        return chain.from_iterable(actor.steps(state) for actor in self._actors)

    def same(self, state: Books) -> Hashable:
        workers = state.workers
        if len(workers) < 2 or workers[0] <= workers[1]:
            return state
        return state._replace(workers=workers[::-1])

    def wrong_step(self, before: Books, after: Books) -> str | None:
        if after.payments is before.payments and after.accounts is before.accounts:
            return None
        return broken(payment_invariants.wrong_steps(self._plan, before, after), self._plan.breaks)

    def wrong_end(self, state: Books) -> str | None:
        return broken(payment_invariants.wrong_ends(state), self._plan.breaks)

    def arrows(self, before: Books, after: Books) -> Sequence[tuple[str, str, str]]:
        if before.payments is after.payments:
            return ()
        pairs = zip(before.payments, after.payments, strict=False)
        return [("payment", was.state, now.state) for was, now in pairs if was is not now]
