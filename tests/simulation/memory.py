"""Puts back all that a worker remembers, so that the next run finds the worker as it was made.

To make a worker anew for each run takes longer than a short run. A list of the attributes to clear would miss the next
cache that somebody adds, and then a run depends on the runs before it in its process.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, Final

# Objects of other packages stand for AWS here, such as botocore's clients, and keep nothing of a run.
_OURS: Final = ("functions.", "postdate.")
_CONTAINERS: Final = (dict, OrderedDict, list, set, deque)
_VALUES: Final = (str, bytes, int, float, type(None))


@dataclass(kw_only=True, slots=True)
class Memory:
    """Everything that can change in a worker, with its state when the worker was made."""

    _objects: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    _containers: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, worker: object) -> "Memory":
        made, seen, left = cls(), dict[int, Any](), [worker]
        while left:
            each = left.pop()
            if isinstance(each, _VALUES) or id(each) in seen:
                continue
            seen[id(each)] = each
            left += made._note(each)
        return made

    def restore(self) -> None:
        for each, attributes in self._objects:
            for name in [name for name, _ in _attributes(each) if name not in attributes]:
                object.__delattr__(each, name)
            for name, value in attributes.items():
                object.__setattr__(each, name, value)
        for each, content in self._containers:
            each.clear()
            each.extend(content) if isinstance(each, list | deque) else each.update(content)

    def _note(self, each: Any) -> list[Any]:
        """Keeps the state of the object and returns what it refers to."""
        if type(each) in _CONTAINERS:
            self._containers.append((each, each.copy()))
            return [*each, *each.values()] if isinstance(each, dict) else list(each)
        if isinstance(each, tuple | frozenset):
            return list(each)
        if isinstance(each, MethodType):
            return [each.__self__, each.__func__]
        if isinstance(each, FunctionType):
            return [*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values(), *_enclosed(each)]
        if isinstance(each, type) or not type(each).__module__.startswith(_OURS):
            return []
        attributes = dict(_attributes(each))
        self._objects.append((each, attributes))
        return list(attributes.values())


def _attributes(each: object) -> Iterator[tuple[str, Any]]:
    yield from list(getattr(each, "__dict__", {}).items())
    for kind in type(each).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(each, name):
                yield name, getattr(each, name)


def _enclosed(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
