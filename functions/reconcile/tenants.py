"""Reconciles one tenant at a time: every active plan has its next run, and every dead task has its letter."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from functions.reconcile.papers import Papers
from postdate.domain import instants
from postdate.domain.definition import Definition, State, is_definition
from postdate.domain.operation import Action, Kind
from postdate.domain.operation_pages import Outcome
from postdate.domain.reconciling import BEGIN_CHAIN, DEAD_HAS_LETTER, NEXT_RUN_EXISTS, Finding
from postdate.domain.recurrence import Runs
from postdate.domain.task import State as TaskState
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.stores.definitions import Definitions
from postdate.stores.operations import Operations
from postdate.stores.places import id_at
from postdate.stores.tasks import Listing, Tasks, TasksWanted

# Younger changes may not be in an index yet, or a letter is on its way.
YOUNG: Final = timedelta(minutes=10)
# SQS drops a letter after 14 days; its task stays.
LETTERS_KEPT: Final = timedelta(days=13)
# A worker that is late has not written the run after the one that it has not begun.
_NEWEST_RUNS: Final = 20
_PAGE: Final = 100
_OPERATIONS: Final = 100
_PAGES_OF_AN_OPERATION: Final = 20
_SETTLES: Final = timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspector:
    tasks: Tasks
    definitions: Definitions
    operations: Operations
    runs: Runs
    clock: Clock

    def inspect(self, tenant: str, papers: Papers) -> tuple[list[Finding], dict[str, Any]]:
        """The findings about one tenant, and counts of what was looked at."""
        plans, without = self._plans(tenant)
        dead, lost = self._dead(tenant, papers.letters())
        return [*without, *lost], {"plans": plans, "dead": dead}

    def _plans(self, tenant: str) -> tuple[int, list[Finding]]:
        count, without = 0, list[Definition]()
        for ids in _batches(self._listed(tenant), _PAGE):
            found = [each for each in self.definitions.get_many(ids).values() if each.state is State.ACTIVE]
            count += len(found)
            without += self._without_next(found)
        if without:
            # A second look sees what is written at this moment.
            self.clock.sleep_until(self.clock.now() + _SETTLES)
            again = self.definitions.get_many(each.id for each in without)
            still = [each for each in without if again.get(each.id) == each]
            without = self._without_next(still)
        return count, [
            Finding(
                check=NEXT_RUN_EXISTS,
                tenant=tenant,
                subject=each.id,
                observed=None,
                expected="a run to come",
                repair=BEGIN_CHAIN,
            )
            for each in without
        ]

    def _listed(self, tenant: str) -> Iterator[str]:
        """The recurring tasks: their places begin with the first of all instants."""
        wanted = [TasksWanted(tenant=tenant, until=instants.EPOCH + timedelta(milliseconds=1))]
        after = ""
        while places := self.tasks.listed(wanted, after=after, limit=_PAGE):
            yield from (id for place in places if is_definition(id := id_at(place)))
            after = places[-1]

    def _without_next(self, definitions: Iterable[Definition]) -> list[Definition]:
        now = self.clock.now()
        expected: dict[str, Definition] = {}
        for each in definitions:
            occurrence = each.schedule.next(now, runs=each.runs_before)
            if occurrence is not None and each.changed_at < now - YOUNG:
                expected[self.runs.id(each, occurrence)] = each
        written = self.tasks.get_many(expected)
        return [
            each
            for id, each in expected.items()
            if id not in written and id not in written.unreadable and not self._goes_on(each, now)
        ]

    def _goes_on(self, definition: Definition, now: datetime) -> bool:
        """True if a run of the chain is still to begin, or if the newest run was the last one allowed."""
        ids = self.tasks.runs_back(definition.tenant, definition.id, before="", limit=_NEWEST_RUNS)
        chain = [
            (run, run.recurs)
            for run in self.tasks.get_many(ids).values()
            if run.recurs is not None and run.recurs.number > 0 and run.recurs.plan == definition.plan
        ]
        most = definition.schedule.max_runs
        return any(
            run.state is TaskState.PENDING
            or run.history[-1].at > now - YOUNG
            or (most is not None and recurs.number >= most)
            for run, recurs in chain
        )

    def _dead(self, tenant: str, letters: Mapping[str, Any] | None) -> tuple[int, list[Finding]]:
        """Counts the dead tasks of a tenant and finds those without a letter. If the list of letters is not whole,
        nothing can be said about a task without one."""
        if not letters or not letters["whole"]:
            return 0, []
        now = self.clock.now()
        known = {(id, version) for id, version in letters["tasks"]}
        wanted = [TasksWanted(tenant=tenant, listing=Listing.DEAD)]
        count, after, without = 0, "", list[Task]()
        while places := self.tasks.listed(wanted, after=after, limit=_PAGE):
            found = self.tasks.get_many(id_at(place) for place in places)
            dead = [each for each in found.values() if each.state is TaskState.DEAD]
            count += len(dead)
            without += [
                each
                for each in dead
                if (each.id, each.version) not in known
                # SQS deletes old letters, and the letter of a young death may still be on its way.
                and now - LETTERS_KEPT < each.history[-1].at < now - YOUNG
            ]
            after = places[-1]
        discarded = self._discarded(tenant) if without else set()
        return count, [
            Finding(
                check=DEAD_HAS_LETTER,
                tenant=tenant,
                subject=each.id,
                observed=None,
                expected=f"a letter of version {each.version}",
            )
            for each in without
            if each.id not in discarded
        ]

    def _discarded(self, tenant: str) -> set[str]:
        """Tasks whose letter a person has discarded: they stay dead, and need none."""
        found: set[str] = set()
        before = ""
        while ids := self.operations.listed(tenant, before=before, limit=_OPERATIONS):
            for id in ids:
                operation = self.operations.get(id)
                if operation is None or (operation.request.action, operation.request.kind) != (
                    Action.DISCARD,
                    Kind.TASKS,
                ):
                    continue
                for first in range(0, operation.pages, _PAGES_OF_AN_OPERATION):
                    pages = self.operations.pages(operation, first=first, limit=_PAGES_OF_AN_OPERATION)
                    found |= {
                        entry.id
                        for page in pages
                        for entry in page.entries
                        if entry.outcome in (Outcome.DONE, Outcome.MISSING)
                    }
            before = ids[-1]
        return found


def _batches(ids: Iterator[str], size: int) -> Iterator[list[str]]:
    while some := list(islice(ids, size)):
        yield some
