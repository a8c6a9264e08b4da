"""The flows that single faults are tried in: one request or a few, and all that follows from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.simulation.clients import Clients
from tests.simulation.hub import Actor
from tests.simulation.mix import MINUTE, Control
from tests.simulation.single_scripts import (
    CONTROL,
    backfilled,
    batch,
    cancelled_payment,
    cancelled_task,
    changed_payment,
    changed_recurring,
    changed_while_its_run_is_on,
    closed,
    deposited,
    executed_payment,
    kept,
    moved_task,
    moved_task_far,
    nothing_but_time,
    paused_key,
    payment,
    payment_of_a_frozen_account,
    payment_without_money,
    queued,
    recurring,
    set_right,
    stopped_batch,
    task,
)

Script = Callable[[Clients, Actor], None]
# Clocks are right here, so minutes are audited two minutes after their end and not an hour (see `run`).
_AUDITS_END: Final = 15 * MINUTE


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


FLOWS: Final = (
    Flow(name="a task, due at once", script=lambda c, a: task(c, a, 5) and None),
    Flow(
        name="a task with a large payload",
        script=lambda c, a: task(c, a, 5, payload={"n": "x" * 900}) and None,
    ),
    Flow(
        name="a task that is refused once",
        script=lambda c, a: task(c, a, 5) and None,
        tempers=("refuses", "takes"),
    ),
    Flow(
        name="a task that dies and is brought back",
        script=lambda c, a: task(c, a, 5) and None,
        tempers=("refuses for good", "takes"),
    ),
    Flow(
        name="a task that dies and is brought back when its audits are over",
        script=lambda c, a: task(c, a, 5) and None,
        tempers=("refuses for good", "refuses", "takes"),
        fault_in=("run_tasks",),
        letters_rest=_AUDITS_END,
    ),
    Flow(
        name="a task that keeps its worker, and two others meanwhile",
        script=kept,
        tempers=("never answers", "takes"),
        fault_in=("run_tasks",),
    ),
    Flow(name="a task, cancelled", script=cancelled_task),
    Flow(name="a task, moved within the horizon", script=moved_task),
    Flow(name="a task, moved past the horizon", script=moved_task_far),
    Flow(
        name="a task that its receiver ends",
        script=lambda c, a: task(c, a, 5, ack="explicit") and None,
        fault_in=("receiver", "run_tasks"),
    ),
    Flow(
        name="a task that needs a place and a room",
        script=lambda c, a: task(c, a, 5, flow_control=CONTROL.form) and None,
        fault_in=("run_tasks",),
        control=CONTROL,
    ),
    Flow(
        name="a task whose key is paused and resumed",
        script=paused_key,
        fault_in=("client", "run_tasks"),
        control=CONTROL,
    ),
    Flow(name="a recurring task", script=lambda c, a: recurring(c, a) and None),
    Flow(
        name="a recurring task: paused, resumed, changed, triggered, cancelled",
        script=changed_recurring,
        fault_in=("client",),
    ),
    Flow(
        name="a recurring task, changed while its run is on",
        script=changed_while_its_run_is_on,
        tempers=("refuses", "takes"),
        fault_in=("client", "run_tasks"),
        polls=True,
    ),
    Flow(
        name="a recurring task whose runs wait for one another",
        script=queued,
        tempers=("refuses", "takes"),
        fault_in=("run_tasks",),
        polls=True,
    ),
    Flow(name="a recurring task, backfilled", script=backfilled, fault_in=("client", "run_tasks")),
    Flow(name="a payment", script=lambda c, a: payment(c, a, 5) and None),
    Flow(
        name="a payment that holds nothing",
        script=lambda c, a: payment(c, a, 5, funding="at_execution") and None,
    ),
    Flow(name="three payments that share accounts", script=batch),
    Flow(
        name="three payments that a switch stops",
        script=stopped_batch,
        fault_in=("settle",),
        polls=True,
        switched=True,
    ),
    Flow(name="a payment, cancelled", script=cancelled_payment),
    Flow(name="a payment, its amount and instant changed", script=changed_payment),
    Flow(name="a payment of a frozen account", script=payment_of_a_frozen_account),
    Flow(name="a payment without the money for it", script=payment_without_money),
    Flow(name="a payment, executed by another service", script=executed_payment),
    Flow(name="a deposit and an adjustment", script=deposited),
    Flow(name="an account, its limits changed, emptied and closed", script=closed),
    Flow(name="an account, set to what its journal says", script=set_right),
    Flow(name="the sweep's passes over a minute", script=nothing_but_time, fault_in=("sweep",)),
)
