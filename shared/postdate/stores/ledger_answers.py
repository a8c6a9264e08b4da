"""Why a transaction was cancelled, as what that says of each posting in it."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from postdate.domain.account import Status
from postdate.domain.posting import Leg, Posting
from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import passes
from postdate.stores.ledger import Answer, Posted
from postdate.stores.ledger_actions import Action

HELD: Final = "ConditionalCheckFailed"
_LISTED: Final = frozenset({"listing", "payee_listing"})


def judged(
    together: Sequence[Posting], refused: Iterable[tuple[Action, dict[str, Any]]]
) -> tuple[dict[int, Posted], set[int]]:
    """The answers that are certain, and those that were too many for an account together but may fit alone."""
    answers: dict[int, Posted] = {}
    crowded: set[int] = set()
    for action, reason in refused:
        if passes(reason["Code"]):
            continue
        held = reason["Code"] == HELD
        if not held:
            tell(f"{reason['Code']}: {reason.get('Message')}")
        if action.posting is not None:
            stored = held and _is_same(reason.get("Item"), action.row)
            answer = Answer.DONE if stored else Answer.STALE if held else Answer.REFUSED
            answers.setdefault(id(action.posting), Posted(answer=answer))
        elif action.account is not None:
            tenant, leg = action.account
            answer = _of_account(reason.get("Item"), leg) if held else Answer.REFUSED
            account = tenant, leg.account
            touching = [posting for posting in together if _is_touched(posting, account, answer)]
            if answer is Answer.SHORT and len(touching) > 1:
                crowded |= {id(posting) for posting in touching}
            else:
                posted = Posted(answer=answer, account=leg.account)
                for posting in touching:
                    answers.setdefault(id(posting), posted)
    return answers, crowded - answers.keys()


def _is_same(stored: AttributeMap | None, row: AttributeMap | None) -> bool:
    """But for where it is listed, which may have been written under another number of listings, and for what only
    newer code knows of."""
    if stored is None or row is None:
        return False
    return all(stored.get(name) == value for name, value in row.items() if name not in _LISTED)


def _of_account(stored: AttributeMap | None, leg: Leg) -> Answer:
    if not stored:
        return Answer.UNKNOWN
    if leg.at_version is not None and stored["version"] != {"N": str(leg.at_version)}:
        return Answer.STALE
    frozen = leg.needs_active and stored["status"] == {"S": Status.FROZEN.value}
    return Answer.FROZEN if frozen else Answer.SHORT


def _is_touched(posting: Posting, account: tuple[str, str], answer: Answer) -> bool:
    def matters(leg: Leg) -> bool:
        match answer:
            case Answer.FROZEN:
                return leg.needs_active
            case Answer.SHORT:
                return leg.available < 0 or leg.reserved < 0
            case _:
                return True

    return any((posting.tenant, leg.account) == account and matters(leg) for leg in posting.legs)


def tell(why: str) -> None:
    logger.error("a posting was refused", extra={"action": "refused", "why": why})
