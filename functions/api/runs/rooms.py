"""The rooms of keys, as a receiver's word changes them.

If the table does not answer, no error is raised. A run that could not be taken out leaves the room when its lease ends.
If a stay could not be extended, another run may enter while this one is still active.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from postdate.domain import flow as rules
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.task import State, Task
from postdate.stores.flow import Flow


@dataclass(frozen=True, kw_only=True, slots=True)
class Rooms:
    flow: Flow

    def stay(self, run: Task, until: datetime) -> None:
        with suppress(Unavailable):
            if run.flow is not None and self._has_room(run, run.flow):
                self.flow.stay(run.tenant, run.flow.key, [run.name_in_room], until)

    def leave(self, run: Task) -> None:
        """Takes the run out of the room of its key. The length of its stay sets the pace at which waiting runs ask
        again. A run that has left before does not count twice."""
        with suppress(Unavailable):
            if run.flow is None or not self._has_room(run, run.flow):
                return
            room = self.flow.room(run.tenant, run.flow.key)
            # A run that has left before must not count twice in the average of stays.
            if run.name_in_room in room.runs:
                stay = rules.stayed(room.stay, run.history[-1].at - _claimed_at(run))
                self.flow.leave(run.tenant, run.flow.key, [run.name_in_room], stay=stay)

    def _has_room(self, run: Task, flow: FlowControl) -> bool:
        """True if the task, or the tenant's setting of the key, limits parallelism."""
        return flow.parallelism is not None or self.flow.key((run.tenant, flow.key)).parallelism is not None


def _claimed_at(run: Task) -> datetime:
    """The start of the newest attempt: the first of the RUNNING lines before the line of its end."""
    *before, last = run.history
    own = takewhile(lambda line: line.to is State.RUNNING and line.attempt == run.attempts, reversed(before))
    return min((line.at for line in own), default=last.at)
