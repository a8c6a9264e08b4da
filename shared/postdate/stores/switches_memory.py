"""Switches in memory, for tests."""

from collections.abc import Iterable, Mapping

from postdate.domain.errors import Unavailable
from postdate.domain.switch import Switch


class MemorySwitches:
    """The twin in memory, for unit tests. `reads` counts the questions; with `unreadable` they raise Unavailable."""

    def __init__(self) -> None:
        self._switches: dict[str, Switch] = {}
        self.reads = 0
        self.unreadable = False

    def get(self, name: str) -> Switch:
        return self._switches.get(name, Switch(name=name))

    def states(self, names: Iterable[str]) -> Mapping[str, Switch]:
        self.reads += 1
        if self.unreadable:
            raise Unavailable
        return {name: self.get(name) for name in names}

    def all(self) -> list[Switch]:
        return [self._switches[name] for name in sorted(self._switches)]

    def change(self, before: Switch, after: Switch) -> bool:
        if self.get(after.name).version != before.version:
            return False
        self._switches[after.name] = after
        return True
