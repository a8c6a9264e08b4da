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

from chaos.timeline import EVERY, RESUME, Fault
from chaos.workers import Workers
from cli.local.own import FUNCTION
from postdate.domain.due import Due, Packet, Via
from postdate.runtime.queue import text_of

# Each costs the machine a second of work to start anew, and the engine starts two at a time: callers wait for that.
_ALL_OF_THEM: Final = 0.1
_HITS_WORK_WITHIN_SECONDS: Final = 3
_TICKS: Final = (2, 10)


@dataclass(kw_only=True, slots=True)
class Faults:
    """`at_work` says whether a function has something in hand just now; `near` are the calls of what is due about now,
    by queue. `done` counts what was done, by kind."""

    workers: Workers
    sqs: Any
    functions: Any
    queues: Mapping[str, str]
    draws: Random
    tenant: str
    at_work: Callable[[str], bool]
    near: Callable[[str], list[Due]]
    done: Counter[str] = field(default_factory=Counter)

    def work(self, faults: Iterable[Fault], over: Event) -> None:
        """Makes the faults until all have come or the time is over. Never leaves the sweep stopped."""
        began = time.monotonic()
        try:
            for fault in faults:
                self.workers.look()
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
        """Kills the one or two processes of a function that worked last, if possible with work in hand; at first and
        seldom all. Of `run-tasks` always all, for nobody can tell which of them a receiver keeps waiting."""
        deadline = time.monotonic() + _HITS_WORK_WITHIN_SECONDS
        while not self.at_work(function) and time.monotonic() < deadline:
            time.sleep(0.001)
        awake = self.workers.awake(function)
        first = not self.done[f"kill {function}"]
        every = self.draws.random() < _ALL_OF_THEM or first or function == "run-tasks"
        most = len(awake) if every else self.draws.randint(1, 2)
        for pid in awake[:most]:
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
