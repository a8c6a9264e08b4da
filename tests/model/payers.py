"""Clients of payments: one registers the second payment late, changes and cancels, a person cancels what is parked and
redrives its letter, another service executes. And what happens by itself: time passes, a last pass calls what waits."""

from collections.abc import Iterator

from tests.model.ledger import Asked, Books, posted
from tests.model.payments import P, PaymentRules, Post
from tests.model.plan import Plan
from tests.model.search import Step
from tests.model.sqs import Message, sent


class Payers:
    def __init__(self, plan: Plan, rules: PaymentRules) -> None:
        self._plan, self._rules = plan, rules
        self._last = rules.instants.last

    def steps(self, books: Books) -> Iterator[Step]:
        asks = books.client
        if asks.doing and books.left.crashes:
            less = books.left._replace(crashes=books.left.crashes - 1)
            yield Step("the request dies", books._replace(client=Asked(), left=less), must=False)
        match asks.doing:
            case "":
                yield from self._asks(books)
            case "posts":
                yield self._posts(books)
            case "sends":
                payment = books.payments[asks.post.after.number]
                queue = sent(books.queue, self._call(payment, books.now))
                after = books._replace(queue=queue, client=asks._replace(doing="answers"))
                yield Step("the request sends the call", after)
            case "answers":
                told = tuple(sorted({*books.told, asks.wish}))
                after = books._replace(client=Asked(), told=told)
                yield Step(f"the client is told: {asks.wish}", after)
        yield from self._by_themselves(books)

    def _asks(self, books: Books) -> Iterator[Step]:
        for wish in books.left.wishes:
            wishes = tuple(each for each in books.left.wishes if each != wish)
            less = books._replace(left=books.left._replace(wishes=wishes))
            if post := self._decided(less, wish):
                asks = Asked(doing="posts", wish=wish, post=post)
                yield Step(f"the client asks: {wish}", less._replace(client=asks), must=False)

    def _decided(self, books: Books, wish: str) -> Post | None:
        """None when it is refused."""
        what, name = wish.rsplit(" ", 1)
        number, now = int(name) - 1, books.now
        if what == "registered":
            new = number == len(books.payments) and now < self._plan.due
            return self._rules.register(number, now) if new else None
        if number >= len(books.payments):
            return None
        payment = books.payments[number]
        match what:
            case "cancelled":
                return self._rules.cancel(payment, now, False)
            case "cancelled by an operator":
                return self._rules.cancel(payment, now, True)
            case "amount of":
                return self._rules.edit(payment, now, 0, payment.amount + 1)
            case "moved":
                (due,) = self._plan.moved_to
                return self._rules.edit(payment, now, due, 0) if due > now else None
            case _:
                open_ = payment.state in ("PENDING", "EXECUTING") and payment.planned <= now
                return self._rules.settle(payment, now) if open_ else None

    def _posts(self, books: Books) -> Step:
        asks = books.client
        post = asks.post
        answer, after = posted(self._plan, books, post)
        told = f"the request posts {asks.wish}: {answer}"
        if answer == "done":
            doing = "sends" if asks.wish.startswith(("registered", "moved")) else "answers"
            return Step(told, after._replace(client=asks._replace(doing=doing)))
        again = self._decided(books, asks.wish) if answer == "stale" else None
        client = asks._replace(post=again) if again else Asked()
        return Step(told, books._replace(client=client))

    def _by_themselves(self, books: Books) -> Iterator[Step]:
        if books.now < self._last and not self._is_too_soon(books):
            yield Step("time passes", books._replace(now=books.now + 1))
        if books.now == self._last and not books.closed and not books.client.doing:
            queue = books.queue
            for payment in books.payments:
                if payment.state == "PENDING" and self._plan.mistake != "no closing pass":
                    queue = sent(queue, self._call(payment, books.now))
            yield Step("the closing pass", books._replace(queue=queue, closed=True))
        if books.left.redrives:
            less = books.left._replace(redrives=books.left.redrives - 1)
            for item, version in books.letters:
                letters = tuple(each for each in books.letters if each != (item, version))
                call = self._call(books.payments[item], books.now)._replace(
                    version=version, visible=books.now
                )
                after = books._replace(letters=letters, queue=sent(books.queue, call), left=less)
                yield Step(f"a person redrives payment {item + 1}", after, must=False)

    def _is_too_soon(self, books: Books) -> bool:
        """An API function does not live for long: one that has begun ends, or dies, before the last pass."""
        return bool(books.client.doing) and books.now + 1 == self._last

    def _call(self, payment: P, now: int) -> Message:
        return Message(
            item=payment.number,
            version=payment.version,
            due=payment.due,
            seen=False,
            receives=0,
            visible=max(now, payment.due - 1),
        )
