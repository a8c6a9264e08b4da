"""The gate before a claim: a pause of the flow key, the breaker of the destination, the rate and the room of the key.

A run that may not begin yet is postponed: its row gets a later instant, it uses up no attempt and is called again then.
A run that finds a paused key, a full room or an open breaker asks again.
A task without flow control, to a destination whose breaker is closed, costs only a look at the worker's own copy.

Places, rooms and breakers are taken before the claim is written. A worker that dies in between leaves a place that
nobody uses, a run in a room until its lease is over, and a probe that another replaces after its time. So does a claim
whose write is refused: its run stays in the room until the lease is over.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta

from functions.run_tasks.circuits import Circuits
from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.gate.answers import Admitted, Step
from functions.run_tasks.gate.breakers import Breakers
from functions.run_tasks.gate.pauses import Pauses
from functions.run_tasks.gate.places import Places
from functions.run_tasks.gate.rooms import Rooms
from functions.run_tasks.stops import Stops
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow


class Gate:
    """Made anew for each batch; the circuits outlive it. `stops` are switches: they come before a decision is made."""

    def __init__(
        self,
        *,
        flow: Flow,
        circuits: Circuits,
        flow_keys: FlowKeys,
        stops: Stops,
        clock: Clock,
        lease: timedelta,
        moves_slow: bool,
    ) -> None:
        self.stops = stops
        self._clock = clock
        self._pauses = Pauses(flow_keys=flow_keys)
        limits_of = self._pauses.limits_of
        self._places = Places(flow=flow, limits_of=limits_of)
        self.rooms = Rooms(flow=flow, limits_of=limits_of, clock=clock, lease=lease)
        self.breakers = Breakers(circuits=circuits, moves_slow=moves_slow)

    def foresee(self, tasks: Collection[Task]) -> set[str]:
        """Looks at breakers and keys while there is still time until the instant. Returns the ids of the tasks whose
        calls go by the lane for slow destinations."""
        slow = self.breakers.foresee(tasks)
        if controlled := [task for task in tasks if task.flow is not None]:
            self._pauses.foresee(controlled)
        return slow

    def admit(self, claims: Sequence[Transition]) -> list[Admitted]:
        """Answers each of these changes with itself, with another change in its place, or with None when nobody can say
        now."""
        self.breakers.listen()
        answers: list[Admitted] = list(claims)
        starting = [(index, each) for index, each in enumerate(claims) if each.after.state is State.RUNNING]
        steps: tuple[Step, ...] = (self.breakers.past, self.breakers.as_probes)
        if any(claim.after.flow is not None for _, claim in starting):
            steps = (
                self._pauses.past,
                self.breakers.past,
                self._places.on_time,
                self.breakers.as_probes,
                # Last: two workers with the same call enter under one name, so neither may take it out again.
                self.rooms.with_room,
            )
        now = self._clock.now()
        for step in steps:
            for index, answer in step(starting, now):
                answers[index] = answer
            starting = [(index, claim) for index, claim in starting if answers[index] is claim]
        self.breakers.give_back(index for index, claim in enumerate(claims) if answers[index] is not claim)
        return answers
