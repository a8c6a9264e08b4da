"""Carries out an operation, in slices that fit its rate. The machine waits between the slices of a slow one: a function
that sleeps holds concurrency that other tenants' operations need.

A slice acts first and records afterwards. If the worker dies in between, the next one acts on the same items again,
which changes nothing (see `actors`).
"""

from datetime import timedelta
from math import ceil
from typing import Final

from functions.operate import actors
from functions.operate.actors import ItemActor
from functions.operate.task_actor import LETTERS_MAX
from postdate.domain import operation as rules
from postdate.domain import operation_counts, operation_pages
from postdate.domain import operation_moves as moves
from postdate.domain.errors import Unavailable
from postdate.domain.operation import Operation, State
from postdate.domain.operation_moves import ACTIVE
from postdate.domain.operation_pages import Entry, Outcome, Page
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.operations import Operations

SLICE_MAX: Final = operation_pages.PAGE_ITEMS
# One slice's length, as long as its items fit a slice.
_SLICE: Final = timedelta(milliseconds=200)
# An operation of this rate or less acts on the items of a second at once: that is the machine's shortest wait.
_SLOW: Final = SLICE_MAX
# Ends are looked at this often.
_LOOK: Final = timedelta(seconds=1)
_WAIT_MAX_SECONDS: Final = 30
_PAGES_AT_ONCE: Final = 40
# Items in one look. When more are open, the looks take turns among them.
_LOOKED_AT_MAX: Final = 500


class Overtaken(Exception):
    """Another execution, or a person, changed the operation."""


def written(operations: Operations, after: Operation) -> Operation:
    """Writes an operation over the version before. Raises Overtaken."""
    if not operations.change(after):
        raise Overtaken
    return after


def pages_of(operations: Operations, operation: Operation) -> dict[int, Page]:
    """All pages by their numbers: 400 rows of 1 KB at most."""
    found: dict[int, Page] = {}
    for first in range(0, operation.pages, _PAGES_AT_ONCE):
        read = operations.pages(operation, first=first, limit=_PAGES_AT_ONCE)
        found |= {page.number: page for page in read}
    return found


