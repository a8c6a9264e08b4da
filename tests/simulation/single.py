"""Single faults, all of them: each flow of a task or a payment, with each kind of fault at each of its calls to AWS.

A flow is run once as it should be, and its calls are noted; then once more for each call and each fault that it can
meet. Whatever happens, everything has to hold that holds in the simulation, and the flow has to come to its end. What
ended in another way than without the fault is told in the table.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from postdate.domain import instants
from tests.simulation import switched
from tests.simulation.bookkeeping import RESTING
from tests.simulation.clients import FLOW_KEY, INTERNAL, Clients
from tests.simulation.destination import OTHER_QUEUE, QUEUE
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import CRASHES, MINUTE, Control, Fault, Mix
from tests.simulation.rows import number, request_of, text
from tests.simulation.run import Run
from tests.simulation.seen import Backfilled, Broken
from tests.simulation.wire import Call

_MIX: Final = Mix(executors=1, sweepers=1, clients=0, pause=MINUTE, attempts=2, duplicate_key=True)
_ONCE: Final = CRASHES | {Fault.PAUSED, Fault.PAUSED_BEFORE, Fault.MIXED}
_REPEATS: Final = 5
# Reads are repeated until their deadline.
_READS: Final = 40
# Clocks are right here, so minutes are audited two minutes after their end and not an hour (see `run`).
_AUDITS_END: Final = 15 * MINUTE
_CONTROL: Final = Control(share=1.0, rate=1, period=2, parallelism=1)
_ACCOUNT: Final = "/api/v1/accounts/alice"
Script = Callable[[Clients, Actor], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """`fault_in` are the functions whose calls meet faults, `letters_rest` is as in a mix. In a flow that `polls`, only
    the first and the last of equal calls meet faults. Where a flow is `switched`, workers read the switches."""

    name: str
    script: Script
    tempers: tuple[str, ...] = ("takes",)
    fault_in: tuple[str, ...] = ("client", "run_tasks", "settle")
    control: Control | None = None
    letters_rest: int = 0
    polls: bool = False
    switched: bool = False


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


def _task(clients: Clients, actor: Actor, delay: int, name: str = "one", **more: object) -> str:
    form = {
        "target": {"type": "sqs", "queue_url": QUEUE},
        "payload": {"n": 1},
        "name": name,
        "delay_seconds": delay,
        "retry": {"max_attempts": 2, "initial_seconds": 5, "jitter": False},
        **more,
    }
    answer = clients.ask(actor, "POST", "/api/v1/tasks", form, key=name)
    return str((answer.body or {}).get("task_id"))


def _payment(clients: Clients, actor: Actor, delay: int, name: str = "one", **more: object) -> str:
    form = {
        "from_account_id": "alice",
        "to_account_id": "bob",
        "amount": 10,
        "description": name,
        "delay_seconds": delay,
        **more,
    }
    answer = clients.ask(actor, "POST", "/api/v1/payments/schedule", form, key=name)
    return str((answer.body or {}).get("payment_id"))


def _cancelled_task(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "DELETE", f"/api/v1/tasks/{_task(clients, actor, 60)}")


def _moved_task(clients: Clients, actor: Actor) -> None:
    id = _task(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"delay_seconds": 100})


def _moved_task_far(clients: Clients, actor: Actor) -> None:
    id = _task(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"delay_seconds": 400})


def _paused_key(clients: Clients, actor: Actor) -> None:
    while clients.ask(actor, "POST", f"{FLOW_KEY}/pause").http != 200:
        clients.hub.park(SECOND)
    _task(clients, actor, 5, flow_control=_CONTROL.form)
    clients.hub.park(20 * SECOND)
    while clients.ask(actor, "POST", f"{FLOW_KEY}/resume").http != 200:
        clients.hub.park(SECOND)


def _batch(clients: Clients, actor: Actor) -> None:
    orders = [
        {
            "from_account_id": payer,
            "to_account_id": payee,
            "amount": 10,
            "description": name,
            "delay_seconds": 5,
            "idempotency_key": name,
        }
        for name, payer, payee in (("a", "alice", "bob"), ("b", "bob", "carol"), ("c", "carol", "alice"))
    ]
    for _ in range(3):
        answer = clients.ask(actor, "POST", "/api/v1/payments/schedule/batch", {"payments": orders})
        results = answer.body.get("results", ()) if answer.http == 200 else [{"error": {}}]
        if not any("error" in result for result in results):
            return


def _stopped_batch(clients: Clients, actor: Actor) -> None:
    """Settlement is switched off before the instant of three payments, and on again after it."""
    _switch(clients, actor, on=False)
    _batch(clients, actor)
    clients.hub.park(12 * SECOND)
    _switch(clients, actor, on=True)


def _switch(clients: Clients, actor: Actor, *, on: bool) -> None:
    form = {"on": on, "reason": "test"}
    while clients.ask(actor, "PUT", f"{switched.PATH}settlement", form).http != 200:
        clients.hub.park(SECOND)


def _cancelled_payment(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "DELETE", f"/api/v1/payments/{_payment(clients, actor, 60)}/cancel")


def _changed_payment(clients: Clients, actor: Actor) -> None:
    id = _payment(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/payments/{id}", {"amount": 25, "delay_seconds": 100})


def _payment_of_a_frozen_account(clients: Clients, actor: Actor) -> None:
    _payment(clients, actor, 10)
    clients.ask(actor, "POST", f"{_ACCOUNT}/freeze")
    clients.hub.park(120 * SECOND)
    clients.ask(actor, "POST", f"{_ACCOUNT}/unfreeze")


def _payment_without_money(clients: Clients, actor: Actor) -> None:
    _payment(clients, actor, 10, amount=5000, funding="at_execution")


def _executed_payment(clients: Clients, actor: Actor) -> None:
    """By another service, before the queue comes to it."""
    id = _payment(clients, actor, 1)
    clients.hub.park(SECOND + 1)
    form, headers = {"execution_id": "exe-1"}, {"x-internal-auth": INTERNAL}
    path = f"/api/v1/internal/payments/{id}/execute"
    clients.ask(actor, "POST", path, form, headers=headers)


def _deposited(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "POST", f"{_ACCOUNT}/deposits", {"amount": 100}, key="deposit")
    form = {"amount": -30, "reason": "counted again"}
    clients.ask(actor, "POST", f"{_ACCOUNT}/adjustments", form, key="adjustment")


def _closed(clients: Clients, actor: Actor) -> None:
    """The account's limit lets one payment through, which empties the account."""
    path = "/api/v1/accounts/erin"
    clients.ask(actor, "POST", "/api/v1/accounts", {"account_id": "erin", "limits": {"amount_max": 5}})
    clients.ask(actor, "POST", f"{path}/deposits", {"amount": 10}, key="deposit")
    limits = {"limits": {"amount_max": 10}}
    if clients.ask(actor, "PATCH", path, limits).http != 200:
        raise Broken("I14: erin's limits cannot be changed")
    _payment(clients, actor, 5, from_account_id="erin")
    clients.ask(actor, "POST", f"{path}/close")
    clients.hub.park(30 * MINUTE)
    told = clients.ask(actor, "POST", f"{path}/close")
    if told.http != 200 or told.body["status"] != "CLOSED":
        raise Broken(f"I14: erin is empty and not closed: {told}")


