"""Faults, put upon a running stack from outside as its timeline says."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import Any, Final

from cli.chaos.timeline import EVERY, RESUME, Fault
from cli.local.own import FUNCTION
from cli.local.place import Place
from cli.local.processes import Process
from postdate.domain.due import Due, Packet, Via
from postdate.runtime.queue import text_of

# A worker that is still starting cannot be hit at work, and the engine may not yet know what to make of its end.
AWAKE_SECONDS: Final = 5
_ALL_OF_THEM: Final = 0.4
_HITS_WORK_WITHIN_SECONDS: Final = 2
_TICKS: Final = (2, 10)


@dataclass(kw_only=True, slots=True)
class Faults:
    """`at_work` says whether a function has something in hand just now; `near` are the calls of what is due about now,
    by queue. `done` counts what was done, by kind."""

    place: Place
    engine: Process
    sqs: Any
    functions: Any
    queues: Mapping[str, str]
    draws: Random
    tenant: str
    at_work: Callable[[str], bool]
    near: Callable[[str], list[Due]]
    done: Counter[str] = field(default_factory=Counter)
    _first_seen: dict[int, float] = field(default_factory=dict)

    def work(self, faults: Iterable[Fault], over: Event) -> None:
        """Until all have come or it is over; the sweep is not left stopped."""
        began = time.monotonic()
        try:
            for fault in faults:
                self._note_workers()
                if over.wait(max(0.0, began + fault.at - time.monotonic())):
                    return
                self._bring(fault.what)
        finally:
            self._let_sweep(True)

    def _bring(self, what: str) -> None:
        verb, _, object = what.partition(" ")
        match verb:
            case "kill":
                self._kill(object)
            case "duplicate":
                self._duplicate(object)
            case "double":
                self._double_the_sweep()
            case _:
                self._let_sweep(what == RESUME)
                self.done[what] += what in EVERY

    def _kill(self, function: str) -> None:
        """All of its processes that are awake, or one or two, if possible while it has something in hand."""
        deadline = time.monotonic() + _HITS_WORK_WITHIN_SECONDS
        while not self.at_work(function) and time.monotonic() < deadline:
            time.sleep(0.001)
        awake = [pid for pid in self._workers(function) if self._is_awake(pid)]
        most = len(awake) if self.draws.random() < _ALL_OF_THEM else self.draws.randint(1, 2)
        for pid in self.draws.sample(awake, min(len(awake), most)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.done[f"kill {function}"] += 1

    def _duplicate(self, queue: str) -> None:
        """The call once more as its sender would have sent it: now, or when it is over."""
        known = self.near(queue)
        for due in self.draws.sample(known, min(2, len(known))):
            packet = Packet(tenant=self.tenant, via=Via.SWEEP, dues=(due,))
            self.sqs.send_message(
                QueueUrl=self.queues[queue],
                MessageBody=text_of(packet),
                MessageGroupId=self.tenant,
                DelaySeconds=self.draws.choice((0, 0, 2, 8)),
            )
            self.done[f"duplicate {queue}"] += 1

    def _double_the_sweep(self) -> None:
        """Two to ten at once, and a heartbeat that has had its turn."""
        bodies = [{"kind": "tick"}] * self.draws.randint(*_TICKS) + [{"kind": "heartbeat", "number": 0}]
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.queues["ticks"], MessageBody=json.dumps(body))
        self.done["double the sweep"] += len(bodies)

    def _let_sweep(self, enabled: bool) -> None:
        name = FUNCTION.format("sweep")
        for mapping in self.functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
            self.functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    def _workers(self, function: str) -> list[int]:
        folder = f"{self.place.temporary}/ministack-lambda-{FUNCTION.format(function)}-"
        return sorted(self.engine.group(marked=folder))

    def _note_workers(self) -> None:
        now = time.monotonic()
        for pid in self.engine.group(marked=f"{self.place.temporary}/ministack-lambda-"):
            self._first_seen.setdefault(pid, now)

    def _is_awake(self, pid: int) -> bool:
        return time.monotonic() - self._first_seen.get(pid, time.monotonic()) > AWAKE_SECONDS
