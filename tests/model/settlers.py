"""`settle`: a worker is given a call, reads its payment, and at the instant posts how it ends. What cannot be written
stumbles: that is posted as well, then another call is sent, or the letter, and only then the message is deleted."""

from collections.abc import Iterator

from tests.model.ledger import Books, Settler, posted
from tests.model.payments import P, PaymentRules, Post
from tests.model.plan import Plan
from tests.model.search import Step
from tests.model.sqs import Message, deleted, doubled, given, left, received, sent
from tests.model.tasks import NEVER


class Settlers:
    def __init__(self, plan: Plan, rules: PaymentRules) -> None:
        self._plan, self._rules = plan, rules
        self._last = rules.instants.last

    def steps(self, books: Books) -> Iterator[Step]:
        for number, worker in enumerate(books.workers):
            name = f"worker {number + 1}"
            if worker.doing != "idle" and books.left.crashes:
                yield self._dies(books, number, worker)
            match worker.doing:
                case "idle" if worker not in books.workers[:number]:
                    yield from self._is_given(books, number)
                case "looks" if self._may_look(books, worker.message):
                    yield Step(f"{name} looks", self._looked(books, number, worker))
                case "posts":
                    yield from self._posts(books, number, worker)
                case "sends":
                    yield self._sends(books, number, worker)
                case "deletes":
                    queue = deleted(books.queue, worker.message)
                    after = _with(books._replace(queue=queue), number, Settler())
                    yield Step(f"{name} deletes its message", after)

    def _is_given(self, books: Books, number: int) -> Iterator[Step]:
        for message in received(books.queue, books.now):
            told = f"worker {number + 1} is given a call and reads payment {message.item + 1}"
            yield Step(told, self._takes(books, number, message))
        if books.left.doubles:
            again = books._replace(left=books.left._replace(doubles=books.left.doubles - 1))
            for message in doubled(books.queue, books.now):
                told = f"worker {number + 1} is given a call that another has"
                yield Step(told, self._takes(again, number, message), must=False)

    def _takes(self, books: Books, number: int, message: Message) -> Books:
        begins = max(books.now, message.due)
        until = begins + 1 if begins < self._last else self._last + 1
        queue, mine = given(books.queue, message, until)
        worker = Settler(doing="looks", message=mine, known=books.payments[message.item])
        return _with(books._replace(queue=queue), number, worker)

    def _dies(self, books: Books, number: int, worker: Settler) -> Step:
        less = books.left._replace(crashes=books.left.crashes - 1)
        after = self._returned(books._replace(left=less), number, worker)
        return Step(f"worker {number + 1} dies", after, must=False)

    def _returned(self, books: Books, number: int, worker: Settler) -> Books:
        """The settler's message returns to the queue."""
        queue = left(books.queue, worker.message, self._last)
        return _with(books._replace(queue=queue), number, Settler())

    def _may_look(self, books: Books, message: Message) -> bool:
        waits = books.now < message.due <= books.now + 1
        return not waits or self._plan.mistake == "settles early"

    def _looked(self, books: Books, number: int, worker: Settler) -> Books:
        payment, message = worker.known, worker.message
        match self._verdict(payment, message, books.now):
            case "settle":
                post = self._settle(payment, books.now)
                return _with(books, number, worker._replace(doing="posts", known=payment, post=post))
            case "deferred":
                return _with(books, number, _following(message, self._call(payment, books.now, seen=True)))
            case "buried":
                letter = ("letter", (payment.number, payment.version))
                return _with(books, number, _following(message, letter))
            case _:
                return _with(books, number, _following(message, ()))

    def _verdict(self, payment: P, message: Message, now: int) -> str:
        version, repeated = message.version, message.repeated
        if self._plan.mistake == "settles early":
            now = max(now, payment.due)
        if self._plan.mistake == "any call settles what is parked":
            version = payment.version
        verdict = self._rules.verdict(payment, version, message.due, now, repeated)
        if (
            self._plan.mistake == "the call before its parking is dropped"
            and not repeated
            and verdict == "buried"
        ):
            return "dropped"
        if self._plan.mistake == "a missing dead letter is not sent again" and verdict == "buried":
            return "dropped"
        return verdict

    def _settle(self, payment: P, now: int) -> Post:
        early = self._plan.mistake == "settles early"
        return self._rules.settle(payment, max(now, payment.planned) if early else now)

    def _posts(self, books: Books, number: int, worker: Settler) -> Iterator[Step]:
        name, post = f"worker {number + 1}", worker.post
        answer, written = posted(self._plan, books, post)
        told = f"{name} posts {post.after.state} of payment {post.after.number + 1}: {answer}"
        yield Step(told, self._answered(written, number, worker, answer))
        if books.left.outages:
            less = books.left._replace(outages=books.left.outages - 1)
            for after, how in ((books, "and it is not written"), (written, "and the answer is lost")):
                lost = self._answered(after._replace(left=less), number, worker, "unavailable")
                yield Step(f"{name} posts {post.after.state} {how}", lost, must=False)

    def _answered(self, books: Books, number: int, worker: Settler, answer: str) -> Books:
        if worker.post.after.state == "EXECUTING":
            return self._stumbled(books, number, worker, answer)
        payment, fails = worker.known, worker.post.after.state == "FAILED"
        if answer == "done":
            return _with(books, number, _following(worker.message, ()))
        if answer == "stale":
            return self._anew(books, number, worker)
        if answer == "short" and not self._plan.reserves and not fails:
            post = self._rules.fail(payment, books.now)
            return _with(books, number, worker._replace(post=post))
        return self._stuck(books, number, worker, payment)

    def _anew(self, books: Books, number: int, worker: Settler) -> Books:
        """A payment that changed meanwhile is decided again from its new state."""
        current = books.payments[worker.known.number]
        if current.version == worker.known.version:
            return self._stuck(books, number, worker, current)
        rests = current.state not in ("PENDING", "EXECUTING") or _is_parked(current)
        if rests or current.due > books.now:
            again = Settler(doing="looks", message=worker.message, known=current)
            return _with(books, number, again)
        post = self._settle(current, books.now)
        return _with(books, number, worker._replace(known=current, post=post))

    def _stuck(self, books: Books, number: int, worker: Settler, payment: P) -> Books:
        post = self._rules.stumble(payment, books.now)
        return _with(books, number, worker._replace(known=payment, post=post))

    def _stumbled(self, books: Books, number: int, worker: Settler, answer: str) -> Books:
        after, message = worker.post.after, worker.message
        if answer == "done":
            return self._noted(books, number, worker)
        current = books.payments[after.number]
        if answer != "stale" or self._verdict(current, message, books.now) == "settle":
            return self._returned(books, number, worker)
        return self._looked(books, number, Settler(doing="looks", message=message, known=current))

    def _noted(self, books: Books, number: int, worker: Settler) -> Books:
        after, mistake = worker.post.after, self._plan.mistake
        out: object = ()
        if _is_parked(after) and mistake != "the letter is forgotten":
            out = ("letter", (after.number, after.version))
        elif not _is_parked(after) and mistake != "the retry is forgotten":
            out = self._call(after, books.now, seen=False)
        if mistake == "the message goes before what follows":
            books = books._replace(queue=deleted(books.queue, worker.message))
        return _with(books, number, _following(worker.message, out))

    def _call(self, payment: P, now: int, *, seen: bool) -> tuple[str, Message]:
        message = Message(
            item=payment.number,
            version=payment.version,
            due=payment.due,
            seen=seen,
            receives=0,
            visible=max(now, payment.due - 1),
        )
        return "call", message

    def _sends(self, books: Books, number: int, worker: Settler) -> Step:
        where, what = worker.out
        if where == "letter":
            after = books._replace(letters=tuple(sorted({*books.letters, what})))
        else:
            after = books._replace(queue=sent(books.queue, what))
        gone = Settler(doing="deletes", message=worker.message)
        return Step(f"worker {number + 1} sends the {where}", _with(after, number, gone))


def _is_parked(payment: P) -> bool:
    return payment.state == "EXECUTING" and payment.lease == NEVER


def _with(books: Books, number: int, worker: Settler) -> Books:
    workers = list(books.workers)
    workers[number] = worker
    return books._replace(workers=tuple(workers))


def _following(message: Message, out: object) -> Settler:
    return Settler(doing="sends" if out else "deletes", message=message, out=out)
