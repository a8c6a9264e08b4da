"""The ledger's answer to one posting, as the error its caller gets."""

from postdate.domain.account import Status
from postdate.domain.errors import (
    AccountFrozen,
    BooksDisagree,
    InsufficientFunds,
    InvalidState,
    NotFound,
    PostdateError,
    Unavailable,
)
from postdate.domain.posting import Posting
from postdate.stores.ledger import Posted, PostingAnswer


def refusal(posted: Posted, posting: Posting | None = None) -> PostdateError | None:
    """The error for a posting that was refused; None for one that is done, or was done before. `posting` tells a
    missing hold from a lack of money."""
    match posted.answer:
        case PostingAnswer.DONE | PostingAnswer.STALE:
            return None
        case PostingAnswer.SHORT if posting is not None and _only_releases(posting, posted.account):
            why = f"the account {posted.account} lacks the hold of the payment"
            return books_disagree(posted.account, why)
        case PostingAnswer.SHORT:
            return InsufficientFunds(f"the account {posted.account} has too little available money")
        case PostingAnswer.FROZEN:
            return frozen(posted.account)
        case PostingAnswer.CLOSED:
            return closed(posted.account)
        case PostingAnswer.UNKNOWN:
            return unknown(posted.account)
        case PostingAnswer.UNAVAILABLE:
            return Unavailable()
        case PostingAnswer.REFUSED:
            return PostdateError()


def books_disagree(account: str | None, why: str) -> BooksDisagree:
    return BooksDisagree(
        f"{why}: GET /api/v1/audit shows the difference, and "
        f"POST /api/v1/accounts/{account}/adjustments with to_journal repairs the account"
    )


def _only_releases(posting: Posting, account: str | None) -> bool:
    """True if the posting asks the account for held money and for no available money."""
    legs = [leg for leg in posting.legs if leg.account == account]
    return any(leg.reserved < 0 for leg in legs) and all(leg.available >= 0 for leg in legs)


def frozen(account: str | None) -> AccountFrozen:
    return AccountFrozen(f"the account {account} is frozen")


def closed(account: str | None) -> InvalidState:
    return InvalidState(Status.CLOSED, f"the account {account} is closed")


def unknown(account: str | None) -> NotFound:
    return NotFound(f"there is no account {account}")
