"""Carries out an operation, in slices that fit its rate. The machine waits between the slices of a slow one: a function
that sleeps holds concurrency that other tenants' operations need.

A slice acts first and is recorded after: a worker that dies in between leaves items that wait, and the next one acts on
them again, which changes nothing (see `actors`). A record that another worker was faster with is refused, and the
slower worker ends: its number is no longer the operation's newest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final, Protocol

from functions.operate import actors
from functions.operate.actors import LETTERS_MAX, Actor, Actors
from postdate.domain import operation as rules
from postdate.domain.errors import NotFound, Unavailable
from postdate.domain.operation import ACTIVE, Entry, Operation, Outcome, Page, State
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.operations import Operations

SLICE_MAX: Final = rules.PAGE_ITEMS
# One slice's length, as long as its items fit a slice.
_SLICE: Final = timedelta(milliseconds=200)
# An operation of this rate or less acts on the items of a second at once: that is the machine's shortest wait.
_SLOW: Final = SLICE_MAX
# Ends are looked at this often.
_LOOK: Final = timedelta(seconds=1)
_WAIT_MAX_SECONDS: Final = 30
_AGAIN_SECONDS: Final = 1
_PAGES_AT_ONCE: Final = 40
# Items in one look. When more are open, the looks take turns among them.
_LOOKED_AT_MAX: Final = 500


class Overtaken(Exception):
    """Another execution, or a person, changed the operation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conductor:
    """`rate_max` bounds the items a second of each operation, also of one that runs."""

    operations: Operations
    actors: Actors
    clock: Clock
    works_for: timedelta
    rate_max: Callable[[], int] = lambda: rules.RATE_MAX

    def work(self, id: str, *, run: int) -> int | None:
        """Works for a few seconds. Answers after how many seconds to go on; None if this run has nothing left to do.

        Raises Unavailable when a table or the queue does not answer. An operation that has run for a day is stopped.
        """
        try:
            operation = self._taken(id, run)
            if operation is None:
                return self._after_overtaking(id, run)
            now = self.clock.now()
            if operation.began_at is not None and now >= operation.began_at + rules.RUNS_FOR:
                self.write(rules.stopped(operation, now=now, why="worked for a day: resume it"))
                return None
            return _Work(self, operation, self.actors[operation.plan.kind]).work()
        except Overtaken:
            return self._after_overtaking(id, run)

    def abort(self, id: str, *, run: int, why: str) -> None:
        self._end(rules.aborted, id, run, why)

    def stop(self, id: str, *, run: int, why: str) -> None:
        self._end(rules.stopped, id, run, why)

    def _end(self, end: "_Ends", id: str, run: int, why: str) -> None:
        try:
            if operation := self._taken(id, run):
                self.write(end(operation, now=self.clock.now(), why=why))
        except Overtaken:
            return

    def _after_overtaking(self, id: str, run: int) -> int | None:
        """Goes on if this run is still the newest: the API noted the start of this run, or a second invocation of it
        was faster. After a stop the items of the slice that was under way are counted, also if its worker died."""
        operation = self.operations.get(id)
        if operation is None:
            return None
        if operation.run == run and operation.state in ACTIVE:
            return _AGAIN_SECONDS
        if operation.state is State.STOPPED:
            counts = rules.counted(pages_of(self.operations, operation).values())
            if counts != operation.counts:
                # A refusal means that a person changed the operation again; the next run counts anew.
                self.operations.change(rules.recounted(operation, now=self.clock.now(), counts=counts))
        return None

    def write(self, after: Operation) -> Operation:
        if not self.operations.change(after):
            raise Overtaken
        return after

    def _taken(self, id: str, run: int) -> Operation | None:
        """The operation, if this run is its newest. The run that was just begun may have to say so itself."""
        operation = self.operations.get(id)
        if operation is None:
            raise NotFound(f"there is no operation {id}")
        if run == operation.run + 1 and operation.state in (State.PLANNED, State.STOPPED, *ACTIVE):
            return self.write(rules.started(operation, run=run, now=self.clock.now()))
        return operation if run == operation.run and operation.state in ACTIVE else None


