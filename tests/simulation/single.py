"""Single faults, all of them: each flow of a task or a payment, with each kind of fault at each of its calls to AWS.

A flow is run once as it should be, and its calls are noted; then once more for each call and each fault that it can
meet. Whatever happens, everything has to hold that holds in the simulation, and the flow has to come to its end. What
ended in another way than without the fault is told in the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.call import Call
from tests.simulation.hub import Actor
from tests.simulation.mix import CRASHES, MINUTE, Fault, Mix
from tests.simulation.rows import number, request_of, text
from tests.simulation.run import Run
from tests.simulation.single_flows import FLOWS, Flow

_MIX: Final = Mix(executors=1, sweepers=1, clients=0, pause=MINUTE, attempts=2, duplicate_key=True)
_ONCE: Final = CRASHES | {Fault.PAUSED, Fault.PAUSED_BEFORE, Fault.MIXED}
_REPEATS: Final = 5
# Reads are repeated until their deadline.
_READS: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """`states` are those of all items by the names of their requests, `taken` how often destinations were called."""

    broken: str | None
    states: tuple[str, ...]
    taken: int
    asked: int
    brought_back: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    flow: str
    place: int
    call: str
    fault: str
    ended: Ended
    without: Ended


class _Plan:
    """The fault that one call meets; `each_time` with all repeats that botocore makes of it."""

    def __init__(self, flow: Flow, place: int, fault: Fault | None, *, each_time: bool) -> None:
        self.calls: list[Call] = []
        self._flow = flow
        self._place = place
        self._fault = fault
        self._each_time = each_time
        self._met: tuple[str, str, object] | None = None

    def __call__(self, actor: Actor, call: Call) -> Fault | None:
        if not actor.name.startswith(self._flow.fault_in):
            return None
        asked = actor.request, call.operation, call.asked.get("ClientRequestToken", call.asked)
        self.calls.append(call)
        if len(self.calls) - 1 == self._place:
            self._met = asked
            return self._fault
        repeats = _READS if self._fault is Fault.UNREAD else _REPEATS
        if self._each_time and self._met == asked and len(self.calls) <= self._place + repeats:
            return self._fault
        self._met = None
        return None


class _Tempers:
    """Destinations behave one after the other as the flow says, and take everything from then on."""

    def __init__(self, tempers: tuple[str, ...]) -> None:
        self._left = list(tempers)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._left)

    def __getitem__(self, place: int) -> str:
        return self._left.pop(0) if len(self._left) > 1 else "takes"


def tried(
    flow: Flow, place: int, fault: Fault | None, *, each_time: bool = False
) -> tuple[Ended, list[Call]]:
    """Returns the end of the flow with this fault at this place, and the calls that it made."""
    plan = _Plan(flow, place, fault, each_time=each_time)
    mix = replace(
        _MIX,
        tempers=_Tempers(flow.tempers),  # type: ignore[arg-type]
        control=flow.control,
        letters_rest=flow.letters_rest,
        switched=flow.switched,
        # More than an hour is swept by every third tick, as after faults have stopped.
        heartbeat=not flow.letters_rest,
    )
    run = Run(seed=1, mix=mix, script=flow.script, planned=plan)
    result = run.result()
    states = tuple(
        sorted(f"{request_of(row)} {text(row, 'status')} {number(row, 'amount')}" for row in run.seen.items())
    )
    ended = Ended(
        broken=result.broken,
        states=states,
        taken=len(run.seen.taken),
        asked=sum(" POST " in line or " PATCH " in line or " DELETE " in line for line in result.lines),
        brought_back=result.reach["redriven"],
    )
    return ended, plan.calls


def cases(flow: Flow, *, part: int = 0, parts: int = 1) -> Iterator[Case]:
    """Every call of the flow with every fault that it can meet; of several parts, one."""
    without, calls = tried(flow, -1, None)
    for place, call in _tried_at(flow, calls)[part::parts]:
        for fault in filter(call.can_meet, Fault):
            for each_time in (False,) if fault in _ONCE else (False, True):
                ended, _ = tried(flow, place, fault, each_time=each_time)
                yield Case(
                    flow=flow.name,
                    place=place,
                    call=f"{call.operation} {call.about}".strip(),
                    fault=f"{fault}, each time" if each_time else str(fault),
                    ended=ended,
                    without=without,
                )


def _tried_at(flow: Flow, calls: list[Call]) -> list[tuple[int, Call]]:
    """The calls that meet faults, with their places among all calls."""
    places = list(enumerate(calls))
    if not flow.polls:
        return places
    first = {_likeness(call): place for place, call in reversed(places)}
    last = {_likeness(call): place for place, call in places}
    kept = {*first.values(), *last.values()}
    return [(place, call) for place, call in places if place in kept]


def _likeness(call: Call) -> tuple[str, str]:
    """Equal for calls that ask for the same rows or send the same messages, whatever their receipts."""
    entries = [entry.get("MessageBody") for entry in call.asked.get("Entries", ())]
    return call.operation, str(entries or call.asked)


def all_cases(name: str, part: int, parts: int) -> list[Case]:
    (flow,) = (flow for flow in FLOWS if flow.name == name)
    return list(cases(flow, part=part, parts=parts))
