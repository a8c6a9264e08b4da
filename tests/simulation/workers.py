"""Functions as AWS runs them: woken by their queue, killed when their time is up, and their messages coming back."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from postdate.runtime.queue import Received
from postdate.targets.base import Delivery
from tests.simulation import operating, quotas, switched
from tests.simulation.asking import SECONDS, Asking, Beside
from tests.simulation.destination import Destination
from tests.simulation.engine import RECEIVES, Engine
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.inside import HANDLERS, INSIDE
from tests.simulation.mix import MINUTE, Mix
from tests.simulation.poison import calls_in
from tests.simulation.rows import waits_for_a_person
from tests.simulation.seen import Seen

_LOST: Final = 0.15


@dataclass(kw_only=True, slots=True)
class Context:
    """The part of Lambda's context that the handlers read."""

    hub: Hub
    until: int
    aws_request_id: str
    function_name: str = "postdate-simulation"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:postdate-simulation"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, (self.until - self.hub.now) // 1000)


@dataclass(kw_only=True, slots=True, eq=False)
class Functions:
    """All copies of all functions of one run."""

    hub: Hub
    engine: Engine
    seen: Seen
    mix: Callable[[], Mix]
    shards: int
    acknowledge: Callable[[Delivery], None]
    registers: Callable[[Delivery], None]
    skews: dict[str, int] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _copies: dict[str, int] = field(default_factory=dict)
    _pollers: dict[str, list[Actor]] = field(default_factory=dict)
    _fatal: dict[str, bool] = field(default_factory=dict)
    _echoes: dict[str, list[tuple[int, list[dict[str, Any]]]]] = field(default_factory=dict)
    _left_to_lose: int = field(init=False)

    def __post_init__(self) -> None:
        self._left_to_lose = self.mix().lost

    def copy(self, kind: str) -> tuple[str, Any]:
        """One more worker of this kind: its name, and what it keeps from event to event."""
        number = self._copies.get(kind, 0)
        self._copies[kind] = number + 1
        wired = INSIDE.wired(kind, number, self.shards)
        switched.arrange(wired, real=self.mix().switched)
        quotas.arrange_copy(wired, self.mix())
        operating.arrange(wired, self.mix())
        return f"{kind}-{number}", wired

    def poll(self, kind: str, queue: str) -> Actor:
        name, wired = self.copy(kind)
        actor = Actor(name=name, hub=self.hub, wired=wired, queue=queue)
        if kind == "run_tasks":
            target = Destination(
                hub=self.hub,
                seen=self.seen,
                mix=self.mix,
                living=lambda: self._living(actor),
                worker=name,
                acknowledge=self.acknowledge,
                registers=self.registers,
            )
            backfills = replace(wired.targets["backfill"], pool=Beside(functions=self, worker=actor))
            wired.targets = {"sqs": target, "webhook": target, "backfill": backfills}
            lane = wired.slow_lane if queue == "slow" else wired.tasks_lane
            lane.further = Asking(functions=self, worker=actor, further=lane.further)
        self._pollers.setdefault(queue, [])
        return self.hub.spawn(actor, lambda: self._polling(actor, kind, queue))

    def invoke(self, actor: Actor, kind: str, event: dict[str, Any], dies_after: int | None = None) -> Any:
        """Raises Crash when the function dies, at the latest after so many calls to AWS, or its time is up."""
        request = f"{next(self._numbers):08x}-0000-0000-0000-000000000000"
        until = self.hub.now + SECONDS[kind] * SECOND
        actor.request, actor.calls, actor.sticky = request[:13], 0, None
        actor.rowless, actor.faults = False, 0
        actor.spent.clear()
        actor.invoked_at = self.hub.now
        actor.dies_after = dies_after
        newer = self.mix().newer
        actor.is_newer = newer > 0 and self.hub.draws.random() < newer

        def end() -> None:
            if actor.request == request[:13] and not actor.done:
                self.hub.note(f"{actor.name}: its time is up")
                self.seen.reach["time is up"] += 1
                self.hub.kill(actor)

        self.hub.at(until, end)
        try:
            return HANDLERS[kind](event, Context(hub=self.hub, until=until, aws_request_id=request))
        finally:
            name = f"calls of one event of {kind}, at most"
            self.seen.reach[name] = max(self.seen.reach[name], actor.calls)
            actor.request = ""

    def given(self, actor: Actor, messages: list[Received]) -> None:
        """Beside those of its event."""
        calls = {(due.id, due.version) for message in messages for due in message.packet.dues}
        actor.calls_given |= calls
        self.seen.reach["messages taken while kept"] += len(messages)
        self.seen.had_last |= {
            due.id
            for message in messages
            if message.receives == RECEIVES["tasks"]
            for due in message.packet.dues
        }

    def next_visible(self) -> int | None:
        """Wakes an actor that waits for a message, if one is there. Returns the instant of the next one otherwise."""
        soonest = None
        for queue, waiting in self._pollers.items():
            if not waiting:
                continue
            instants = [int(message["visible_at"] * SECOND) + 1 for message in self.engine.messages(queue)]
            instants += [at for at, _ in self._echoes.get(queue, ())]
            if not instants:
                continue
            first = min(instants)
            if first <= self.hub.now:
                place = self.hub.draws.randrange(len(waiting))
                self.hub.wake(waiting.pop(place))
            elif soonest is None or first < soonest:
                soonest = first
        return soonest

    def _polling(self, actor: Actor, kind: str, queue: str) -> None:
        while True:
            self._pollers[queue].append(actor)
            self.hub.park(None)
            if not (records := self._received(queue)):
                continue
            self.hub.note(f"{kind} given {len(records)} of {queue} {_told(records)}")
            actor.calls_given = _calls(records)
            self.seen.calls.update(id for id, _ in actor.calls_given)
            try:
                answer = self.invoke(actor, kind, {"Records": records}, self._dies_after(queue, records))
            except Crash:
                self.hub.note("died")
                self.seen.reach[f"{kind} died"] += 1
                actor.sticky = None
                self.hub.park(int(self.hub.draws.uniform(0, 2) * SECOND))
                continue
            failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
            self.hub.note(f"{kind} done, {len(failed)} failed")
            self.hub.park()
            for record in records:
                if record["messageId"] in failed:
                    self.seen.reach["message failed"] += 1
                elif self.hub.draws.random() < self.mix().deletes_lost:
                    self.seen.reach["delete lost"] += 1
                else:
                    self.engine.delete(queue, record["receiptHandle"])

    def _dies_after(self, queue: str, records: list[dict[str, Any]]) -> int | None:
        """A fatal message is fatal for every worker that has it. Brought back by a person it is another message."""
        draws, share = self.hub.draws, self.mix().fatal
        for record in records if share and queue != "ticks" else ():
            self._fatal.setdefault(record["messageId"], draws.random() < share)
        if not any(self._fatal.get(record["messageId"]) for record in records):
            return self._killed_after(queue, records)
        self.seen.reach["message fatal"] += 1
        return draws.randrange(3)

    def _killed_after(self, queue: str, records: list[dict[str, Any]]) -> int | None:
        """The worker is lost after it hid its messages: while it reads, while it waits, or over a transaction."""
        share = self.mix().killed if queue == "payments" else 0.0
        first = all(record["attributes"]["ApproximateReceiveCount"] == "1" for record in records)
        if not share or not first or self.hub.draws.random() >= share:
            return None
        self.seen.reach["payments lose their worker"] += 1
        return self.hub.draws.randrange(1, 5)

    def _received(self, queue: str) -> list[dict[str, Any]]:
        mix, draws = self.mix(), self.hub.draws
        echoes = self._echoes.setdefault(queue, [])
        for place, (at, records) in enumerate(echoes):
            if at <= self.hub.now:
                del echoes[place]
                self.seen.reach["message twice"] += 1
                return records
        messages = self.engine.messages(queue)
        draws.shuffle(messages)
        if self._left_to_lose and queue != "ticks":
            self._lose(queue)
        if mix.delayed:
            for message in messages:
                if draws.random() < mix.delayed and queue != "ticks" and "late" not in message:
                    message["visible_at"] += min(draws.choice((5, 60, 3700)), mix.waits_max)
                    message["late"] = True
                    self.seen.reach["message delayed"] += 1
        records = self.engine.receive(queue, draws.choice((1, 2, 10)))
        self.seen.had_last |= {
            id
            for record in records
            for id, _ in _calls([record])
            if int(record["attributes"]["ApproximateReceiveCount"]) == RECEIVES[queue]
        }
        if records and draws.random() < mix.duplicates:
            echoes.append((self.hub.now + int(draws.expovariate(1) * 5 * SECOND), _again(records)))
            self.seen.doubled |= {id for id, _ in _calls(records)}
        return records

    def _lose(self, queue: str) -> None:
        """A letter on its way back does not vanish before it has brought anything back: its item is told as DEAD."""
        dead = {row["id"]["S"] for row in self.seen.items() if waits_for_a_person(row)}
        for message in list(self.engine.messages(queue)):
            ids = {id for id, _, _ in calls_in(message["body"])}
            if ids and not ids & dead and self._left_to_lose and self.hub.draws.random() < _LOST:
                self.engine.messages(queue).remove(message)
                self._left_to_lose -= 1
                self.seen.lost |= ids
                self.seen.reach["call lost"] += 1
                self.hub.note(f"a call vanishes: {message['body']}")

    def _living(self, actor: Actor) -> Callable[[], bool]:
        request = actor.request
        return lambda: actor.request == request and not actor.done