def pages_of(operations: Operations, operation: Operation) -> dict[int, Page]:
    """All pages by their numbers: 400 rows of 1 KB at most."""
    found: dict[int, Page] = {}
    for first in range(0, operation.pages, _PAGES_AT_ONCE):
        read = operations.pages(operation, first=first, limit=_PAGES_AT_ONCE)
        found |= {page.number: page for page in read}
    return found


class _Ends(Protocol):
    def __call__(self, operation: Operation, *, now: datetime, why: str) -> Operation: ...


class _Work:
    """One invocation's part of one operation."""

    def __init__(self, conductor: Conductor, operation: Operation, actor: Actor) -> None:
        self._given = conductor
        self._clock = conductor.clock
        self._operation = operation
        self._actor = actor
        # One invocation lasts seconds, and keeps its rate.
        self._rate = min(operation.plan.max_per_second, conductor.rate_max())
        self._pages = pages_of(conductor.operations, operation)
        self._looked = 0
        self._sent = 0
        self._looked_at = self._clock.now() - _LOOK

    def work(self) -> int | None:
        until = self._clock.now() + self._given.works_for
        if rules.counted(self._pages.values()) != self._operation.counts:
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
                return self._wait_for_canary()
            page, entries = self._next()
            if page is None:
                return self._wait_for_ends()
            begins_at = self._operation.next_at or now
            if begins_at > until or (begins_at > now and self._has_sent_its_second):
                return ceil((begins_at - now).total_seconds())
            if begins_at > now and not self._is_slow:
                self._clock.sleep_until(min(begins_at, now + _LOOK))
                continue
            self._act(page, entries)

    def _next(self) -> tuple[Page | None, list[Entry]]:
        """The next items to act on, and their page; no page if none waits."""
        plan = self._operation.plan
        at_once = (
            self._rate - self._sent % self._rate
            if self._is_slow
            else min(SLICE_MAX, round(self._rate * _SLICE.total_seconds()))
        )
        if plan.canary is not None and not self._operation.canary_passed:
            at_once = min(at_once, plan.canary - len(self._since))
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
        if not self._given.operations.change_page(page):
            raise Overtaken
        self._pages[page.number] = page

    def _progress(self, **changes: object) -> None:
        counts = rules.counted(self._pages.values())
        after = rules.progressed(self._operation, now=self._clock.now(), counts=counts, **changes)
        self._operation = self._given.write(after)

    def _look(self) -> None:
        """Records the ends that are known by now, and stops the operation if too many of them failed."""
        open = [(page, entry) for page in self._pages.values() for entry in page.open]
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
        for page in {page.number: page for page, entry in open if entry.id in ended}.values():
            self._record(page.changed(ended[each.id] for each in page.open if each.id in ended))
        if ended:
            self._progress()
        now = self._clock.now()
        self._looked_at = now
        rule = self._operation.plan.stop_when
        if rule is not None and rules.too_many_failed(rule, self._since, now=now):
            self._stop(f"{rule.failed_share:.0%} of the newest attempts failed")

    def _waits_for_canary(self) -> bool:
        plan = self._operation.plan
        return (
            plan.canary is not None and not self._operation.canary_passed and len(self._since) >= plan.canary
        )

    def _wait_for_canary(self) -> int | None:
        """Goes on when each of the first items has ended well, and stops at the first that has not."""
        outcomes = {each.outcome for each in self._since}
        if Outcome.FAILED in outcomes:
            self._stop("an item of the canary failed")
            return None
        if Outcome.SENT not in outcomes:
            self._operation = self._given.write(rules.went_on(self._operation, now=self._clock.now()))
            return 0
        if self._operation.state is State.RUNNING:
            self._operation = self._given.write(rules.paused(self._operation, now=self._clock.now()))
        return self._pause_seconds()

    def _wait_for_ends(self) -> int | None:
        """The ends of the last attempts, for a while; then the report tells how many are still open."""
        now = self._clock.now()
        open = [entry.at for page in self._pages.values() for entry in page.open if entry.at is not None]
        if open and now < max(open) + rules.WATCHED_FOR:
            return self._pause_seconds()
        self._tidy()
        self._given.write(rules.done(self._operation, now=now))
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
        self._operation = self._given.write(rules.stopped(self._operation, now=self._clock.now(), why=why))