def _set_right(clients: Clients, actor: Actor) -> None:
    clients.bookkeeping.damage(actor, RESTING, -50)
    answer = clients.bookkeeping.set_right(actor, RESTING, "right")
    if answer.http != 201 or clients.seen.damaged.total():
        raise Broken(f"I14: {RESTING} is answered {answer.http} and not set right")


def _recurring(clients: Clients, actor: Actor, *, runs: int = 2, **more: object) -> str:
    """Two runs, of the next two minutes, or more."""
    end = instants.from_milliseconds((clients.hub.now // MINUTE + runs) * 60_000)
    form = {
        "target": {"type": "sqs", "queue_url": QUEUE},
        "name": "one",
        "cron": "* * * * *",
        "end_at": end.isoformat(timespec="milliseconds"),
        **more,
    }
    answer = clients.ask(actor, "POST", "/api/v1/tasks", form, key="one")
    return str((answer.body or {}).get("task_id"))


def _changed_while_its_run_is_on(clients: Clients, actor: Actor) -> None:
    """The first run waits for its second attempt when its task is changed, and when the next run is due."""
    retry = {"max_attempts": 2, "initial_seconds": 75, "jitter": False}
    id = _recurring(clients, actor, overlap="queue", retry=retry)
    clients.hub.park(MINUTE - clients.hub.now % MINUTE + 20 * SECOND)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"name": "other"})


def _queued(clients: Clients, actor: Actor) -> None:
    """The first run is over when two others wait for it."""
    retry = {"max_attempts": 2, "initial_seconds": 130, "jitter": False}
    _recurring(clients, actor, runs=3, overlap="queue", retry=retry)


