"""Tenants at the API: they register, change and cancel, ask again with the same key until they are answered, and keep
what they were told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postdate.domain import instants
from tests.simulation import owning, switched
from tests.simulation.bookkeeping import Bookkeeping
from tests.simulation.destination import OTHER_QUEUE, QUEUE
from tests.simulation.hub import SECOND, Actor
from tests.simulation.loops import Loops
from tests.simulation.operating import Operating
from tests.simulation.receivers import Receivers
from tests.simulation.recurring import Recurring
from tests.simulation.requests import ASKED_AGAIN, INTERNAL, LONG, NOBODY, Requests
from tests.simulation.restricting import Restricting
from tests.simulation.rows import number
from tests.simulation.seen import Answered, Broken

SCOPES: Final = (
    "accounts:read admin events:read operations:write payments:read payments:write tasks:read tasks:write"
)
FLOW_KEY: Final = "/api/v1/flow-keys/key"
_INSTANTS: Final = frozenset({"delay_seconds", "run_at", "scheduled_time"})


@dataclass(kw_only=True, slots=True, eq=False)
class Clients(Requests):
    accounts: Mapping[str, list[str]]
    items: dict[str, list[str]] = field(default_factory=dict)
    is_scripted: bool = False
    recurring: Recurring = field(init=False)
    bookkeeping: Bookkeeping = field(init=False)
    operating: Operating = field(init=False)
    receivers: Receivers = field(init=False)
    loops: Loops = field(init=False)
    restricting: Restricting = field(init=False)

    def __post_init__(self) -> None:
        self.recurring = Recurring(clients=self)
        self.bookkeeping = Bookkeeping(clients=self)
        self.operating = Operating(clients=self)
        self.receivers = Receivers(clients=self)
        self.loops = Loops(clients=self)
        self.restricting = Restricting(clients=self)

    @property
    def is_calm(self) -> bool:
        """True if the clients make no mistakes of their own."""
        return self.is_scripted or self.seen.calm_at is not None

    def registered(self, tenant: str, id: str, *, is_recurring: bool) -> None:
        kept = self.recurring.known if is_recurring else self.items
        kept.setdefault(tenant, []).append(id)

    def start(self, tenant: str, requests: int, span: int) -> None:
        """Starts a caller with so many requests, spread over the time."""
        number = next(self._numbers)
        actor = Actor(name=f"client-{number}", hub=self.hub, tenant=tenant)
        self.busy += 1

        def work() -> None:
            try:
                for _ in range(requests):
                    self.hub.park(int(self.hub.draws.expovariate(1) * span / requests))
                    self._something(actor)
            finally:
                self.busy -= 1

        self.hub.spawn(actor, work)

    def follow(self, tenant: str, script: "Callable[[Clients, Actor], None]") -> None:
        actor = Actor(name="client", hub=self.hub, tenant=tenant)
        self.is_scripted = True
        self.busy += 1

        def work() -> None:
            try:
                script(self, actor)
            finally:
                self.busy -= 1

        self.hub.spawn(actor, work)

    def try_again(self, id: str) -> None:
        """A person asks for what a redrive of its dead letter does, and leaves the letter where it is."""
        actor = Actor(name="operator", hub=self.hub, tenant=self.seen.owners[id])
        path = f"/api/v1/{'runs' if id.startswith('run_') else 'tasks'}/{id}/retry"
        self.seen.reach["tried again by the API"] += 1
        self.busy += 1

        def work() -> None:
            try:
                self.ask(actor, "POST", path)
            finally:
                self.busy -= 1

        self.hub.spawn(actor, work)

    def _something(self, actor: Actor) -> None:
        draws = self.hub.draws
        paid = draws.random() < self.mix().payments
        choice = draws.random()
        others = [id for tenant, ids in self.items.items() if tenant != actor.tenant for id in ids]
        if others and draws.random() < 0.05:
            self._intrude(actor, draws.choice(others))
        own = self.items.get(str(actor.tenant), [])
        if self.mix().switched and draws.random() < 0.2:
            switched.turn(self, actor)
            return
        if self.mix().restricted and draws.random() < self.mix().restricted:
            self.restricting.something(actor)
            return
        if self.mix().owners and draws.random() < self.mix().owners:
            owning.something(self, actor)
            return
        if self.mix().operations and draws.random() < self.mix().operations:
            self.operating.something(actor)
            return
        if paid and draws.random() < self.mix().money:
            self.bookkeeping.something(actor)
            return
        if self.mix().pauses and draws.random() < self.mix().pauses:
            self._pause_the_key(actor)
            return
        if not paid and draws.random() < self.mix().recurring:
            self.recurring.something(actor)
            return
        if draws.random() < self.mix().batches:
            self._batch(actor, paid)
            return
        mine = [id for id in own if id.startswith("pay_" if paid else "task_")]
        if mine and draws.random() < self.mix().changes:
            self._edit(actor, draws.choice(mine))
        elif choice < 0.45 or not mine:
            (self._pay if paid else self._register)(actor)
        elif choice < 0.74:
            id = draws.choice(mine)
            if draws.random() < 0.4:
                self._wait_for_its_instant(id)
            (self._cancel if choice < 0.60 else self._edit)(actor, id)
        elif choice < 0.80:
            self.ask(actor, "GET", f"/api/v1/{'payments' if paid else 'tasks'}/{draws.choice(mine)}")
        elif choice < 0.84:
            self.bookkeeping.something(actor)
        elif choice < 0.88:
            self._list(actor, paid)
        elif choice < 0.92:
            self._execute(actor, [id for id in own if id.startswith("pay_")])
        else:
            self._again_with_another_body(actor)

    def _pause_the_key(self, actor: Actor) -> None:
        """Resumes each key that the run paused: its tasks would never end otherwise."""
        self.ask(actor, "POST", f"{FLOW_KEY}/pause")
        self.seen.reach["key paused"] += 1
        self.hub.park(int(self.hub.draws.uniform(5, 60) * SECOND))
        while self.ask(actor, "POST", f"{FLOW_KEY}/resume").http != 200:
            self.hub.park(SECOND)

    def _delay(self) -> int:
        draws = self.hub.draws
        delay = draws.choice((1, 1, 2, 5, 5, 30, 61, 90, 150, 200, 200 if draws.random() < 0.9 else 1000))
        return min(int(delay), self.mix().waits_max)

    def _register(self, actor: Actor) -> None:
        key = self.key()
        self.ask(actor, "POST", "/api/v1/tasks", self.task(actor, key), key=key)

    def task(self, actor: Actor, name: str) -> dict[str, Any]:
        draws, mix = self.hub.draws, self.mix()
        retry = {
            "max_attempts": self.mix().attempts,
            "initial_seconds": draws.choice((0.5, 5, 30)),
            "max_seconds": min(draws.choice((10, 120, 3000)), mix.waits_max),
            "jitter": draws.random() < 0.5,
        }
        if mix.far_retries:
            retry |= {"initial_seconds": 905, "max_seconds": 960}
        more: dict[str, Any] = {}
        if mix.explicit and draws.random() < mix.explicit:
            more["ack"] = "explicit"
        if mix.control is not None and draws.random() < mix.control.share:
            more["flow_control"] = mix.control.form
        if draws.random() < mix.deadlines:
            more["expires_after_seconds"] = draws.choice((1, 20, 100))
        other = mix.down is not None and draws.random() < 0.8
        return {
            "target": {"type": "sqs", "queue_url": OTHER_QUEUE if other else QUEUE},
            "payload": {"n": "x" * draws.choice((1, 10, len(LONG)))},
            "name": name,
            "retry": retry,
            "timeout_seconds": draws.choice(mix.timeouts),
            **more,
            **self._instant("run_at"),
        }

    def _instant(self, field: str, *, far: bool = False) -> dict[str, Any]:
        delay = self.hub.draws.choice((self._delay(), 250, 330)) if far else self._delay()
        delay = min(delay, 2 * self.mix().waits_max)
        if self.hub.draws.random() < 0.5:
            return {"delay_seconds": delay}
        instant = instants.from_milliseconds(self.hub.now // 1000 + delay * 1000)
        return {field: instant.isoformat(timespec="milliseconds")}

    def _pay(self, actor: Actor) -> None:
        key = self.key()
        self.ask(actor, "POST", "/api/v1/payments/schedule", self._payment(actor, key), key=key)

    def _payment(self, actor: Actor, name: str) -> dict[str, Any]:
        draws = self.hub.draws
        accounts = self.accounts[str(actor.tenant)]
        payer, payee = draws.sample(accounts, 2)
        return {
            "from_account_id": payer,
            "to_account_id": payee if draws.random() > 0.03 else NOBODY,
            "amount": draws.choice((1, 10, 10, 50, 50, 100, 400, 2000)),
            "funding": "at_execution" if draws.random() < self.mix().unfunded else "reserve",
            "description": name,
            **self._instant("scheduled_time"),
        }

    def _batch(self, actor: Actor, paid: bool) -> None:
        """A few at once, under keys of their own; asked again whole."""
        names = [self.key() for _ in range(self.hub.draws.randrange(1, 5))]
        if paid:
            orders = [{**self._payment(actor, name), "idempotency_key": name} for name in names]
            path, kind = "/api/v1/payments/schedule/batch", "payments"
        else:
            orders = [{**self.task(actor, name), "idempotency_key": name} for name in names]
            path, kind = "/api/v1/tasks/batch", "tasks"
        form = {kind: _at_one_instant(orders) if self.mix().at_one_instant else orders}
        for _ in range(3):
            answer = self.ask(actor, "POST", path, form)
            results = answer.body.get("results", ()) if answer.http == 200 else ()
            for result in results:
                told = result.get("payment") or result.get("task")
                if told:
                    id = told.get("payment_id") or told["task_id"]
                    first = self.seen.keys.setdefault((str(actor.tenant), path, names[result["index"]]), told)
                    if first != told:
                        raise Broken(f"I13: {names[result['index']]}: {first} and {told}")
                    self.items.setdefault(str(actor.tenant), []).append(id)
                    self.seen.answered.append(
                        Answered(
                            request=f"batch {names[result['index']]}",
                            http=201,
                            item=id,
                            version=1,
                            status=told["status"],
                            tenant=str(actor.tenant),
                            at=self.hub.now,
                        )
                    )
                elif error := result.get("error"):
                    self.seen.reach[f"http {error['status']} {error['code']}"] += 1
            if results and not any(
                result.get("error", {}).get("status") in ASKED_AGAIN for result in results
            ):
                return

    def _cancel(self, actor: Actor, id: str) -> None:
        if id.startswith("pay_"):
            self.ask(actor, "DELETE", f"/api/v1/payments/{id}/cancel")
        else:
            self.ask(actor, "DELETE", f"/api/v1/tasks/{id}")

    def _edit(self, actor: Actor, id: str) -> None:
        draws = self.hub.draws
        named = self._known(f"/api/v1/x/{id}") - draws.choice((0, 1)) if draws.random() < 0.4 else 0
        headers = {"if-match": str(named)} if named > 0 else {}
        if id.startswith("pay_"):
            form = self._instant("scheduled_time", far=True) if draws.random() < 0.6 else {}
            if not form or draws.random() < 0.3:
                form["amount"] = draws.choice((1, 10, 50, 700))
            answer = self.ask(actor, "PATCH", f"/api/v1/payments/{id}", form, headers=headers)
        else:
            form = self._instant("run_at", far=True) if draws.random() < 0.7 else {"payload": {"n": LONG}}
            answer = self.ask(actor, "PATCH", f"/api/v1/tasks/{id}", form, headers=headers)
        if named > 0 and answer.http == 200 and answer.body["version"] != named + 1:
            raise Broken(f"I14: {id} was changed from version {named} to {answer.body['version']}")

    def _wait_for_its_instant(self, id: str) -> None:
        """Comes back at the instant of the item, when a worker has it."""
        row = self.seen.item(id)
        if row is not None:
            moment = number(row, "due") * 1000 + int(self.hub.draws.uniform(-1, 0.2) * SECOND)
            if moment > self.hub.now:
                self.seen.reach["raced for an item"] += 1
                self.hub.park(moment - self.hub.now)

    def _intrude(self, actor: Actor, id: str) -> None:
        """Another tenant's item is not there."""
        if id.startswith("pay_"):
            answer = self.ask(actor, "DELETE", f"/api/v1/payments/{id}/cancel")
        else:
            answer = self.ask(actor, "DELETE", f"/api/v1/tasks/{id}")
        self.seen.reach["intrusion"] += 1
        if answer.http not in (404, *ASKED_AGAIN):
            raise Broken(f"I19: {actor.tenant} asks for {id} of another and is answered {answer.http}")

    def _list(self, actor: Actor, paid: bool) -> None:
        account = self.hub.draws.choice(self.accounts[str(actor.tenant)])
        self.ask(actor, "GET", f"/api/v1/payments?account_id={account}" if paid else "/api/v1/tasks")

    def _execute(self, actor: Actor, payments: list[str]) -> None:
        if payments:
            id = self.hub.draws.choice(payments)
            self.ask(
                actor,
                "POST",
                f"/api/v1/internal/payments/{id}/execute",
                {"execution_id": f"exe-{next(self._numbers)}"},
                headers={"x-internal-auth": INTERNAL},
            )

    def _again_with_another_body(self, actor: Actor) -> None:
        keys = [
            key for tenant, path, key in self.seen.keys if tenant == actor.tenant and path.endswith("tasks")
        ]
        if not keys:
            return
        key = self.hub.draws.choice(keys)
        answer = self.ask(actor, "POST", "/api/v1/tasks", self.task(actor, "another"), key=key)
        if answer.http not in (422, 503, 504, 502):
            raise Broken(f"I13: another body under {key} is answered {answer.http}")


def _at_one_instant(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of them at the instant of the first, so that one message calls them and one letter may tell of them."""
    instant = {name: value for name, value in orders[0].items() if name in _INSTANTS}
    return [
        {**{name: value for name, value in each.items() if name not in _INSTANTS}, **instant}
        for each in orders
    ]
