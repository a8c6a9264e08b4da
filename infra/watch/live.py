"""The states of all alarms of an environment over lines that its functions log, as time goes on."""

import math
from bisect import bisect_left
from typing import Final

from infra.environment import Environment
from infra.watch import emf
from infra.watch.alarm import Alarm, Composite, Missing
from infra.watch.evaluate import State, Watch, judged
from infra.watch.samples import Samples
from infra.watch.table import alarms, composites

# Samples are kept for so long; an alarm with a longer period sees this much of it. One that fires over missing data
# would always fire, so it never does here.
KEPT_SECONDS: Final = 3600
_MINUTE: Final = 60
# An alarm on missing data says nothing before there are so many minutes of data.
_HISTORY: Final = 6 * _MINUTE


class Live:
    """`since` tells when the state of an alarm became what it is."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.rows: tuple[Alarm | Composite, ...] = (*alarms(environment), *composites(environment))
        self.samples = Samples()
        self._watch = Watch(judged(alarms(environment), seconds=KEPT_SECONDS), composites(environment))
        self._watch.states = dict.fromkeys((each.name for each in self.rows), State.OK)
        self.since = dict.fromkeys(self._watch.states, 0.0)
        self._looked_at = 0
        missing = {each.name for each in alarms(environment) if each.missing is Missing.BREACHING}
        made = {each.name for each in composites(environment) if missing & set(each.parts)}
        self._on_missing_data = missing | made

    @property
    def states(self) -> dict[str, State]:
        return self._watch.states

    def add(self, line: str) -> None:
        emf.add(self.samples, line)

    def add_depth(self, queue: str, count: int, *, at: float) -> None:
        """The length of a queue, as SQS counts it each minute."""
        dimensions = (("QueueName", self._environment.named(queue)),)
        self.samples.add(
            "AWS/SQS", "ApproximateNumberOfMessagesVisible", dimensions, at=at, value=float(count)
        )

    def look(self, now: float) -> None:
        """Evaluates each minute since the last look. The current minute counts as if it were over."""
        found = [values[0][0] for values in self.samples.of.values() if values]
        if not found:
            return
        began = int(min(found)) // _MINUTE * _MINUTE + _HISTORY
        end = (int(now) // _MINUTE + 1) * _MINUTE
        for at in range(max(began, self._looked_at), end, _MINUTE):
            self._look(at, now=at)
        self._look(end, now=now, young=end < began)
        # The minute that runs is looked at once more when it is over.
        self._looked_at = end
        self._forget(now - KEPT_SECONDS)

    def _look(self, at: int, *, now: float, young: bool = False) -> None:
        """Evaluates the alarms at one minute and notes those that changed. On a young stack missing data fires no
        alarm."""
        before = dict(self._watch.states)
        self._watch.look(self.samples, at=at)
        if young:
            self._watch.states |= dict.fromkeys(self._on_missing_data, State.OK)
        for name, state in self._watch.states.items():
            if state is not before[name]:
                self.since[name] = now

    def _forget(self, before: float) -> None:
        for values in self.samples.of.values():
            del values[: bisect_left(values, (before, -math.inf))]
