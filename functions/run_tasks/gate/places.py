"""The rate of flow keys at the gate: each run begins at its place on the key's timeline.

A place on a timeline is taken once. The row keeps it, or this worker does if the place is so near that waiting is
cheaper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from functions.run_tasks.gate.answers import Answers, Claim, Waits
from postdate.domain import flow as rules
from postdate.domain import transitions
from postdate.domain.due import WAIT_MAX
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.stores.flow import Flow, Key

_MOMENT: Final = timedelta(microseconds=1)


@dataclass(kw_only=True, slots=True)
class Places:
    flow: Flow
    # The limits in force for a task; None without flow control.
    limits_of: Callable[[Task], FlowControl | None]
    # The places that this worker keeps, by the task and its version.
    _places: dict[tuple[str, int], datetime] = field(default_factory=dict, init=False)

    def on_time(self, claims: list[Claim], now: datetime) -> Answers:
        """Takes a place for each claim whose key has a rate. Yields an answer for each claim that may not begin now:
        Waits for a near place, a postponement for a later one, an expiry if no place is left before the task's end, and
        None if the timeline cannot be read (its call is sent again soon). A claim without an answer goes on."""
        wanting: dict[Key, list[tuple[int, Transition, timedelta]]] = {}
        for index, claim in claims:
            task, flow = claim.before, self.limits_of(claim.before)
            if flow is None or flow.rate is None:
                continue
            place = self._places.get((task.id, task.version))
            if place is not None and now < place:
                yield index, Waits(until=place)
                continue
            # Its row or this worker keeps a place that still counts: no run takes two.
            if self._has_place(task, now):
                continue
            wanting.setdefault((task.tenant, flow.key), []).append((index, claim, flow.interval))
        # One write takes the places of all runs of a key.
        for key, some in wanting.items():
            try:
                taken = self._take_places(key, [(claim.before, width) for _, claim, width in some], now)
            except Unavailable:
                # The table does not answer, so whether they may begin is unknown.
                yield from ((index, None) for index, _, _ in some)
                continue
            for (index, claim, _), at in zip(some, taken, strict=True):
                if at is None:
                    # `ends_at` is too late for a start, so the postponement becomes an expiry.
                    until, why = claim.before.ends_at, "its key has no place sooner"
                    yield index, transitions.postpone(claim, now=now, until=until, why=why)
                # So near that this worker waits: the row stays as it is, and no other call is needed.
                elif now < at <= now + WAIT_MAX and claim.before.recurs is None:
                    self._places[claim.before.id, claim.before.version] = at
                    yield index, Waits(until=at)
                elif now < at:
                    why = "its key has a place then"
                    yield index, transitions.postpone(claim, now=now, until=at, why=why, placed=True)

    def _take_places(
        self, key: Key, wanting: Sequence[tuple[Task, timedelta]], now: datetime
    ) -> list[datetime | None]:
        """The places of these tasks, None for a task whose end would come first. All are taken at once, or one by one
        if one of them would be of no use: a place that lies too far ahead would keep the key from later tasks."""
        widths = [width for _, width in wanting]
        before = accumulate(widths, initial=timedelta(0))
        latest = min(task.ends_at - ahead for (task, _), ahead in zip(wanting, before, strict=False))
        begin = self.flow.take_by(
            *key, sum(widths, timedelta(0)), now=now, latest=latest - _MOMENT, count=len(widths)
        )
        if begin is not None:
            return list(rules.places(begin, widths))
        found: list[datetime | None] = []
        for task, width in wanting if len(wanting) > 1 else ():
            begin = self.flow.take_by(*key, width, now=now, latest=task.ends_at - _MOMENT)
            found += rules.places(begin, [width]) if begin else [None]
        return found or [None]

    def _has_place(self, task: Task, now: datetime) -> bool:
        place = self._places.get((task.id, task.version))
        if place is not None:
            return now <= place + rules.PLACE_KEPT
        return task.state.waits and rules.still_counts(task.placed_at, task.due_at, now)
