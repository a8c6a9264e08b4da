"""Money in DynamoDB. Everything that changes it is a TransactWriteItems; reads go through pynamodb."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError
from pynamodb.exceptions import DoesNotExist

from postdate.domain import instants
from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import Unavailable
from postdate.domain.item import kind_of
from postdate.domain.movement import Movement, behind, payment_movement_id
from postdate.domain.payment import KIND, Payment
from postdate.domain.posting import Posting, merged, packed
from postdate.domain.slots import ShardPlan, home, is_id
from postdate.runtime.author import nobody
from postdate.stores import account_row, batch_get, movement_row, payment_row
from postdate.stores.faults import translated
from postdate.stores.ledger import ListedPayment, PaymentsWanted, Posted, PostingAnswer
from postdate.stores.ledger_actions import Actions, RowAction
from postdate.stores.ledger_answers import UNMET, awaiting, judged, read_to, tell
from postdate.stores.places import between, id_at
from postdate.stores.rows import item_key, readable, speak_through, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

# Of the client itself: what hangs must not take longer than a function lives, and we try again ourselves.
LEDGER_TRIES: Final = 2
_TRIES: Final = 8
_PAUSE_SECONDS: Final = 0.02
_PAUSE_SECONDS_MAX: Final = 0.5
_WRITERS: Final = 8
_READERS: Final = 8


class DynamoLedger:
    def __init__(
        self,
        *,
        payments_table: str,
        accounts_table: str,
        journal_table: str,
        client: "BaseClient",
        shards: ShardPlan,
        listing_shards: int,
        pause: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._accounts = accounts_table
        self._actions = Actions(
            payments=payments_table,
            accounts=accounts_table,
            journal=journal_table,
            shards=shards,
            listing_shards=listing_shards,
        )
        self._author: Callable[[], str] = nobody
        self._payments = payment_row.payment_rows(payments_table)
        self._account_rows = account_row.account_rows(accounts_table)
        self._movements = movement_row.movement_rows(journal_table)
        for model in (self._payments, self._account_rows, self._movements):
            speak_through(model, client)
        self._client = client
        self._listing_shards = listing_shards
        self._pause = pause
        self._draw = draw

    def signed_by(self, author: Callable[[], str]) -> "DynamoLedger":
        """The same ledger. The author is noted in changes of accounts that are told as events."""
        self._author = author
        self._actions = replace(self._actions, author=author)
        return self

    def account(self, tenant: str, id: str) -> Account | None:
        with translated():
            try:
                row = self._account_rows.get(account_row.key(tenant, id), consistent_read=True)
            except DoesNotExist:
                return None
        return account_row.account_of(row)

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        keys = ({"account": {"S": account_row.key(tenant, id)}} for id in dict.fromkeys(ids))
        rows = batch_get.models(self._account_rows, keys)
        return {account.id: account for account in map(account_row.account_of, rows)}

    def accounts_listed(self, tenant: str, *, after: str, limit: int, prefix: str = "") -> list[str]:
        first, last = account_row.keys_behind(tenant, after, prefix)
        if first > last:
            return []
        behind = self._account_rows.account.between(first, last)
        with translated():
            found = self._account_rows.by_tenant.query(tenant, behind, limit=limit)
            return [account_row.id_of(row.account) for row in found]

    def open(self, account: Account) -> bool:
        return account.id in self.open_all([account])

    def open_all(self, accounts: Sequence[Account]) -> set[str]:
        by = self._author()
        left = {
            account.id: {"Put": account_row.opening_of(self._accounts, account, by=by)}
            for account in accounts
        }
        for tried in range(_TRIES):
            names = list(left)
            reasons = self._cancelled(list(left.values()))
            if not reasons:
                return set(names)
            there = {names[index] for index, reason in reasons.items() if reason["Code"] == UNMET}
            left = {name: put for name, put in left.items() if name not in there}
            if not left:
                return set()
            if not there:
                self._pause_after(tried)
        raise Unavailable

    def set_status(
        self, tenant: str, id: str, status: Status, *, now: datetime, version: int | None = None
    ) -> Account | None:
        """Uses a transaction, so that no function needs the right to write to accounts in another way."""
        update = account_row.status_update_of(
            self._accounts, tenant, id, status, now, version=version, by=self._author()
        )
        self._write_row({"Update": update})
        return self.account(tenant, id)

    def close(self, tenant: str, id: str, *, now: datetime, version: int | None = None) -> Account | None:
        closing = account_row.closing_of(self._accounts, tenant, id, now, version=version, by=self._author())
        self._write_row({"Update": closing})
        return self.account(tenant, id)

    def set_limits(
        self, account: Account, limits: Limits, *, now: datetime, version: int | None = None
    ) -> Account | None:
        update = account_row.limits_update_of(
            self._accounts, account, limits, now, version=version, by=self._author()
        )
        self._write_row({"Update": update})
        return self.account(account.tenant, account.id)

    def payment(self, id: str) -> Payment | None:
        slot = home(id)
        if kind_of(id) != KIND:
            return None
        with translated():
            try:
                row = self._payments.get(slot.key, id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, payment_row.payment_of)

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        keys = (item_key(id) for id in dict.fromkeys(ids) if is_id(id) and kind_of(id) == KIND)
        rows = batch_get.models(self._payments, keys)
        return {payment.id: payment for payment in readable(rows, payment_row.payment_of)}

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        """Reads each key of the list by a query of its own, in parallel."""
        lists = list(self._lists(wanted))
        ends = between(wanted.since, wanted.until, after=after, newest_first=wanted.newest_first)
        if ends is None:
            return []
        within = self._payments.place.between(*ends)

        def read(listed: tuple[Any, str]) -> list[ListedPayment]:
            index, key = listed
            forward = not wanted.newest_first
            with translated():
                found = index.query(key, within, scan_index_forward=forward, limit=limit)
                return [_listed(row) for row in found]

        with ThreadPoolExecutor(min(_READERS, len(lists))) as readers:
            entries = merge(
                *readers.map(read, lists), key=lambda entry: entry.place, reverse=wanted.newest_first
            )
            return list(islice(entries, limit))

    def _lists(self, wanted: PaymentsWanted) -> Iterator[tuple[Any, str]]:
        """The indexes and keys that together hold what is wanted, and little else."""
        for number in range(self._listing_shards):
            if wanted.state in payment_row.LISTED_BY_STATE:
                yield self._payments.by_state, payment_row.state_key(wanted.tenant, wanted.state, number)
            elif wanted.account is None:
                yield self._payments.by_tenant, payment_row.tenant_key(wanted.tenant, number)
            else:
                key = payment_row.listing_key(wanted.tenant, wanted.account, number)
                yield self._payments.by_listing, key
                yield self._payments.by_payee, key

    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        """Reads on for each row that is left out."""
        found: list[Movement] = []
        while (missing := limit - len(found)) > 0:
            rows = self._movement_rows(tenant, account, after, missing)
            found += _whole(rows) if whole else readable(rows, movement_row.movement_of)
            if len(rows) < missing:
                break
            after = rows[-1].place
        return found

    def _movement_rows(self, tenant: str, account: str, after: str, limit: int) -> list[Any]:
        keys = self._listing_keys(tenant, account)
        behind = self._movements.place > after if after else None
        with translated():
            sides: list[list[Any]] = [
                list(index.query(key, behind, limit=limit))
                for index in (self._movements.by_payer, self._movements.by_payee)
                for key in keys
            ]
        return list(islice(merge(*sides, key=lambda row: str(row.place)), limit))

    def close_journal(self, tenant: str, account: str, place: str) -> None:
        self._write_row({"Update": account_row.reading_of(self._accounts, tenant, account, place)})

    def has(self, movement: Movement) -> bool:
        key = movement_row.key(movement, listing_shards=self._listing_shards)
        with translated():
            try:
                self._movements.get(key["listing"]["S"], key["id"]["S"], consistent_read=True)
            except DoesNotExist:
                return False
        return True

    def movements_of(self, payments: Iterable[Payment]) -> list[Movement]:
        """Reads the movements of payments by their own keys. A movement may be listed under any number, if the number
        of listings was changed."""
        keys = [
            {"listing": {"S": key}, "id": {"S": payment_movement_id(payment.id)}}
            for payment in payments
            for key in self._listing_keys(payment.tenant, payment.payer)
        ]
        return _whole(batch_get.models(self._movements, keys))

    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
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
        patience = _TRIES
        written = instants.milliseconds(max(posting.at for posting in together))
        while left and patience > 0:
            actions = list(self._actions.of(left, written=written))
            try:
                reasons = self._cancelled([action.request for action in actions])
                refused = self._with_accounts([(actions[index], reason) for index, reason in reasons.items()])
            except Unavailable:
                # A request without an answer took long already, so few of them are sent.
                patience -= _TRIES // 2
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
                # Somebody has read the journal meanwhile: what is written now belongs behind what was shown.
                written, patience = behind(place), patience - 1
                continue
            known, crowded = judged(left, refused)
            answers |= known
            too_many |= crowded
            if not known and not crowded:
                # Other writers are at the same rows. The same postings go again after a pause.
                self._pause_after(_TRIES - patience)
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

    def _write_row(self, action: dict[str, Any]) -> bool:
        """Writes one row in a transaction of its own; returns False if the condition does not hold."""
        for tried in range(_TRIES):
            reasons = [reason["Code"] for reason in self._cancelled([action]).values()]
            if not reasons or reasons == [UNMET]:
                return not reasons
            self._pause_after(tried)
        raise Unavailable(reasons[0])

    def _pause_after(self, tried: int) -> None:
        self._pause(min(_PAUSE_SECONDS * 2**tried, _PAUSE_SECONDS_MAX) * self._draw())

    def _cancelled(self, actions: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """Returns the reason of each refused action by its index; empty if the transaction is committed."""
        try:
            with translated():
                self._client.transact_write_items(TransactItems=actions)
        except self._client.exceptions.TransactionCanceledException as cancelled:
            reasons = cancelled.response["CancellationReasons"]
            return {index: reason for index, reason in enumerate(reasons) if reason["Code"] != "None"}
        return {}

    def _listing_keys(self, tenant: str, account: str) -> list[str]:
        return [payment_row.listing_key(tenant, account, number) for number in range(self._listing_shards)]


def _listed(row: Any) -> ListedPayment:
    payer = getattr(row, "payer", None)
    return ListedPayment(
        place=row.place,
        id=id_at(row.place),
        accounts=None if payer is None else (payer, row.payee),
    )


def _whole(rows: Iterable[Any]) -> list[Movement]:
    return [the_one(row, movement_row.movement_of) for row in rows]


def _halves(postings: Sequence[Posting]) -> list[Sequence[Posting]]:
    """Divides postings in their order, to isolate those that fail while the others stay together."""
    middle = (len(postings) + 1) // 2
    return [half for half in (postings[:middle], postings[middle:]) if half]


def _each(postings: Iterable[Posting], answer: PostingAnswer) -> dict[int, Posted]:
    return {id(posting): Posted(answer=answer) for posting in postings}
