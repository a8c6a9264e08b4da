"""Erases a tenant step by step, see `postdate.domain.erasing`.

Each step may be repeated: a row that is renamed or gone is no longer found. The place is noted after the rows were
written, so a worker that dies repeats a part of its step. Two workers at once repeat each other's parts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from functions.erase.reports import FindingsEraser
from postdate.domain import erasing, money
from postdate.domain.erasing import Erasure
from postdate.domain.errors import BooksDisagree, Unavailable
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting
from postdate.runtime.clock import Clock
from postdate.runtime.dead_letters import HIDDEN_SECONDS, Letter, Letters
from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap
from postdate.stores.erasures import Erasures
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.stores.owned import Owned
from postdate.stores.payment_row import payment_in
from postdate.use_cases.auditing import Auditor

LETTERS_MAX: Final = 1_000
# Letters of others stay hidden while more are looked for. The margin is the time of one more look.
_LOOKS_FOR: Final = timedelta(seconds=HIDDEN_SECONDS - 5)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureWaits:
    """The lengths of the waiting steps. Environments of tests shorten them."""

    # Until no request of the tenant is under way.
    drain: timedelta = erasing.DRAINS
    # Until no stream has a change of the tenant.
    streams: timedelta = erasing.STREAMS_KEPT
    # Until no copy of a function remembers the tenant.
    forgotten: timedelta = erasing.FORGOTTEN


@dataclass(frozen=True, kw_only=True, slots=True)
class Worked:
    """The result of one invocation."""

    # The seconds after which to go on; None when the tenant is erased.
    seconds: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Eraser:
    erasures: Erasures
    owned: Owned
    ledger: Ledger
    letters: Sequence[Letters]
    findings: FindingsEraser
    clock: Clock
    waits: ErasureWaits

    def work(self, tenant: str, *, has_time: Callable[[], bool]) -> Worked:
        """Works on the erasure under the new name `tenant`. Raises Unavailable, and BooksDisagree for accounts that
        the journal does not explain: then nothing is renamed that was not renamed before."""
        erasure = self.erasures.get(tenant)
        while erasure is not None and not erasure.is_over:
            if erasure.name in erasing.WAITS:
                erasure, left = self._waited(erasure)
                if left > timedelta(0):
                    return Worked(seconds=max(1, -(-left // timedelta(seconds=1))))
                continue
            erasure = _STEPS[erasure.name](self, erasure, has_time)
            self.erasures.note_progress(erasure)
            if not has_time():
                return Worked(seconds=0)
        if erasure is not None:
            self.erasures.finish(erasure, now=self.clock.now())
            logger.info("a tenant was erased", extra={"action": "erased", "id": tenant})
        return Worked(seconds=None)

    def _waited(self, erasure: Erasure) -> tuple[Erasure, timedelta]:
        """The erasure behind its wait, or what is left of it. The row keeps the end, so a restart begins none anew."""
        now = self.clock.now()
        until = erasure.until or now + getattr(self.waits, erasure.name)
        after = replace(erasure, until=until) if now < until else erasure.next()
        if after != erasure:
            # The row keeps the end of the wait before the machine begins to wait.
            self.erasures.note_progress(after)
        return after, until - now

    def _walked(
        self,
        erasure: Erasure,
        has_time: Callable[[], bool],
        table: str,
        each: Callable[[Sequence[AttributeMap]], int],
    ) -> Erasure:
        """The erasure behind the pages that there was time for. `each` returns how many rows it did."""
        for page in self.owned.pages(table, erasure.of, after=erasure.after):
            erasure = erasure.worked(each(page.rows))
            if page.after is None:
                return erasure.next()
            erasure = replace(erasure, after=page.after)
            if not has_time():
                return erasure
            self.erasures.note_progress(erasure)
        return erasure.next()

    def _deleted(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Deletes all rows of the tenant in the table that the step is named after."""
        table = erasure.name

        def deleted(rows: Sequence[AttributeMap]) -> int:
            return self.owned.delete(table, self.owned.theirs(table, erasure.of, rows))

        return self._walked(erasure, has_time, table, deleted)

    def _letters(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Deletes the dead letters of the tenant. A letter that stays would call an item that is gone."""
        for queue in self.letters:
            erasure = erasure.worked(self._deleted_from(queue, erasure.of))
        return erasure.next()

    def _deleted_from(self, queue: Letters, tenant: str) -> int:
        """Looks until a look finds less than it may. Letters of others stay hidden meanwhile, so each look finds
        further ones."""
        others: list[Letter] = []
        deleted, ends_at = 0, self.clock.now() + _LOOKS_FOR
        try:
            while True:
                letters = queue.look(LETTERS_MAX)
                ours = [letter for letter in letters if letter.tenant == tenant]
                others += [letter for letter in letters if letter.tenant != tenant]
                if len(queue.delete(ours)) < len(ours):
                    raise Unavailable("a dead letter was not deleted")
                deleted += len(ours)
                if len(letters) < LETTERS_MAX:
                    return deleted
                if self.clock.now() > ends_at:
                    raise Unavailable("there are more dead letters than can be hidden at once")
        finally:
            queue.release(others)

    def _cancelled(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Cancels payments that have not ended. Their holds return to their payers."""

        def cancelled(rows: Sequence[AttributeMap]) -> int:
            open_ones, now = open_payments(rows), self.clock.now()
            found = [money.cancel(each, now=now, operator=True) for each in open_ones]
            self._post([posting for posting in found if posting is not None])
            return len(open_ones)

        return self._walked(erasure, has_time, "payments", cancelled)

    def _post(self, postings: Sequence[Posting]) -> None:
        for posted in self.ledger.post(postings) if postings else ():
            # A payment that changed since it was read is read again.
            if posted.answer is not PostingAnswer.DONE:
                raise Unavailable(f"a payment was not cancelled: {posted.answer}")

    def _checked(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Audits the accounts before anything is renamed: an account that is wrong would be wrong for ever. The second
        pass does not audit, because it meets rows of both names."""
        return erasure.next() if erasure.is_again else self._audit(erasure, erasure.of, has_time)

    def _audited(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Audits the renamed accounts. A movement that came between the steps makes the books disagree: a repeated
        request renames it."""
        try:
            return self._audit(erasure, erasure.tenant, has_time)
        except BooksDisagree:
            self.erasures.note_progress(erasure.back_to("payments"))
            raise

    def _audit(self, erasure: Erasure, tenant: str, has_time: Callable[[], bool]) -> Erasure:
        """Accounts that are too large to be read in one look are left to the nightly reconciliation."""
        auditor = Auditor(ledger=self.ledger, clock=self.clock)
        after: str | None = erasure.after or ""
        while after is not None:
            found = auditor.audit(tenant, after=after)
            wrong = sorted(each.name for each in found.checks if not each.ok)
            # The tenant is suspended and its payments are cancelled, so nothing should move.
            if found.moving:
                raise Unavailable(f"{len(found.moving)} accounts of a suspended tenant change")
            if wrong:
                raise BooksDisagree(f"the audit is not green: {', '.join(wrong)}")
            after = found.goes_on_after
            if after is not None and not has_time():
                return replace(erasure, after=after)
        return erasure.next()

    def _payments(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        def renamed(rows: Sequence[AttributeMap]) -> int:
            self.owned.delete_pointers(row for row in rows if "points_to" in row)
            self.owned.rename_payments(erasure, [row for row in rows if "points_to" not in row])
            return len(rows)

        return self._walked(erasure, has_time, "payments", renamed)

    def _journal(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        def renamed(rows: Sequence[AttributeMap]) -> int:
            self.owned.rename_movements(erasure, rows)
            return len(rows)

        return self._walked(erasure, has_time, "journal", renamed)

    def _accounts(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        def renamed(rows: Sequence[AttributeMap]) -> int:
            self.owned.rename_accounts(erasure, rows)
            return len(rows)

        return self._walked(erasure, has_time, "accounts", renamed)

    def _operations(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        """Deletes operations. The pages of an operation go before its head, which leads to them."""

        def deleted(heads: Iterable[AttributeMap]) -> int:
            done = 0
            for head in heads:
                *pages, _ = self.owned.theirs("operations", erasure.of, [head])
                done += self.owned.delete("operations", pages) + self.owned.delete("operations", [head])
            return done

        seats = self.owned.delete("operations", self.owned.seats(erasure.of))
        return self._walked(erasure.worked(seats), has_time, "operations", deleted)

    def _reports(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        self.findings.forget(erasure.of)
        return erasure.next()

    def _tenant(self, erasure: Erasure, has_time: Callable[[], bool]) -> Erasure:
        return self._walked(erasure, has_time, "tenants", lambda rows: self.owned.delete("tenants", rows))


def open_payments(rows: Sequence[AttributeMap]) -> list[Payment]:
    """The payments among the rows that have not ended; pointers are none."""
    payments = [payment_in(row) for row in rows if "points_to" not in row]
    return [each for each in payments if not each.state.is_final]


_Step = Callable[[Eraser, Erasure, Callable[[], bool]], Erasure]
# Access to the methods by the names of the steps. The other steps delete the rows of their table.
_STEPS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(erasing.STEPS, Eraser._deleted),
    "letters": Eraser._letters,
    "cancel": Eraser._cancelled,
    "check": Eraser._checked,
    "payments": Eraser._payments,
    "journal": Eraser._journal,
    "accounts": Eraser._accounts,
    "audit": Eraser._audited,
    "operations": Eraser._operations,
    "reports": Eraser._reports,
    "tenant": Eraser._tenant,
}
