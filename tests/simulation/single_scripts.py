"""The requests of each flow that single faults are tried in."""

from typing import Final

from postdate.domain import instants
from tests.simulation import switched
from tests.simulation.bookkeeping import RESTING
from tests.simulation.clients import FLOW_KEY, Clients
from tests.simulation.destination import OTHER_QUEUE, QUEUE
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import MINUTE, Control
from tests.simulation.requests import INTERNAL
from tests.simulation.seen import Backfilled, Broken

CONTROL: Final = Control(share=1.0, rate=1, period=2, parallelism=1)
_ACCOUNT: Final = "/api/v1/accounts/alice"


def task(clients: Clients, actor: Actor, delay: int, name: str = "one", **more: object) -> str:
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


def payment(clients: Clients, actor: Actor, delay: int, name: str = "one", **more: object) -> str:
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


def cancelled_task(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "DELETE", f"/api/v1/tasks/{task(clients, actor, 60)}")


def moved_task(clients: Clients, actor: Actor) -> None:
    id = task(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"delay_seconds": 100})


def moved_task_far(clients: Clients, actor: Actor) -> None:
    id = task(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"delay_seconds": 400})


def paused_key(clients: Clients, actor: Actor) -> None:
    while clients.ask(actor, "POST", f"{FLOW_KEY}/pause").http != 200:
        clients.hub.park(SECOND)
    task(clients, actor, 5, flow_control=CONTROL.form)
    clients.hub.park(20 * SECOND)
    while clients.ask(actor, "POST", f"{FLOW_KEY}/resume").http != 200:
        clients.hub.park(SECOND)


def batch(clients: Clients, actor: Actor) -> None:
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


def stopped_batch(clients: Clients, actor: Actor) -> None:
    """Settlement is switched off before the instant of three payments, and on again after it."""
    _switch(clients, actor, on=False)
    batch(clients, actor)
    clients.hub.park(12 * SECOND)
    _switch(clients, actor, on=True)


def _switch(clients: Clients, actor: Actor, *, on: bool) -> None:
    form = {"on": on, "reason": "test"}
    while clients.ask(actor, "PUT", f"{switched.PATH}settlement", form).http != 200:
        clients.hub.park(SECOND)


def cancelled_payment(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "DELETE", f"/api/v1/payments/{payment(clients, actor, 60)}/cancel")


def changed_payment(clients: Clients, actor: Actor) -> None:
    id = payment(clients, actor, 30)
    clients.ask(actor, "PATCH", f"/api/v1/payments/{id}", {"amount": 25, "delay_seconds": 100})


def payment_of_a_frozen_account(clients: Clients, actor: Actor) -> None:
    payment(clients, actor, 10)
    clients.ask(actor, "POST", f"{_ACCOUNT}/freeze")
    clients.hub.park(120 * SECOND)
    clients.ask(actor, "POST", f"{_ACCOUNT}/unfreeze")


def payment_without_money(clients: Clients, actor: Actor) -> None:
    payment(clients, actor, 10, amount=5000, funding="at_execution")


def executed_payment(clients: Clients, actor: Actor) -> None:
    """By another service, before the queue comes to it."""
    id = payment(clients, actor, 1)
    clients.hub.park(SECOND + 1)
    form, headers = {"execution_id": "exe-1"}, {"x-internal-auth": INTERNAL}
    path = f"/api/v1/internal/payments/{id}/execute"
    clients.ask(actor, "POST", path, form, headers=headers)


def deposited(clients: Clients, actor: Actor) -> None:
    clients.ask(actor, "POST", f"{_ACCOUNT}/deposits", {"amount": 100}, key="deposit")
    form = {"amount": -30, "reason": "counted again"}
    clients.ask(actor, "POST", f"{_ACCOUNT}/adjustments", form, key="adjustment")


