"""Postings in DynamoDB. Postings that share rows are written in one transaction; those that are refused are taken out,
and the others are written again.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Final

from botocore.exceptions import ClientError

from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.movement import behind
from postdate.domain.packing import merged, packed
from postdate.domain.posting import Posting
from postdate.stores import batch_get
from postdate.stores.ledger import Posted, PostingAnswer
from postdate.stores.ledger_actions import RowAction
from postdate.stores.ledger_answers import UNMET, answers_of, awaiting, read_to, tell
from postdate.stores.ledger_tables import TRIES, LedgerTables

_WRITERS: Final = 8


class DynamoPostings(LedgerTables):
    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
        """Groups of postings without a common account are written side by side."""
        groups = merged(postings)
        packs = packed(groups) if together else [[group] for group in groups]
        if len(packs) > 1:
            with ThreadPoolExecutor(min(_WRITERS, len(packs))) as writers:
                written = list(writers.map(self._post_pack, packs))
        else:
            written = [self._post_pack(pack) for pack in packs]
        answers = {index: posted for group in written for index, posted in group.items()}
        return [answers[id(posting)] for posting in postings]

    def _post_pack(self, pack: Sequence[Sequence[Sequence[Posting]]]) -> dict[int, Posted]:
        """Tries one transaction for all groups once. If it was committed and its answer was lost, each group finds what
        it would have written."""
        if len(pack) > 1:
            together = [posting for group in pack for posting in chain.from_iterable(group)]
            written = instants.milliseconds(max(posting.at for posting in together))
            actions = [action.request for action in self._actions.of(together, written=written)]
            try:
                if not self._cancelled(actions):
                    return _each(together, PostingAnswer.DONE)
            except (Unavailable, ClientError):
                pass
        answers: dict[int, Posted] = {}
        for group in pack:
            answers |= self._post_group(group)
        return answers

    def _post_group(self, transactions: Sequence[Sequence[Posting]]) -> dict[int, Posted]:
        return awaiting(chain.from_iterable(transactions), self._post_in_order(transactions))

    def _post_in_order(self, transactions: Iterable[Sequence[Posting]]) -> dict[int, Posted]:
        answers: dict[int, Posted] = {}
        for together in transactions:
            answers |= self._write(together)
        return answers

    def _write(self, together: Sequence[Posting]) -> dict[int, Posted]:
        """Writes postings in one transaction. Those that are refused are taken out, and the others are written again.
        The same postings are written again while another writer is at their rows."""
        answers: dict[int, Posted] = {}
        left, too_many = list(together), set[int]()
        patience = TRIES
        written = instants.milliseconds(max(posting.at for posting in together))
        while left and patience > 0:
            actions = list(self._actions.of(left, written=written))
            try:
                reasons = self._cancelled([action.request for action in actions])
                refused = self._with_accounts([(actions[index], reason) for index, reason in reasons.items()])
            except Unavailable:
                # A request without an answer took long already, so few of them are sent.
                patience -= TRIES // 2
                continue
            except ClientError as error:
                # One posting may make the whole transaction invalid. Smaller transactions find out which.
                if len(left) > 1:
                    too_many |= {id(posting) for posting in left}
                else:
                    tell(str(error))
                    answers |= _each(left, PostingAnswer.REFUSED)
                left = []
                break
            if not reasons:
                answers |= _each(left, PostingAnswer.DONE)
                left = []
                break
            if (place := read_to(refused)) is not None:
                # A reader has read the journal meanwhile: rows that are written now belong behind the shown ones.
                written, patience = behind(place), patience - 1
                continue
            known, crowded = answers_of(left, refused)
            answers |= known
            too_many |= crowded
            if not known and not crowded:
                # Other writers are at the same rows. The same postings go again after a pause.
                self._pause_after(TRIES - patience)
                patience -= 1
            left = [posting for posting in left if id(posting) not in known.keys() | crowded]
        answers |= _each(left, PostingAnswer.UNAVAILABLE)
        smaller = _halves([posting for posting in together if id(posting) in too_many])
        return answers | self._post_in_order(smaller)

    def _with_accounts(
        self, refused: Sequence[tuple[RowAction, dict[str, Any]]]
    ) -> list[tuple[RowAction, dict[str, Any]]]:
        """The refusals, each with the account that stands in the way. AWS promises that account and may leave it out:
        then it is read, for an account that is left out is not one that is missing."""
        keys = {
            index: action.request["Update"]["Key"]
            for index, (action, reason) in enumerate(refused)
            if action.account is not None and reason["Code"] == UNMET and "Item" not in reason
        }
        found = batch_get.rows(self._client, self._accounts, keys.values()) if keys else []
        rows = {row["account"]["S"]: row for row in found}
        return [
            (action, reason | {"Item": rows.get(keys[index]["account"]["S"])} if index in keys else reason)
            for index, (action, reason) in enumerate(refused)
        ]


def _halves(postings: Sequence[Posting]) -> list[Sequence[Posting]]:
    """Divides postings in their order, to isolate those that fail while the others stay together."""
    middle = (len(postings) + 1) // 2
    return [half for half in (postings[:middle], postings[middle:]) if half]


def _each(postings: Iterable[Posting], answer: PostingAnswer) -> dict[int, Posted]:
    return {id(posting): Posted(answer=answer) for posting in postings}