def _changed_recurring(clients: Clients, actor: Actor) -> None:
    """Paused, resumed and changed before it has run; triggered once, and cancelled after that."""
    path = f"/api/v1/tasks/{_recurring(clients, actor)}"
    clients.ask(actor, "POST", f"{path}/pause")
    clients.ask(actor, "POST", f"{path}/resume")
    clients.ask(actor, "PATCH", path, {"max_runs": 1})
    clients.seen.triggers[path.rpartition("/")[2]] += 1
    clients.ask(actor, "POST", f"{path}/trigger", key="trigger")
    clients.ask(actor, "DELETE", path)


def _backfilled(clients: Clients, actor: Actor) -> None:
    now = clients.hub.now // 1000
    first, last = now - 190_000, now - 1_000
    id = _recurring(clients, actor)
    form = {"from": _text(first), "to": _text(last)}
    answer = clients.ask(actor, "POST", f"/api/v1/tasks/{id}/backfill", form, key="backfill")
    if answer.http == 202:
        operation, runs = answer.body["operation_id"], answer.body["eligible"]["count"]
        clients.seen.backfilled.append(
            Backfilled(definition=id, operation=operation, first=first, last=last, runs=runs)
        )


def _text(milliseconds: int) -> str:
    return instants.from_milliseconds(milliseconds).isoformat(timespec="milliseconds")


def _kept(clients: Clients, actor: Actor) -> None:
    """A delivery keeps the only worker for eight seconds. Meanwhile a task to a quick destination falls due, which that
    worker takes by itself, and another to the slow one, which it moves to the workers for slow destinations."""
    _task(clients, actor, 1, timeout_seconds=8)
    clients.hub.park(4 * SECOND)
    _task(clients, actor, 1, name="two", target={"type": "sqs", "queue_url": OTHER_QUEUE})
    _task(clients, actor, 1, name="three")


def _nothing_but_time(clients: Clients, actor: Actor) -> None:
    """Two items that only the sweep can call, and time for all its passes over their minute."""
    _task(clients, actor, 230)
    _payment(clients, actor, 240, name="two")
    clients.hub.park(6 * MINUTE)


FLOWS: Final = (
    Flow(name="a task, due at once", script=lambda c, a: _task(c, a, 5) and None),
    Flow(
        name="a task with a large payload",
        script=lambda c, a: _task(c, a, 5, payload={"n": "x" * 900}) and None,
    ),
    Flow(
        name="a task that is refused once",
        script=lambda c, a: _task(c, a, 5) and None,
        tempers=("refuses", "takes"),
    ),
    Flow(
        name="a task that dies and is brought back",
        script=lambda c, a: _task(c, a, 5) and None,
        tempers=("refuses for good", "takes"),
    ),
    Flow(
        name="a task that dies and is brought back when its audits are over",
        script=lambda c, a: _task(c, a, 5) and None,
        tempers=("refuses for good", "refuses", "takes"),
        fault_in=("run_tasks",),
        letters_rest=_AUDITS_END,
    ),
    Flow(
        name="a task that keeps its worker, and two others meanwhile",
        script=_kept,
        tempers=("never answers", "takes"),
        fault_in=("run_tasks",),
    ),
    Flow(name="a task, cancelled", script=_cancelled_task),
    Flow(name="a task, moved within the horizon", script=_moved_task),
    Flow(name="a task, moved past the horizon", script=_moved_task_far),
    Flow(
        name="a task that its receiver ends",
        script=lambda c, a: _task(c, a, 5, ack="explicit") and None,
        fault_in=("receiver", "run_tasks"),
    ),
    Flow(
        name="a task that needs a place and a room",
        script=lambda c, a: _task(c, a, 5, flow_control=_CONTROL.form) and None,
        fault_in=("run_tasks",),
        control=_CONTROL,
    ),
    Flow(
        name="a task whose key is paused and resumed",
        script=_paused_key,
        fault_in=("client", "run_tasks"),
        control=_CONTROL,
    ),
    Flow(name="a recurring task", script=lambda c, a: _recurring(c, a) and None),
    Flow(
        name="a recurring task: paused, resumed, changed, triggered, cancelled",
        script=_changed_recurring,
        fault_in=("client",),
    ),
    Flow(
        name="a recurring task, changed while its run is on",
        script=_changed_while_its_run_is_on,
        tempers=("refuses", "takes"),
        fault_in=("client", "run_tasks"),
        polls=True,
    ),
    Flow(
        name="a recurring task whose runs wait for one another",
        script=_queued,
        tempers=("refuses", "takes"),
        fault_in=("run_tasks",),
        polls=True,
    ),
    Flow(name="a recurring task, backfilled", script=_backfilled, fault_in=("client", "run_tasks")),
    Flow(name="a payment", script=lambda c, a: _payment(c, a, 5) and None),
    Flow(
        name="a payment that holds nothing",
        script=lambda c, a: _payment(c, a, 5, funding="at_execution") and None,
    ),
    Flow(name="three payments that share accounts", script=_batch),
    Flow(
        name="three payments that a switch stops",
        script=_stopped_batch,
        fault_in=("settle",),
        polls=True,
        switched=True,
    ),
    Flow(name="a payment, cancelled", script=_cancelled_payment),
    Flow(name="a payment, its amount and instant changed", script=_changed_payment),
    Flow(name="a payment of a frozen account", script=_payment_of_a_frozen_account),
    Flow(name="a payment without the money for it", script=_payment_without_money),
    Flow(name="a payment, executed by another service", script=_executed_payment),
    Flow(name="a deposit and an adjustment", script=_deposited),
    Flow(name="an account, its limits changed, emptied and closed", script=_closed),
    Flow(name="an account, set to what its journal says", script=_set_right),
    Flow(name="the sweep's passes over a minute", script=_nothing_but_time, fault_in=("sweep",)),
)


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


