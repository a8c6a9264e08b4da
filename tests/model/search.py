"""All states that a small system can get into, breadth first: the first trace to what is wrong is a shortest one.

A system says what may happen next. A step that `must` happen will, if nothing else does: time passes, a worker goes on.
What need not happen are faults and the wishes of people. A state without a step that must happen is an end.
"""

import gc
from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class Step(NamedTuple):
    told: str
    after: Any
    must: bool = True


class System(Protocol):
    name: str

    def start(self) -> Any: ...

    def steps(self, state: Any) -> Iterator[Step]: ...

    def same(self, state: Any) -> Hashable:
        """Equal for states that differ in nothing but who is called the first and who the second."""

    def wrong_step(self, before: Any, after: Any) -> str | None:
        """The invariant that this step breaks."""

    def wrong_end(self, state: Any) -> str | None:
        """The invariant that is broken if nothing more has to happen."""

    def arrows(self, before: Any, after: Any) -> Sequence[tuple[str, str, str]]:
        """The changes of items in this step: of what kind, from which state, to which."""


@dataclass(kw_only=True, slots=True)
class Found:
    """Result of a search. With an invariant `broken`, the search ended there, and the trace leads to it."""

    name: str
    states: int = 0
    steps: int = 0
    ends: int = 0
    longest: int = 0
    arrows: set[tuple[str, str, str]] = field(default_factory=set)
    broken: str | None = None
    trace: list[tuple[str, Any]] = field(default_factory=list)


def broken(wrongs: Iterable[str | None], wanted: str) -> str | None:
    """The first that is wrong; of those that break the `wanted` invariant, if one is named."""
    return next((wrong for wrong in wrongs if wrong and _is_of(wrong, wanted)), None)


def _is_of(wrong: str, wanted: str) -> bool:
    return not wanted or wanted in wrong.partition(":")[0].split()


class _Tree:
    """Path to each state, and the edges between states by steps that must happen."""

    def __init__(self, start: Any) -> None:
        self.states = [start]
        self.told = [""]
        self.parents = array("l", [-1])
        self.depths = array("l", [0])
        self.sources, self.targets = array("l"), array("l")

    def add(self, state: Any, parent: int, told: str) -> int:
        self.states.append(state)
        self.told.append(told)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        return len(self.states) - 1

    def trace(self, place: int) -> list[tuple[str, Any]]:
        found = []
        while place >= 0:
            found.append((self.told[place], self.states[place]))
            place = self.parents[place]
        return found[::-1]


def search(system: System) -> Found:
    """Searches without garbage collection, because nothing is garbage before the end."""
    gc.disable()
    try:
        return _search(system)
    finally:
        gc.enable()


def _search(system: System) -> Found:
    found, tree = Found(name=system.name), _Tree(system.start())
    steps, wrong_step, arrows, same_as = system.steps, system.wrong_step, system.arrows, system.same
    known = {same_as(tree.states[0]): 0}
    ends = []
    for place, state in enumerate(tree.states):
        goes_on = False
        for step in steps(state):
            told, after, must = step
            goes_on |= must
            found.steps += 1
            wrong = wrong_step(state, after)
            if wrong:
                return _broken(found, tree, wrong, [*tree.trace(place), (told, after)])
            found.arrows.update(arrows(state, after))
            same = same_as(after)
            target = known.get(same)
            if target is None:
                target = known[same] = tree.add(after, place, told)
            if must:
                tree.sources.append(place)
                tree.targets.append(target)
        if not goes_on:
            ends.append(place)
            if wrong := system.wrong_end(state):
                return _broken(found, tree, wrong, tree.trace(place))
    found.ends = len(ends)
    stuck = _without_end(tree, ends)
    if stuck is not None:
        return _broken(found, tree, "I22: from here no end can be reached", tree.trace(stuck))
    return _counted(found, tree)


def _counted(found: Found, tree: _Tree) -> Found:
    found.states, found.longest = len(tree.states), max(tree.depths)
    return found


def _broken(found: Found, tree: _Tree, wrong: str, trace: list[tuple[str, Any]]) -> Found:
    found.broken, found.trace = wrong, trace
    return _counted(found, tree)


def _without_end(tree: _Tree, ends: Sequence[int]) -> int | None:
    """The first state from which what must happen leads to no end, whatever order it happens in."""
    before: list[list[int]] = [[] for _ in tree.states]
    for source, target in zip(tree.sources, tree.targets, strict=True):
        before[target].append(source)
    good, waiting = bytearray(len(tree.states)), list(ends)
    for end in ends:
        good[end] = 1
    while waiting:
        for source in before[waiting.pop()]:
            if not good[source]:
                good[source] = 1
                waiting.append(source)
    stuck = good.find(0)
    return None if stuck < 0 else stuck
