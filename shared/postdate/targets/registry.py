"""The kinds of destinations: a new one is a module and a line here."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Final

from postdate.domain.task import Destination
from postdate.targets.base import Target
from postdate.targets.eventbridge import EVENTBRIDGE
from postdate.targets.kind import Parts, TargetKind
from postdate.targets.sns import SNS
from postdate.targets.sqs import SQS
from postdate.targets.webhook import WEBHOOK

KINDS: Final[Mapping[str, TargetKind]] = {kind.name: kind for kind in (WEBHOOK, SQS, SNS, EVENTBRIDGE)}


class Targets(Mapping[str, Target]):
    """The target of each kind, with threads and connections of its own, for as long as the process lives.

    A target that calls a service of AWS is built when it is first asked for, and so is its client: most workers need
    one or two of them. `inside` are targets of our own, which no owner of a task can name.
    """

    def __init__(self, parts: Parts, *, inside: Mapping[str, Target] | None = None) -> None:
        self._parts = parts
        self._inside = dict(inside or {})
        self._lock = Lock()
        self._built = {name: kind.make(parts) for name, kind in KINDS.items() if kind.service is None}

    def __getitem__(self, name: str) -> Target:
        if name in self._inside:
            return self._inside[name]
        with self._lock:
            if name not in self._built:
                self._built[name] = KINDS[name].make(self._parts)
            return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*KINDS, *self._inside))

    def __len__(self) -> int:
        return len(KINDS) + len(self._inside)


def circuit_of(destination: Destination) -> str:
    """The address that a destination's breaker is stored under. A kind that only a newer release knows uses its whole
    address."""
    kind = KINDS.get(destination.type)
    address = destination.address if kind is None else kind.circuit(destination.address)
    return f"{destination.type}:{address}"