def page(found: list[Case]) -> str:
    """docs/faults.md"""
    broken = [case for case in found if case.ended.broken]
    lines = [
        "# Single faults",
        "",
        "Written by `postdate-sim --single --write`. `make prove` runs all of them.",
        "",
        f"{len(found)} cases: each kind of fault at each call to AWS of {len(FLOWS)} flows, one at a time. In each",
        "case every invariant held after every write, no item was lost, and every accepted item reached its end. A",
        "call is one HTTP request; *each time* means that botocore's repeats of the call met the same fault.",
        "",
        "A cell shows the differences from the run without the fault: the requests of the caller, the calls of the",
        "destination, and items with another end. `-` means no difference; an empty cell means that this call cannot",
        "meet this fault.",
    ]
    if broken:
        lines += ["", f"**{len(broken)} cases are broken.**"]
    for flow, group in groupby(found, key=lambda case: case.flow):
        given = list(group)
        without = given[0].without
        lines += ["", f"## {flow[0].upper()}{flow[1:]}", "", _told_without(without), ""]
        lines += list(_table(given))
    return "\n".join(lines) + "\n"


def _told_without(ended: Ended) -> str:
    states = ", ".join(state.split()[1] for state in ended.states) or "no item"
    return f"Without a fault: {states}; asked {ended.asked} times, delivered {ended.taken} times."


def _table(given: list[Case]) -> Iterator[str]:
    """Faults with the same outcome at every call of the flow share a column's name only if they are one fault."""
    faults = list(dict.fromkeys(case.fault for case in given))
    cells = {(case.place, case.fault): _cell(case) for case in given}
    notable = [
        fault for fault in faults if any(cells.get((p, fault), "-") != "-" for p, f in cells if f == fault)
    ]
    calls = {case.place: case.call.split(" 20")[0] for case in given}
    unnoticed = [fault for fault in faults if fault not in notable]
    yield "| | call | " + " | ".join(notable) + " |"
    yield "|---|---|" + "---|" * len(notable)
    for place, call in calls.items():
        row = " | ".join(cells.get((place, fault), "") for fault in notable)
        yield f"| {place + 1} | {call} | {row} |"
    if unnoticed:
        yield ""
        yield f"Never a difference: {'; '.join(unnoticed)}."


def _cell(case: Case) -> str:
    ended, without = case.ended, case.without
    if ended.broken:
        return f"**{ended.broken[:60]}**"
    told = []
    if ended.states != without.states:
        before, after = Counter(without.states), Counter(ended.states)
        gone = [state.split()[1] for state in (before - after).elements()]
        come = [state.split()[1] for state in (after - before).elements()]
        told.append(f"{', '.join(come) or 'nothing'} instead of {', '.join(gone) or 'nothing'}")
    if ended.asked != without.asked:
        told.append(f"asked {ended.asked} times")
    if ended.taken != without.taken:
        told.append(f"delivered {ended.taken} times")
    if ended.brought_back != without.brought_back:
        told.append("brought back" if ended.brought_back > without.brought_back else "not brought back")
    return ", ".join(told) or "-"
