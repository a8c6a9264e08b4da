"""The rooms of keys, as a receiver's word changes them.

What cannot be told is no error for whoever said it: a run that is not told to be out is out when its lease is over,
and one that is not told to stay may have another beside it until then.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from postdate.domain import flow as rules
from postdate.domain.errors import Unavailable
from postdate.domain.task import State, Task
from postdate.stores.flow import Flow


@dataclass(frozen=True, kw_only=True, slots=True)
class Rooms:
    flow: Flow

    def stay(self, run: Task, until: datetime) -> None:
        if run.flow is not None and run.flow.parallelism is not None:
            with suppress(Unavailable):
                self.flow.stay(run.tenant, run.flow.key, [run.name_in_room], until)

    def leave(self, run: Task) -> None:
        """How long it was in sets the pace at which others ask again; one that has left before is not counted twice."""
        if run.flow is None or run.flow.parallelism is None:
            return
        with suppress(Unavailable):
            room = self.flow.room(run.tenant, run.flow.key)
            if run.name_in_room in room.runs:
                stay = rules.stayed(room.stay, run.history[-1].at - _claimed_at(run))
                self.flow.leave(run.tenant, run.flow.key, [run.name_in_room], stay=stay)


def _claimed_at(run: Task) -> datetime:
    """When its newest attempt began: that is the one before the line that says how it ended."""
    *before, last = run.history
    own = takewhile(lambda line: line.to is State.RUNNING and line.attempt == run.attempts, reversed(before))
    return min((line.at for line in own), default=last.at)
