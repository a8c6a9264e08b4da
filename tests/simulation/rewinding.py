"""A restore in the middle of a run: what waits is in its table, its calls are gone, and the notes of later say that all
of it was called and audited. The watermark is put back, as `postdate recover` does it, while sweepers are at work."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tests.simulation.engine import Engine
from tests.simulation.hub import SECOND, Actor, Hub
from tests.simulation.inside import SETTINGS
from tests.simulation.mix import HOUR, MINUTE, SHARDS_PER_GROUP, Mix
from tests.simulation.poison import calls_in
from tests.simulation.rows import number, waits_for_a_person
from tests.simulation.seen import Seen

_AHEAD: Final = int(SETTINGS["OPEN_LEAD_SECONDS"]) * SECOND // MINUTE + 1
_CALLS_OF_A_TICK: Final = 12
_LOOKS_MAX: Final = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewinding:
    """`first` is the minute with which the run began."""

    hub: Hub
    engine: Engine
    seen: Seen
    mix: Callable[[], Mix]
    first: int

    def start(self) -> None:
        actor = Actor(name="operator", hub=self.hub)
        self.hub.spawn(actor, self._work)

    def _work(self) -> None:
        """Each time in the middle of a tick: that is when a sweeper knows what will not be true."""
        for _ in range(self.seen.began.rewinds):
            self.hub.park(int(self.hub.draws.uniform(0, self.mix().span)))
            if self.seen.calm_at:
                return
            self.engine.send("ticks", json.dumps({"kind": "tick"}))
            self.hub.stirred = True
            self._wait_for_a_tick()
            self._restore()

    def _wait_for_a_tick(self) -> None:
        """Waits until a sweeper has made so many calls of its tick, or for a bounded time, as no sweeper may run."""
        calls = self.hub.draws.randrange(1, _CALLS_OF_A_TICK)
        for _ in range(_LOOKS_MAX):
            at_work = [each for each in self.hub.actors if each.queue == "ticks" and each.request]
            if any(each.calls >= calls for each in at_work):
                self.seen.reach["restored in the middle of a tick"] += 1
                return
            self.hub.park(self.mix().latency // 4)

    def _restore(self) -> None:
        clock = self.engine.row("slots", "clock", "watermark") or {}
        epoch = number(clock, "epoch")
        all_passes = self.hub.draws.random() < 0.75
        for minute in range(self.first, self.hub.now // MINUTE + _AHEAD + 1):
            self._note(minute, epoch, all_passes=all_passes)
        self._lose_calls()
        put_back = {"number": {"N": str(self.first - 1)}, "epoch": {"N": str(epoch + 1)}}
        self.engine.write("slots", {"scope": {"S": "clock"}, "name": {"S": "watermark"}} | put_back)
        self.seen.reach["watermark put back"] += 1
        self.hub.note(f"the watermark is put back, epoch {epoch + 1}")

    def _note(self, minute: int, epoch: int, *, all_passes: bool) -> None:
        """Writes the last pass that can have been made by now, in the epoch before; or all passes, as hours later."""
        begins, passed = _text(minute), self.hub.now - (minute + 1) * MINUTE
        stage = "audit" if all_passes or passed >= HOUR else "close" if passed >= MINUTE else "open"
        for group in range(-(-self.seen.began.shards // SHARDS_PER_GROUP)):
            row = {
                "scope": {"S": "passes"},
                "name": {"S": f"{begins}#{group:02d}"},
                "stage": {"S": stage},
                "at": {"N": str(minute * MINUTE // 1000)},
            }
            if stage == "audit":
                row["audited"] = {"N": str(self.hub.now // 1000)}
            self.engine.write("slots", row | ({"epoch": {"N": str(epoch)}} if epoch else {}))

    def _lose_calls(self) -> None:
        """But for those of what waits for a person: its letter is all that brings it back. What has changed since
        it was registered may be left to the audit: its call was no sweep's. So may what a worker is about to change:
        it has the call, and begins between the passes of two epochs."""
        self.seen.under_way |= {row["id"]["S"] for row in self.seen.items() if number(row, "version") > 1}
        dead = {row["id"]["S"] for row in self.seen.items() if waits_for_a_person(row)}
        for queue in ("tasks", "payments"):
            for message in list(self.engine.messages(queue)):
                ids = {id for id, _, _ in calls_in(message["body"])}
                if ids and not ids & dead:
                    self.engine.messages(queue).remove(message)
                    self.seen.lost |= ids
                    if message["receive_count"] and message["visible_at"] * SECOND > self.hub.now:
                        self.seen.under_way |= ids


def _text(minute: int) -> str:
    return f"{datetime.fromtimestamp(minute * MINUTE // SECOND, tz=UTC):%Y-%m-%dT%H:%M}"
