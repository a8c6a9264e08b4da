"""Paused flow keys at the gate. Includes the limits of each key, which the later steps ask for."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.gate.answers import Answers, Claim
from postdate.domain import transitions
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.flow_key import FlowKey
from postdate.domain.task import Task
from postdate.stores.flow import Key

_PAUSED: Final = "its key is paused"


@dataclass(kw_only=True, slots=True)
class Pauses:
    # The worker's copy of the settings.
    flow_keys: FlowKeys
    # The settings of the keys of the claims at the gate.
    _set: dict[Key, FlowKey] = field(default_factory=dict, init=False)

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Looks at the keys while there is still time until the instant."""
        self.flow_keys.foresee((task.tenant, task.flow.key) for task in tasks if task.flow is not None)

    def past(self, claims: list[Claim], now: datetime) -> Answers:
        """Yields the answers for claims of paused keys, and for those of keys that cannot be read: none of them may
        begin."""
        wanting: dict[Key, list[Claim]] = {}
        for index, claim in claims:
            if claim.after.flow is not None:
                wanting.setdefault((claim.after.tenant, claim.after.flow.key), []).append((index, claim))
        if not wanting:
            return
        try:
            self._set = dict(self.flow_keys.known(wanting))
        except Unavailable:
            yield from ((index, None) for some in wanting.values() for index, _ in some)
            return
        for key, some in wanting.items():
            if self._set[key].paused_at is not None:
                yield from self._until_resumed(key, some, now)

    def limits_of(self, task: Task) -> FlowControl | None:
        """The flow control of the task: its own values, overridden by the tenant's setting of the key."""
        return None if task.flow is None else self._set[task.tenant, task.flow.key].over(task.flow)

    def _until_resumed(self, key: Key, claims: list[Claim], now: datetime) -> Answers:
        # A run whose last line is a pause was counted then.
        new = sum(claim.before.history[-1].why != _PAUSED for _, claim in claims)
        if new:
            self.flow_keys.add_waiting(key, new)
        turns = self.flow_keys.turns(key, self._set[key], len(claims))
        for (index, claim), until in zip(claims, turns, strict=True):
            yield index, transitions.postpone(claim, now=now, until=until, why=_PAUSED)
