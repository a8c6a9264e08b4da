"""Calls of clients in the scenarios of the alarms."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.destination import QUEUE
from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.hub import Actor

Script = Callable[["Clients", "Actor"], None]
_HEALTHY_MINUTES: Final = 10
_FAULTY_MINUTES: Final = 20
# A message more than the alarm allows.
_FLOOD: Final = 40_001


def night(minutes: int) -> Script:
    return lambda clients, actor: clients.hub.park(minutes * MINUTE)


def payments(count: int, **more: Any) -> Script:
    """Registers a payment every ten seconds, due ten seconds later."""

    def script(clients: "Clients", actor: "Actor") -> None:
        for place in range(count):
            _pay(clients, actor, f"payment-{place}", **more)
            clients.hub.park(10 * SECOND)

    return script


def _payment(**more: Any) -> dict[str, Any]:
    return {"from_account_id": "alice", "to_account_id": "bob", "amount": 1, "delay_seconds": 10, **more}


def _pay(clients: "Clients", actor: "Actor", key: str, *, tries: int | None = None, **more: Any) -> str:
    answer = clients.ask(actor, "POST", "/api/v1/payments/schedule", _payment(**more), key=key, tries=tries)
    return str((answer.body or {}).get("payment_id"))


def paid_in_batches(count: int, *, of: int, every: int, unfunded: int = 0) -> Script:
    """Batches that begin with the fault. The last payment of the first batches has no money."""

    def script(clients: "Clients", actor: "Actor") -> None:
        clients.hub.park(_HEALTHY_MINUTES * MINUTE)
        for batch in range(count):
            items = [
                _payment(funding="at_execution", idempotency_key=f"{batch}-{place}") for place in range(of)
            ]
            if batch < unfunded:
                items[-1]["amount"] = 5000
            clients.ask(actor, "POST", "/api/v1/payments/schedule/batch", {"payments": items})
            clients.hub.park(every)

    return script


def tasks(count: int, *, gap: int = 10 * SECOND, **more: Any) -> Script:
    def script(clients: "Clients", actor: "Actor") -> None:
        for place in range(count):
            _task(clients, actor, f"task-{place}", **more)
            clients.hub.park(gap)

    return script


def tasks_later(count: int) -> Script:
    """Tasks that begin with the fault: no worker has opened a secret before it."""

    def script(clients: "Clients", actor: "Actor") -> None:
        clients.hub.park(_HEALTHY_MINUTES * MINUTE)
        tasks(count, gap=SECOND)(clients, actor)

    return script


def _task(clients: "Clients", actor: "Actor", key: str, **more: Any) -> str:
    form = {"target": {"type": "sqs", "queue_url": QUEUE}, "name": key, "delay_seconds": 5, **more}
    answer = clients.ask(actor, "POST", "/api/v1/tasks", form, key=key)
    return str((answer.body or {}).get("task_id"))


def peak(clients: "Clients", actor: "Actor") -> None:
    payments(100)(clients, actor)
    tasks(100)(clients, actor)


def requests(gap: int) -> Script:
    """A payment is registered, read and cancelled. Nobody asks again."""

    def script(clients: "Clients", actor: "Actor") -> None:
        until = clients.hub.now + (_HEALTHY_MINUTES + _FAULTY_MINUTES) * MINUTE
        place = 0
        while clients.hub.now < until:
            id = _pay(clients, actor, f"payment-{place}", tries=1, delay_seconds=3600)
            if id != "None":
                clients.ask(actor, "GET", f"/api/v1/payments/{id}", tries=1)
                clients.ask(actor, "POST", f"/api/v1/payments/{id}/cancel", tries=1)
            place += 1
            clients.hub.park(gap)

    return script


def damaged(clients: "Clients", actor: "Actor") -> None:
    """A foreign program takes what the account holds for a payment."""
    clients.hub.park(_HEALTHY_MINUTES * MINUTE)
    _pay(clients, actor, "payment", delay_seconds=120, amount=50)
    clients.hub.park(30 * SECOND)
    engine = clients.functions.engine
    row = engine.row("accounts", f"{actor.tenant}#alice")
    assert row is not None
    engine.write("accounts", {**row, "reserved": {"N": "0"}})
    clients.hub.park(60 * SECOND)
    clients.ask(actor, "GET", "/api/v1/audit")
    clients.hub.park(20 * MINUTE)


def flooded(clients: "Clients", actor: "Actor") -> None:
    """More messages than workers could take, and payments among them."""
    payments(_HEALTHY_MINUTES * 6)(clients, actor)
    engine = clients.functions.engine
    _pay(clients, actor, "waiting")
    _task(clients, actor, "waiting-too")
    clients.hub.park(15 * SECOND)
    waiting = list(engine.messages("tasks"))
    engine.messages("tasks").extend({**waiting[0], "id": f"flood-{place}"} for place in range(_FLOOD))
    clients.hub.park((_FAULTY_MINUTES - 1) * MINUTE)
    engine.messages("tasks")[:] = waiting


def slowed(clients: "Clients", actor: "Actor") -> None:
    """A message for a slow destination that nobody takes."""
    clients.hub.park(_HEALTHY_MINUTES * MINUTE)
    clients.functions.engine.send("slow", "no json")
    clients.hub.park(70 * MINUTE)
    clients.functions.engine.messages("slow").clear()


def letters(clients: "Clients", actor: "Actor") -> None:
    """A task is refused for good, nobody can read a wake-up, a record and a message of payments."""
    clients.hub.park(_HEALTHY_MINUTES * MINUTE)
    _task(clients, actor, "refused")
    clients.functions.engine.send("ticks", "no json")
    clients.functions.engine.send("payments", "no json")
    _, wired = clients.functions.copy("record")
    actor.wired = wired
    clients.functions.invoke(actor, "record", {"Records": [_UNREADABLE]})


_UNREADABLE: Final = {
    "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/sim-items/stream/1",
    "dynamodb": {
        "SequenceNumber": "1",
        "Keys": {"slot": {"S": "none"}, "id": {"S": "task_0wgze700nkw17zx1y1y02mkw"}},
        "NewImage": {
            "slot": {"S": "none"},
            "id": {"S": "task_0wgze700nkw17zx1y1y02mkw"},
            "tenant": {"S": "acme"},
        },
    },
}


def operated(clients: "Clients", actor: "Actor") -> None:
    """Payments and tasks all the time, and operations that have to act on tasks to come."""
    for minute in range(_HEALTHY_MINUTES + _FAULTY_MINUTES):
        later = _task(clients, actor, f"later-{minute}", delay_seconds=7200)
        for second in (0, 15, 30, 45):
            _pay(clients, actor, f"payment-{minute}-{second}")
            _task(clients, actor, f"task-{minute}-{second}")
            clients.hub.park(15 * SECOND)
        form = {"action": "cancel", "kind": "tasks", "ids": [later], "reason": "not wanted"}
        clients.ask(actor, "POST", "/api/v1/operations", {**form, "dry_run": False})
