"""Everything there is at a moment, where payments are settled; and the ledger: a posting is written whole or not at
all. What there is none of is ()."""

from typing import Any, NamedTuple

from tests.model.payments import PAYEE, PAYER, P, Post
from tests.model.plan import Plan
from tests.model.sqs import Queue


class Settler(NamedTuple):
    """IDLE; it LOOKS at a call, with what it read; it POSTS; it SENDS what follows; it is about to DELETE."""

    doing: str = "idle"
    message: Any = ()
    known: Any = ()
    post: Any = ()
    out: Any = ()


class Asked(NamedTuple):
    """State of a client's request: the client POSTS, SENDS the call, or gets the ANSWER."""

    doing: str = ""
    wish: str = ""
    post: Any = ()


class Money(NamedTuple):
    """An account: what is available of it, and what is reserved."""

    available: int = 0
    reserved: int = 0


class Left(NamedTuple):
    crashes: int
    doubles: int
    outages: int
    redrives: int
    wishes: tuple[str, ...]


class Books(NamedTuple):
    now: int
    payments: tuple[P, ...]
    accounts: tuple[Money, Money]
    journal: tuple[tuple[str, str, str, int], ...]
    queue: Queue
    letters: tuple[tuple[int, int], ...]
    workers: tuple[Settler, ...]
    client: Asked
    told: tuple[str, ...]
    closed: bool
    left: Left


_PLACES = {PAYER: 0, PAYEE: 1}


def beginning(plan: Plan) -> Books:
    left = Left(
        crashes=plan.crashes,
        doubles=plan.doubles,
        outages=plan.outages,
        redrives=plan.redrives,
        wishes=plan.wishes,
    )
    return Books(
        now=0,
        payments=(),
        accounts=(Money(available=plan.money), Money()),
        journal=(),
        queue=(),
        letters=(),
        workers=(Settler(),) * plan.workers,
        client=Asked(),
        told=(),
        closed=not plan.closes,
        left=left,
    )


def posted(plan: Plan, books: Books, post: Post) -> tuple[str, Books]:
    """`done`, `stale` or `short`, and what is there then. What is stored already is one's own."""
    number, mistake = post.after.number, plan.mistake
    new = number == len(books.payments)
    stored = () if new else books.payments[number]
    if stored == post.after:
        return "done", books
    unseen = mistake == "neither the payment's state nor the journal is looked at"
    unconditional = unseen or mistake == "no condition on a payment's state"
    if stored != post.before and (new or not unconditional):
        return "stale", books
    if post.movement and not unseen and any(each[0] == post.movement[0] for each in books.journal):
        return "stale", books
    accounts = list(books.accounts)
    for leg in _legs(plan, post):
        place = _PLACES[leg.account]
        account = accounts[place]
        accounts[place] = Money(account.available + leg.available, account.reserved + leg.reserved)
        if min(accounts[place]) < 0 and mistake != "an account falls below zero":
            return "short", books
    payments = (*books.payments[:number], post.after, *books.payments[number + 1 :])
    journal = tuple(sorted((*books.journal, _told(plan, post)))) if post.movement else books.journal
    return "done", books._replace(payments=payments, accounts=(accounts[0], accounts[1]), journal=journal)


def _told(plan: Plan, post: Post) -> Any:
    more = plan.mistake == "a movement tells another amount"
    return (*post.movement[:3], post.after.amount + more)


def _legs(plan: Plan, post: Post) -> Any:
    if plan.mistake == "the payee gets nothing":
        return [leg for leg in post.legs if leg.account == PAYER]
    releases = post.after.state in ("CANCELLED", "FAILED")
    if releases and plan.mistake == "a hold is returned twice":
        return (*post.legs, *post.legs)
    if releases and plan.mistake == "a hold is not returned":
        return ()
    return post.legs