class Work:
    """One invocation's part of one operation."""

    def __init__(
        self,
        operations: Operations,
        operation: Operation,
        actor: ItemActor,
        *,
        clock: Clock,
        works_for: timedelta,
        rate: int,
    ) -> None:
        self._operations = operations
        self._operation = operation
        self._actor = actor
        self._clock = clock
        self._works_for = works_for
        self._rate = rate
        self._pages = pages_of(operations, operation)
        self._looked = 0
        self._sent = 0
        self._looked_at = self._clock.now() - _LOOK

    def work(self) -> int | None:
        until = self._clock.now() + self._works_for
        if operation_counts.counted(self._pages.values()) != self._operation.counts:
            # A worker died after it recorded items, before it counted them.
            self._progress()
        while True:
            now = self._clock.now()
            if now >= until:
                return 0
            if now - self._looked_at >= _LOOK:
                self._look()
                if self._operation.state not in ACTIVE:
                    return None
            if self._waits_for_canary():
                return self._judge_canary()
            page, entries = self._next()
            if page is None:
                return self._finish_or_wait()
            begins_at = self._operation.next_at or now
            if begins_at > until or (begins_at > now and self._has_sent_its_second):
                return ceil((begins_at - now).total_seconds())
            if begins_at > now and not self._is_slow:
                self._clock.sleep_until(min(begins_at, now + _LOOK))
                continue
            self._act(page, entries)

    def _next(self) -> tuple[Page | None, list[Entry]]:
        """The next items to act on, and their page; no page if none waits."""
        request = self._operation.request
        at_once = (
            self._rate - self._sent % self._rate
            if self._is_slow
            else min(SLICE_MAX, round(self._rate * _SLICE.total_seconds()))
        )
        if request.canary is not None and not self._operation.canary_passed:
            at_once = min(at_once, request.canary - len(self._since))
        for number in range(self._operation.next_page, self._operation.pages):
            if waiting := self._pages[number].waiting:
                return self._pages[number], list(waiting[:at_once])
        return None, []

    @property
    def _is_slow(self) -> bool:
        return self._rate <= _SLOW

    @property
    def _has_sent_its_second(self) -> bool:
        """True if a slow operation has sent a whole second's items: no slice is open that the end of a page has cut
        in two."""
        return self._is_slow and self._sent % self._rate == 0

    @property
    def _since(self) -> list[Entry]:
        """The items acted on since the newest start."""
        began_at = self._operation.began_at
        entries = [entry for page in self._pages.values() for entry in page.entries]
        return [each for each in entries if each.at is not None and (began_at is None or each.at >= began_at)]

    def _act(self, page: Page, entries: list[Entry]) -> None:
        now = self._clock.now()
        acted = actors.acted(self._actor, self._operation, entries, now=now)
        self._record(page.changed(acted))
        self._sent += len(entries)
        pace = timedelta(seconds=len(entries) / self._rate)
        # A pause that is made up for is at most a slice long: a late operation does not burst.
        begun_at = max(self._operation.next_at or now, now - _SLICE)
        next_page = next((each.number for each in self._pages.values() if each.waiting), len(self._pages))
        self._progress(next_at=begun_at + pace, next_page=next_page)

    def _record(self, page: Page) -> None:
        if not self._operations.change_page(page):
            raise Overtaken
        self._pages[page.number] = page

    def _progress(self, **changes: object) -> None:
        counts = operation_counts.counted(self._pages.values())
        after = moves.progressed(self._operation, now=self._clock.now(), counts=counts, **changes)
        self._operation = written(self._operations, after)

    def _look(self) -> None:
        """Records the ends that are known by now, and stops the operation if too many of them failed."""
        open = [(page, entry) for page in self._pages.values() for entry in page.open]
        # With many open items each look takes the next part of them.
        first = self._looked % len(open) if len(open) > _LOOKED_AT_MAX else 0
        open = open[first : first + _LOOKED_AT_MAX]
        self._looked += len(open)
        ended = (
            {
                each.id: each
                for each in actors.ended(self._actor, self._operation, [entry for _, entry in open])
            }
            if open
            else {}
        )
        # One write for each page with news.
        for page in {page.number: page for page, entry in open if entry.id in ended}.values():
            self._record(page.changed(ended[each.id] for each in page.open if each.id in ended))
        if ended:
            self._progress()
        now = self._clock.now()
        self._looked_at = now
        rule = self._operation.request.stop_when
        if rule is not None and operation_counts.too_many_failed(rule, self._since, now=now):
            self._stop(f"{rule.failed_share:.0%} of the newest attempts failed")

    def _waits_for_canary(self) -> bool:
        request = self._operation.request
        return (
            request.canary is not None
            and not self._operation.canary_passed
            and len(self._since) >= request.canary
        )

    def _judge_canary(self) -> int | None:
        """Goes on when each of the first items has ended well, and stops at the first that has not."""
        outcomes = {each.outcome for each in self._since}
        if Outcome.FAILED in outcomes:
            self._stop("an item of the canary failed")
            return None
        if Outcome.SENT not in outcomes:
            self._operation = written(self._operations, moves.went_on(self._operation, now=self._clock.now()))
            return 0
        if self._operation.state is State.RUNNING:
            self._operation = written(self._operations, moves.paused(self._operation, now=self._clock.now()))
        return self._pause_seconds()

    def _finish_or_wait(self) -> int | None:
        """Waits a while for the last ends, then records the end. The report tells how many items are still open."""
        open = [entry.at for page in self._pages.values() for entry in page.open if entry.at is not None]
        if open and self._clock.now() < max(open) + rules.WATCHED_FOR:
            return self._pause_seconds()
        self._tidy()
        # Letters may have taken seconds. The report tells the ends that are known after them.
        self._look()
        if self._operation.state not in ACTIVE:
            return None
        written(self._operations, moves.done(self._operation, now=self._clock.now()))
        return None

    def _tidy(self) -> None:
        """The letters of items that went on are of no use. One that stays does no harm, and the list of letters deletes
        it when it meets it: so nothing waits for this."""
        try:
            gone = self._actor.tidied(LETTERS_MAX)
        except Unavailable:
            return
        told = {"action": "letters_tidied", "operation": self._operation.id, "letters": gone}
        logger.info("letters that are used up were deleted", extra=told)

    def _pause_seconds(self) -> int:
        """The seconds until the next look: half of the time since an item was acted on or ended, within bounds."""
        since = max(
            entry.at for page in self._pages.values() for entry in page.entries if entry.at is not None
        )
        return max(1, min(_WAIT_MAX_SECONDS, round((self._clock.now() - since).total_seconds() / 2)))

    def _stop(self, why: str) -> None:
        self._operation = written(
            self._operations, moves.stopped(self._operation, now=self._clock.now(), why=why)
        )
