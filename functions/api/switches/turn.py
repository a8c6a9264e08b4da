"""Turns a switch: one conditional write with its line of history, decided again if another change came first."""

from dataclasses import dataclass

from postdate.domain import switch as rules
from postdate.domain.errors import Conflict, NotFound
from postdate.domain.switch import Switch
from postdate.runtime.clock import Clock
from postdate.stores.switches import Switches
from postdate.targets.registry import KINDS

_TRIES = 5
_TARGETS = frozenset(KINDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turner:
    switches: Switches
    clock: Clock

    def find(self, name: str) -> Switch:
        """Raises NotFound for a name that no worker asks for."""
        if not rules.is_name(name, targets=_TARGETS):
            raise NotFound(f"there is no switch {name}")
        return self.switches.get(name)

    def turn(self, name: str, *, on: bool, by: str, why: str) -> Switch:
        """Turns a switch. A switch that is in this position already stays as it is. Workers follow within two
        seconds."""
        for _ in range(_TRIES):
            before = self.find(name)
            after = rules.turned(before, on=on, now=self.clock.now(), by=by, why=why)
            if after == before or self.switches.change(before, after):
                return after
        raise Conflict
