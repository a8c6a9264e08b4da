"""The ledger's answer to one posting, as the error its caller gets."""

from postdate.domain.errors import (
    AccountFrozen,
    InsufficientFunds,
    NotFound,
    PostdateError,
    Unavailable,
)
from postdate.stores.ledger import Answer, Posted


def refusal(posted: Posted) -> PostdateError | None:
    """None for what is done, or was done before."""
    match posted.answer:
        case Answer.DONE | Answer.STALE:
            return None
        case Answer.SHORT:
            return InsufficientFunds(f"the account {posted.account} does not have that much available")
        case Answer.FROZEN:
            return frozen(posted.account)
        case Answer.UNKNOWN:
            return unknown(posted.account)
        case Answer.UNAVAILABLE:
            return Unavailable()
        case Answer.REFUSED:
            return PostdateError()


def frozen(account: str | None) -> AccountFrozen:
    return AccountFrozen(f"the account {account} is frozen")


def unknown(account: str | None) -> NotFound:
    return NotFound(f"there is no account {account}")
