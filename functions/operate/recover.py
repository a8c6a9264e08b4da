"""The steps of the state machine `recover`: after an outage, or a restore of the table `items`, the sweep goes back.

They run the code of `postdate recover`. Money that was restored is mended by that command alone, because nothing may
settle meanwhile and this function is one of those that the command stops. Each step may be repeated: a token is raised
above what it is, and a watermark that is put back twice begins one epoch more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.errors import NotRecoverable
from postdate.domain.slots import Slot
from postdate.domain.sweeping import Groups, Horizon, Stage
from postdate.recovery.tokens import Tokens
from postdate.recovery.watermark import Rewind
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.passes import Passes

ITEMS: Final = "items"
# A week. What is older is recovered by the command, which has no limit.
MINUTES_MAX: Final = 7 * 24 * 60
# The tokens of so many minutes are raised by one execution of their own, which has room for 3,570 steps. At the
# promised peak, 500,000 tasks a minute, a step has to raise 2,800 tokens.
SPAN_MINUTES: Final = 20
_DAY: Final = 24 * 60
# The sweep closes a minute this long after it.
_CLOSED_AFTER: Final = 3
# The machine looks every 30 s, for at most eight hours.
LOOKS_MAX: Final = 960
_CAUSE_CHARACTERS: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Recoverer:
    """`tokens` gives what raises tokens in a table that shows an instant; `tables` are those that the sweep reads."""

    passes: Passes
    groups: Groups
    tokens: Callable[[datetime], Tokens]
    horizon: Horizon
    tables: frozenset[str]
    clock: Clock
    works_for: timedelta

    def step(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The answer is the machine's next input."""
        steps = {
            "recover_plan": self._plan,
            "recover_tokens": self._raise_tokens,
            "recover_put_back": self._put_back,
            "recover_look": self._look,
            "recover_give_up": _give_up,
        }
        return steps[event["action"]](event)

    @property
    def _rewind(self) -> Rewind:
        return Rewind(passes=self.passes, groups=self.groups)

    def _plan(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The minute up to which all was well, and the spans of minutes behind it. `refused` says why nothing of it
        is done."""
        try:
            since, restored = _instant(event["since"]), frozenset(event["restored"])
            first = None if event["from"] is None else _instant(event["from"])
            stood = self._stood(since, first, restored)
        except (NotRecoverable, ValueError) as error:
            logger.warning(
                "a recovery was refused", extra={"action": "recovery_refused", "reason": str(error)}
            )
            return {"possible": False, "refused": str(error)}
        last = self.horizon.last_minute(self.clock.now())
        spans = [
            {"next": start, "slot": 0, "last": min(start + SPAN_MINUTES - 1, last), "raised": 0}
            for start in range(stood + 1, last + 1, SPAN_MINUTES)
        ]
        told = {"action": "recovery_planned", "stood": stood, "minutes": last - stood}
        logger.info("a recovery was planned", extra=told)
        return {
            "possible": True,
            "since": since.isoformat(),
            "stood": stood,
            "restored": ITEMS in restored,
            "spans": spans,
        }

    def _stood(self, since: datetime, first: datetime | None, restored: frozenset[str]) -> int:
        now = self.clock.now()
        if restored - {ITEMS}:
            raise ValueError(f"only {ITEMS} is recovered here: run `postdate recover` for the others")
        if max(since, first or since) > now:
            raise ValueError("the instant is in the future")
        stood = self._rewind.stood_at(since) if first is None else instants.minute_of(first) - 1
        if instants.minute_of(now) - stood > MINUTES_MAX:
            raise ValueError("these are more minutes than a week has: run `postdate recover`")
        return stood

    def _raise_tokens(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Raises the tokens of one span, slot by slot, while there is time. A minute may need several steps. Raises
        Conflict when tasks change meanwhile."""
        until = self.clock.now() + self.works_for
        tokens, span = self.tokens(_instant(event["since"])), event["span"]
        minute, done, raised = span["next"], span.get("slot", 0), span["raised"]
        while minute <= span["last"]:
            slots = self._slots(minute)
            raised += tokens.raise_in(slots[done : done + 1])
            minute, done = (minute, done + 1) if done + 1 < len(slots) else (minute + 1, 0)
            if self.clock.now() >= until:
                break
        return {
            **event,
            "span": {**span, "next": minute, "slot": done, "raised": raised},
            "goes_on": minute <= span["last"],
        }

    def _slots(self, minute: int) -> list[Slot]:
        return [
            slot for group in range(self.groups.count(minute)) for slot in self.groups.slots(minute, group)
        ]

    def _put_back(self, event: Mapping[str, Any]) -> dict[str, Any]:
        mark = self._rewind.put_back(event["stood"], tables=self.tables)
        told = {"action": "watermark_put_back", "minute": mark.minute, "epoch": mark.epoch}
        logger.warning("the watermark was put back", extra=told)
        last = instants.minute_of(self.clock.now()) - _CLOSED_AFTER
        return {"until": {"next": mark.minute + 1, "last": last, "epoch": mark.epoch}, "looks": 0}

    def _look(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Counts the minutes that are closed again. The watermark itself follows an hour later, after the audits."""
        until = event["until"]
        minute = until["next"]
        while minute <= until["last"] and (closed := self._closed(minute, until)):
            minute += closed
        state = "behind" if event["looks"] < LOOKS_MAX else "too late"
        return {
            "until": {**until, "next": minute},
            "looks": event["looks"] + 1,
            "state": state if minute <= until["last"] else "done",
        }

    def _closed(self, first: int, until: Mapping[str, Any]) -> int:
        """The number of minutes from this one on, of a day at most, that sweepers of this epoch have closed."""
        last = min(until["last"], first + _DAY - 1)
        closed = {
            (note.minute, note.group)
            for note in self.passes.between(first, last)
            if note.stage is not Stage.OPEN and note.epoch >= until["epoch"]
        }
        minutes = takewhile(
            lambda minute: all((minute, group) in closed for group in range(self.groups.count(minute))),
            range(first, last + 1),
        )
        return sum(1 for _ in minutes)


def _give_up(event: Mapping[str, Any]) -> dict[str, Any]:
    """The log has the cause. What was done can be repeated."""
    error = event.get("error", {})
    cause = str(error.get("Cause", ""))[:_CAUSE_CHARACTERS]
    told = {"action": "recovery_given_up", "error": str(error.get("Error", "")), "cause": cause}
    logger.error("a recovery was given up", extra=told)
    return {}


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text} has no offset")
    return instant