def closed(clients: Clients, actor: Actor) -> None:
    """The account's limit lets one payment through, which empties the account."""
    path = "/api/v1/accounts/erin"
    clients.ask(actor, "POST", "/api/v1/accounts", {"account_id": "erin", "limits": {"amount_max": 5}})
    clients.ask(actor, "POST", f"{path}/deposits", {"amount": 10}, key="deposit")
    limits = {"limits": {"amount_max": 10}}
    if clients.ask(actor, "PATCH", path, limits).http != 200:
        raise Broken("I14: erin's limits cannot be changed")
    payment(clients, actor, 5, from_account_id="erin")
    clients.ask(actor, "POST", f"{path}/close")
    clients.hub.park(30 * MINUTE)
    told = clients.ask(actor, "POST", f"{path}/close")
    if told.http != 200 or told.body["status"] != "CLOSED":
        raise Broken(f"I14: erin is empty and not closed: {told}")


def set_right(clients: Clients, actor: Actor) -> None:
    clients.bookkeeping.damage(actor, RESTING, -50)
    answer = clients.bookkeeping.set_right(actor, RESTING, "right")
    if answer.http != 201 or clients.seen.damaged.total():
        raise Broken(f"I14: {RESTING} is answered {answer.http} and not set right")


def recurring(clients: Clients, actor: Actor, *, runs: int = 2, **more: object) -> str:
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


def changed_while_its_run_is_on(clients: Clients, actor: Actor) -> None:
    """The first run waits for its second attempt when its task is changed, and when the next run is due."""
    retry = {"max_attempts": 2, "initial_seconds": 75, "jitter": False}
    id = recurring(clients, actor, overlap="queue", retry=retry)
    clients.hub.park(MINUTE - clients.hub.now % MINUTE + 20 * SECOND)
    clients.ask(actor, "PATCH", f"/api/v1/tasks/{id}", {"name": "other"})


def queued(clients: Clients, actor: Actor) -> None:
    """The first run is over when two others wait for it."""
    retry = {"max_attempts": 2, "initial_seconds": 130, "jitter": False}
    recurring(clients, actor, runs=3, overlap="queue", retry=retry)


def changed_recurring(clients: Clients, actor: Actor) -> None:
    """Paused, resumed and changed before it has run; triggered once, and cancelled after that."""
    path = f"/api/v1/tasks/{recurring(clients, actor)}"
    clients.ask(actor, "POST", f"{path}/pause")
    clients.ask(actor, "POST", f"{path}/resume")
    clients.ask(actor, "PATCH", path, {"max_runs": 1})
    clients.seen.triggers[path.rpartition("/")[2]] += 1
    clients.ask(actor, "POST", f"{path}/trigger", key="trigger")
    clients.ask(actor, "DELETE", path)


def backfilled(clients: Clients, actor: Actor) -> None:
    now = clients.hub.now // 1000
    first, last = now - 190_000, now - 1_000
    id = recurring(clients, actor)
    form = {"from": _text(first), "to": _text(last)}
    answer = clients.ask(actor, "POST", f"/api/v1/tasks/{id}/backfill", form, key="backfill")
    if answer.http == 202:
        operation, runs = answer.body["operation_id"], answer.body["eligible"]["count"]
        clients.seen.backfilled.append(
            Backfilled(definition=id, operation=operation, first=first, last=last, runs=runs)
        )


def _text(milliseconds: int) -> str:
    return instants.from_milliseconds(milliseconds).isoformat(timespec="milliseconds")


def kept(clients: Clients, actor: Actor) -> None:
    """A delivery keeps the only worker for eight seconds. Meanwhile a task to a quick destination falls due, which that
    worker takes by itself, and another to the slow one, which it moves to the workers for slow destinations."""
    task(clients, actor, 1, timeout_seconds=8)
    clients.hub.park(4 * SECOND)
    task(clients, actor, 1, name="two", target={"type": "sqs", "queue_url": OTHER_QUEUE})
    task(clients, actor, 1, name="three")


def nothing_but_time(clients: Clients, actor: Actor) -> None:
    """Two items that only the sweep can call, and time for all its passes over their minute."""
    task(clients, actor, 230)
    payment(clients, actor, 240, name="two")
    clients.hub.park(6 * MINUTE)
