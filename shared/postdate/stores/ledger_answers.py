"""The reasons of a cancelled transaction, translated into an answer for each posting."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from postdate.domain.account import Status
from postdate.domain.posting import Leg, Posting, Total
from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import passes
from postdate.stores.ledger import Posted, PostingAnswer
from postdate.stores.ledger_actions import RowAction

UNMET: Final = "ConditionalCheckFailed"
_LISTED: Final = frozenset({"place", "tenant_listing", "state_listing", "listing", "payee_listing"})


def read_to(refused: Iterable[tuple[RowAction, dict[str, Any]]]) -> str | None:
    """The furthest place up to which a reader has seen one of the journals of these actions; None if no reader has seen
    a place that they would write."""
    found = [
        stored["journal"]["S"]
        for action, reason in refused
        if action.place is not None
        and reason["Code"] == UNMET
        and "journal" in (stored := reason.get("Item") or {})
        and stored["journal"]["S"] >= action.place
    ]
    return max(found, default=None)


def answers_of(
    together: Sequence[Posting], refused: Iterable[tuple[RowAction, dict[str, Any]]]
) -> tuple[dict[int, Posted], set[int]]:
    """Sorts the postings of a cancelled transaction by its reasons; `id()` of a posting names it.

    Returns the certain answers, and the postings to write again in smaller parts: those that together take too much
    from an account, or all of them if other legs add to the same part of that account. A posting in neither is written
    again as it is. `refused` pairs each refused action with its reason; the reason holds the stored row if the
    condition failed. Logs unexpected reasons."""
    answers: dict[int, Posted] = {}
    crowded: set[int] = set()
    for action, reason in refused:
        # A passing reason, such as another transaction at the same row, is no answer: the caller tries again.
        if passes(reason["Code"]):
            continue
        unmet = reason["Code"] == UNMET
        if not unmet:
            tell(f"{reason['Code']}: {reason.get('Message')}")
        # A row of one posting alone: equal to what should be written, it was written by an earlier try.
        if action.posting is not None:
            stored = unmet and _is_same(reason.get("Item"), action.row)
            answer = PostingAnswer.DONE if stored else PostingAnswer.STALE if unmet else PostingAnswer.REFUSED
            answers.setdefault(id(action.posting), Posted(answer=answer))
        elif action.account is not None:
            tenant, total = action.account
            of_account = _of_account(reason.get("Item"), total) if unmet else PostingAnswer.REFUSED
            if of_account is None:
                continue
            answer = of_account
            account = tenant, total.account
            touching = [posting for posting in together if _is_touched(posting, account, answer)]
            # One posting too many may be to blame, and which one depends on the order. Smaller parts tell.
            if answer is PostingAnswer.SHORT and total.goes_both_ways:
                crowded |= {id(posting) for posting in together}
            elif answer is PostingAnswer.SHORT and len(touching) > 1:
                crowded |= {id(posting) for posting in touching}
            else:
                posted = Posted(answer=answer, account=total.account)
                for posting in touching:
                    answers.setdefault(id(posting), posted)
    return answers, crowded - answers.keys()


def _is_same(stored: AttributeMap | None, row: AttributeMap | None) -> bool:
    """But for where it is listed, which may have been written under another number of listings, and for what only
    newer code knows of."""
    if stored is None or row is None:
        return False
    return all(stored.get(name) == value for name, value in row.items() if name not in _LISTED)


def _of_account(stored: AttributeMap | None, total: Total) -> PostingAnswer | None:
    """The reason why this account refused; None if the account, as read after the refusal, would not refuse any
    more."""
    if not stored:
        return PostingAnswer.UNKNOWN
    if total.at_version is not None and stored["version"] != {"N": str(total.at_version)}:
        return PostingAnswer.STALE
    if stored["status"] == {"S": Status.CLOSED.value} and (total.needs_active or total.needs_open):
        return PostingAnswer.CLOSED
    frozen = total.needs_active and stored["status"] == {"S": Status.FROZEN.value}
    if frozen:
        return PostingAnswer.FROZEN
    taken = {"available": total.available_taken, "reserved": total.reserved_taken}
    is_short = any(int(stored[part]["N"]) < most for part, most in taken.items())
    return PostingAnswer.SHORT if is_short else None


def _is_touched(posting: Posting, account: tuple[str, str], answer: PostingAnswer) -> bool:
    """True if a leg of the posting asks for what the account refused."""

    def matters(leg: Leg) -> bool:
        match answer:
            case PostingAnswer.FROZEN:
                return leg.needs_active
            case PostingAnswer.CLOSED:
                return leg.needs_active or leg.needs_open
            case PostingAnswer.SHORT:
                return leg.available < 0 or leg.reserved < 0
            case _:
                return True

    return any((posting.tenant, leg.account) == account and matters(leg) for leg in posting.legs)


def awaiting(group: Iterable[Posting], answers: dict[int, Posted]) -> dict[int, Posted]:
    """Changes SHORT into UNAVAILABLE where money for the account may still arrive, because an earlier posting that adds
    to the account is UNAVAILABLE. `group` is in the order in which it was written."""
    found = dict(answers)
    awaited: set[tuple[str, str]] = set()
    for posting in group:
        posted = found[id(posting)]
        if posted.answer is PostingAnswer.SHORT and (posting.tenant, posted.account) in awaited:
            posted = found[id(posting)] = Posted(answer=PostingAnswer.UNAVAILABLE)
        if posted.answer is PostingAnswer.UNAVAILABLE:
            awaited |= {(posting.tenant, leg.account) for leg in posting.legs if leg.available > 0}
    return found


def tell(why: str) -> None:
    logger.error("a posting was refused", extra={"action": "refused", "why": why})
