"""A posting: one step of a payment, or a deposit, with all that it does to accounts. It is written whole or not at all.

Postings that share accounts are written together: one row can take only so many transactions a second, but a hundred
changes in each.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.movement import Movement
from postdate.domain.payment import Payment

ACTIONS_MAX = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Leg:
    """What happens to one account. Neither part may fall below 0; one that `needs_active` is refused when frozen, one
    with `at_version` when the account is another version."""

    account: str
    available: int = 0
    reserved: int = 0
    needs_active: bool = True
    at_version: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Posting:
    """Holds while `before` is still what is stored: nothing, if it is None. One that `points` has moved the payment
    to another minute, whose slot needs a pointer to the payment's home."""

    tenant: str
    at: datetime
    before: Payment | None = None
    after: Payment | None = None
    legs: tuple[Leg, ...] = ()
    movement: Movement | None = None
    points: bool = False

    @property
    def accounts(self) -> frozenset[tuple[str, str]]:
        return frozenset((self.tenant, leg.account) for leg in self.legs)

    @property
    def own_actions(self) -> int:
        """The rows that no other posting touches."""
        return sum((self.after is not None, self.movement is not None, self.points))


def merged(postings: Sequence[Posting]) -> list[list[list[Posting]]]:
    """Groups that share no account with each other and can be written side by side; each is a sequence of
    transactions to be written one after the other."""
    return [list(_transactions(group)) for group in _connected(postings)]


def _connected(postings: Iterable[Posting]) -> list[list[Posting]]:
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def lead(account: tuple[str, str]) -> tuple[str, str]:
        leader.setdefault(account, account)
        while leader[account] != account:
            leader[account] = leader[leader[account]]
            account = leader[account]
        return account

    alone: list[list[Posting]] = []
    sharing: list[Posting] = []
    for posting in postings:
        if not posting.legs:
            alone.append([posting])
            continue
        sharing.append(posting)
        first, *others = sorted(posting.accounts)
        for other in others:
            leader[lead(other)] = lead(first)
    groups: dict[tuple[str, str], list[Posting]] = defaultdict(list)
    for posting in sharing:
        groups[lead(min(posting.accounts))].append(posting)
    return [*groups.values(), *alone]


def _transactions(group: Iterable[Posting]) -> Iterator[list[Posting]]:
    chunk: list[Posting] = []
    accounts: set[tuple[str, str]] = set()
    actions = 0
    for posting in group:
        more = accounts | posting.accounts
        if chunk and actions + posting.own_actions + len(more) > ACTIONS_MAX:
            yield chunk
            chunk, actions, more = [], 0, set(posting.accounts)
        chunk.append(posting)
        actions += posting.own_actions
        accounts = more
    yield chunk


def summed(postings: Iterable[Posting]) -> dict[tuple[str, str], Leg]:
    """What all of them together do to each account."""
    legs: dict[tuple[str, str], Leg] = {}
    for posting in postings:
        for leg in posting.legs:
            key = posting.tenant, leg.account
            known = legs.get(key, Leg(account=leg.account, needs_active=False))
            legs[key] = Leg(
                account=leg.account,
                available=known.available + leg.available,
                reserved=known.reserved + leg.reserved,
                needs_active=known.needs_active or leg.needs_active,
                at_version=leg.at_version if known.at_version is None else known.at_version,
            )
    return legs
