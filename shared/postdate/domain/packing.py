"""The order of postings, and the transactions that they share.

Postings that share accounts are written together: one row can take only so many transactions a second, but a hundred
changes in each. Written together they have the outcome that they would have one after the other, in the order of their
instants: no payment is made from money that arrives after it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from postdate.domain.posting import Posting

# TransactWriteItems takes 100 actions.
ACTIONS_MAX = 100
# Postings of strangers in one transaction: each brings four rows, and each row may conflict with another worker.
TOGETHER_MAX = 10


def in_order(postings: Iterable[Posting]) -> list[Posting]:
    """Sorts by instant. Postings of one instant keep the order in which they were given."""
    return sorted(postings, key=lambda posting: posting.instant)


def merged(postings: Iterable[Posting]) -> list[list[list[Posting]]]:
    """Groups that share no account with each other and can be written side by side; each is a sequence of
    transactions to be written one after the other."""
    return [list(_transactions(_arranged(group))) for group in _connected(in_order(postings))]


def _arranged(group: list[Posting]) -> list[Posting]:
    """Keeps the order of instants where an account both pays and receives. Elsewhere only the order of payments from
    one account changes an outcome: postings that take no available money go first, sorted by account, so that fewer
    rows are changed."""
    if _goes_both_ways(group):
        return group

    def rank(posting: Posting) -> tuple[bool, tuple[str, ...]]:
        if any(leg.available < 0 for leg in posting.legs):
            return True, ()
        return False, tuple(leg.account for leg in posting.legs)

    return sorted(group, key=rank)


def _goes_both_ways(group: Iterable[Posting]) -> bool:
    """True if one posting takes from a part of an account to which another one adds."""
    taken: set[tuple[str, str, str]] = set()
    given: set[tuple[str, str, str]] = set()
    for posting in group:
        for leg in posting.legs:
            for part, change in (("available", leg.available), ("reserved", leg.reserved)):
                if change:
                    (taken if change < 0 else given).add((posting.tenant, leg.account, part))
    return not taken.isdisjoint(given)


def _connected(postings: Iterable[Posting]) -> list[list[Posting]]:
    """Groups postings that share accounts, directly or through other postings: a union-find over the accounts. A
    posting that touches no account is a group of its own."""
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    # The groups of a union-find: accounts with one leader are connected by postings.
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
    """Divides postings, in their order, into transactions of as many actions as DynamoDB takes."""
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


def packed(groups: Iterable[list[list[Posting]]]) -> list[list[list[list[Posting]]]]:
    """Packs groups of one transaction each, so that one transaction may write the whole pack. A group of several
    transactions is a pack of its own."""
    packs: list[list[list[list[Posting]]]] = []
    large: list[list[list[list[Posting]]]] = []
    postings = rows = 0
    for group in groups:
        if len(group) > 1:
            large.append([group])
            continue
        more, more_rows = len(group[0]), _rows(group[0])
        if not packs or postings + more > TOGETHER_MAX or rows + more_rows > ACTIONS_MAX:
            packs.append([])
            postings = rows = 0
        packs[-1].append(group)
        postings, rows = postings + more, rows + more_rows
    return [*packs, *large]


def _rows(transaction: Iterable[Posting]) -> int:
    """Counts the rows that these postings change together."""
    together = list(transaction)
    accounts = {account for posting in together for account in posting.accounts}
    return len(accounts) + sum(posting.own_actions for posting in together)
