"""Opens up to 100 accounts. Each is opened or refused by itself. Opening one again with the same limits is no error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.api.accounts.limits import refuse_above
from functions.api.refusals import closed
from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import InvalidState, PostdateError, Unavailable
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    # The account.
    account: Account
    # True if it was there already.
    replayed: bool = False


def open_accounts(
    tenant: str,
    asked: Sequence[tuple[str, Limits] | PostdateError],
    *,
    amount_cap: int,
    ledger: Ledger,
    clock: Clock,
) -> list[Opened | PostdateError]:
    """Returns one answer for each entry of `asked`, in their order. An error in `asked` is returned as it is. An
    account that exists with the same limits is `replayed`; with other limits, or closed, it is an error. The second of
    two equal names finds the first. `amount_cap` is the greatest `amount_max` of the environment. Raises
    Unavailable."""
    now = clock.now()
    checked = [_within_cap(each, amount_cap) for each in asked]
    wanted = dict[str, Account]()
    for each in checked:
        if not isinstance(each, PostdateError):
            id, limits = each
            begins = Account(id=id, tenant=tenant, created_at=now, updated_at=now, limits=limits)
            wanted.setdefault(id, begins)
    new = ledger.open_all(list(wanted.values())) if wanted else set()
    opened = {id: account for id, account in wanted.items() if id in new}
    known = opened | (ledger.accounts(tenant, old) if (old := wanted.keys() - new) else {})
    answers = list[Opened | PostdateError]()
    for each in checked:
        if isinstance(each, PostdateError):
            answers.append(each)
        # The first of two equal names takes the new account; the second finds it there.
        elif (account := opened.pop(each[0], None)) is not None:
            answers.append(Opened(account=account))
        else:
            answers.append(_there_already(*each, known))
    return answers


def _within_cap(
    asked: tuple[str, Limits] | PostdateError, amount_cap: int
) -> tuple[str, Limits] | PostdateError:
    """Replaces limits above `amount_cap`, the greatest `amount_max` of the environment, by LimitExceeded. Returns every
    other entry as it is, errors included."""
    if not isinstance(asked, PostdateError):
        try:
            refuse_above(asked[1], amount_cap)
        except PostdateError as error:
            return error
    return asked


def _there_already(id: str, limits: Limits, known: Mapping[str, Account]) -> Opened | PostdateError:
    stored = known.get(id)
    if stored is None:
        return Unavailable()
    if stored.status is Status.CLOSED:
        return closed(id)
    # Other limits mean another request, not a repetition.
    if stored.limits != limits:
        return InvalidState(stored.status, f"the account {id} already exists with other limits")
    return Opened(account=stored, replayed=True)