@dataclass(kw_only=True, slots=True)
class Scheduler:
    """The ticks of the sweep: one each minute, not to the second, sometimes twice and sometimes not at all. Once
    faults have stopped, every third minute has to do, unless everything is to be on time."""

    hub: Hub
    engine: Engine
    mix: Callable[[], Mix]
    is_exact: bool = False
    every: int = MINUTE

    def start(self) -> None:
        self.hub.after(int(self.hub.draws.uniform(0, 20) * SECOND), self._tick)

    def _tick(self) -> None:
        mix, draws = self.mix(), self.hub.draws
        if mix.ticks:
            for _ in range(draws.choice((1, 1, 1, 1, 2)) if mix.rates else 1):
                if not mix.rates or draws.random() > 0.1:
                    self.engine.send("ticks", json.dumps({"kind": "tick"}))
        if not mix.heartbeat:
            for message in list(self.engine.messages("ticks")):
                if "heartbeat" in message["body"]:
                    self.engine.messages("ticks").remove(message)
        self.hub.after(self.every if mix.rates or self.is_exact else 3 * self.every, self._tick)


def _again(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same messages given to another worker as well, which the queue counts."""
    found = []
    for record in records:
        count = int(record["attributes"]["ApproximateReceiveCount"]) + 1
        found.append(
            {**record, "attributes": {**record["attributes"], "ApproximateReceiveCount": str(count)}}
        )
    return found


def _calls(records: list[dict[str, Any]]) -> frozenset[tuple[str, int]]:
    return frozenset((id, version) for record in records for id, version, _ in calls_in(record["body"]))


def _told(records: list[dict[str, Any]]) -> str:
    found = []
    for record in records:
        calls = " ".join(f"{id}v{version}" for id, version, _ in calls_in(record["body"]))
        times = record["attributes"]["ApproximateReceiveCount"]
        found.append(
            f"[{json.loads(record['body'])['via']} {calls} x{times}]" if calls else f"[{record['body']}]"
        )
    return " ".join(found)
