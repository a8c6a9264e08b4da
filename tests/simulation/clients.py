"""Tenants at the API: they register, change and cancel, ask again with the same key until they are answered, and keep
what they were told."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postdate.domain import instants
from tests.simulation import switched
from tests.simulation.bookkeeping import Bookkeeping
from tests.simulation.destination import OTHER_QUEUE, QUEUE
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.loops import Loops
from tests.simulation.mix import Mix
from tests.simulation.operating import Operating
from tests.simulation.receivers import Receivers
from tests.simulation.recurring import Recurring
from tests.simulation.rows import number
from tests.simulation.seen import Answered, Broken, Seen
from tests.simulation.workers import Functions

OPERATOR: Final = "operator"
SCOPES: Final = (
    "accounts:read admin events:read operations:write payments:read payments:write tasks:read tasks:write"
)
# Of each tenant's own key, whose id is the tenant's name, and of the internal one.
SECRET: Final = "secret"
INTERNAL: Final = f"pd_internal_{SECRET}"
FLOW_KEY: Final = "/api/v1/flow-keys/key"
_LONG: Final = "x" * 900
_ASKED_AGAIN: Final = frozenset({500, 502, 503, 504})
_NOBODY: Final = "nobody"
_INSTANTS: Final = frozenset({"delay_seconds", "run_at", "scheduled_time"})
# A request that many calls have kept for longer may be out of time before its gateway is.
_QUICK: Final = 15 * SECOND
_NO_SURPRISE: Final = frozenset({200, 201, 202, 401, 404, 409, 412, 422, 503})


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    http: int
    body: Any = None
    replayed: bool = False


@dataclass(kw_only=True, slots=True, eq=False)
class Clients:
    hub: Hub
    functions: Functions
    seen: Seen
    mix: Callable[[], Mix]
    accounts: Mapping[str, list[str]]
    items: dict[str, list[str]] = field(default_factory=dict)
    busy: int = 0
    is_scripted: bool = False
    recurring: Recurring = field(init=False)
    bookkeeping: Bookkeeping = field(init=False)
    operating: Operating = field(init=False)
    receivers: Receivers = field(init=False)
    loops: Loops = field(init=False)
    _idle: list[tuple[str, Any]] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.recurring = Recurring(clients=self)
        self.bookkeeping = Bookkeeping(clients=self)
        self.operating = Operating(clients=self)
        self.receivers = Receivers(clients=self)
        self.loops = Loops(clients=self)

    @property
    def is_calm(self) -> bool:
        """True if the clients make no mistakes of their own."""
        return self.is_scripted or self.seen.calm_at is not None

    def key(self) -> str:
        return f"key-{next(self._numbers)}"

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

    def ask(
        self,
        actor: Actor,
        method: str,
        path: str,
        form: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        tries: int | None = None,
    ) -> Answer:
        """Again and again until there is an answer; an impatient caller does not even wait for that."""
        given = dict(headers or {}) | ({} if key is None else {"idempotency-key": key})
        answer = Answer(http=504)
        for attempt in range(tries or self.mix().tries):
            if key is not None and self.hub.draws.random() < self.mix().impatient:
                delay = int(self.hub.draws.choice((0, 0.1, 5)) * SECOND)
                self.beside(actor, method, path, form, given, delay=delay)
            answer = self._once(actor, method, path, form, given)
            in_progress = answer.http == 409 and key is not None and method == "POST"
            if answer.http not in _ASKED_AGAIN and not in_progress:
                break
            self.hub.park(int(self.hub.draws.uniform(0.1, 2 ** min(attempt, 6)) * SECOND))
        return answer

    def beside(
        self,
        actor: Actor,
        method: str,
        path: str,
        form: Any,
        given: Mapping[str, str] | None = None,
        *,
        delay: int = 0,
    ) -> None:
        """Asks once, and does not wait for the answer."""
        twin = Actor(name=f"{actor.name}'", hub=self.hub, tenant=actor.tenant)
        self.seen.reach["asked twice at once"] += 1
        self.busy += 1

        def work() -> None:
            try:
                self._once(twin, method, path, form, given or {})
            finally:
                self.busy -= 1

        self.hub.spawn(twin, work, delay=delay)

    def _once(self, actor: Actor, method: str, path: str, form: Any, given: Mapping[str, str]) -> Answer:
        name, wired = self._idle.pop() if self._idle else self.functions.copy("api")
        actor.wired = wired
        actor.skewed(self._skew(name))
        actor.path, actor.items_asked = path, _items_in(form)
        path, _, query = path.partition("?")
        # Cancelling what waits for a person takes an operator, who names the tenant.
        cancels = path.startswith("/api/v1/payments/") and path.endswith("/cancel")
        operates = cancels or path.startswith(switched.PATH)
        key_id = OPERATOR if operates else actor.tenant
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "ANY /{proxy+}",
            "rawPath": path,
            "rawQueryString": query,
            "headers": {
                "content-type": "application/json",
                "host": "simulation",
                "authorization": f"Bearer pd_{key_id}_{SECRET}",
                **({"postdate-tenant": actor.tenant} if operates else {}),
                **given,
            },
            "requestContext": {
                "http": {"method": method, "path": path},
                "stage": "$default",
                "requestId": f"request-{next(self._numbers)}",
                "authorizer": {"lambda": {"tenant": "" if operates else actor.tenant, "key_id": key_id}},
            },
            "body": None if form is None else json.dumps(form),
            "isBase64Encoded": False,
        }
        if query:
            event["queryStringParameters"] = dict(part.split("=", 1) for part in query.split("&"))
        told = json.dumps(form) if form else ""
        self.hub.note(f"{method} {path} {told.replace(_LONG, 'long')} {given.get('idempotency-key', '')}")
        known = self._known(path)
        self._note_keys(actor, path, form, given)
        try:
            answer = self.functions.invoke(actor, "api", event)
        except Crash:
            self.hub.note("the API died")
            self.seen.reach["api died"] += 1
            wired.tenants._kept.clear()
            wired.keys._kept.clear()
            return Answer(http=502)
        finally:
            self._idle.append((name, wired))
        body = json.loads(answer["body"]) if answer.get("body") else None
        replayed = any(name.lower() == "idempotent-replayed" for name in answer["headers"])
        found = Answer(http=answer["statusCode"], body=body, replayed=replayed)
        self._refuse_reused(actor, path, form, given, found)
        self._note(actor, method, path, given, found, known)
        if found.http == 404 and path.endswith("/payments/schedule") and form["to_account_id"] != _NOBODY:
            raise Broken(f"I14: an account that is there is told to be missing: {found.body}")
        return found

    def _note(
        self, actor: Actor, method: str, path: str, given: Mapping[str, str], answer: Answer, known: int
    ) -> None:
        body = answer.body if isinstance(answer.body, dict) else {}
        code = body.get("code", "")
        self.hub.note(f"{answer.http} {code} {'again' if answer.replayed else ''}")
        self.seen.reach[f"http {answer.http} {code}".strip()] += 1
        self.seen.reach["replayed"] += answer.replayed
        began = self.seen.began
        has_quota = answer.http == 429 and code == "quota_exceeded" and (began.quota or began.stored)
        if answer.http not in _NO_SURPRISE and not has_quota:
            raise Broken(f"the API answers {method} {path} with {answer.http}: {answer.body}")
        was_quick = self.hub.now - actor.invoked_at < _QUICK
        expected = actor.faults or self.seen.began.newer_forms or switched.stopped_it(self.mix(), body)
        if answer.http == 503 and was_quick and not expected:
            raise Broken(f"I13: {method} {path} is put off although nothing goes wrong: {answer.body}")
        if answer.http == 201 and (key := given.get("idempotency-key")):
            # A run that was asked for before is told as it is now.
            told = {"run_id": body["run_id"]} if "run_id" in body else body
            first = self.seen.keys.setdefault((str(actor.tenant), path, key), told)
            if first != told:
                raise Broken(f"I13: the key {key} was answered with {first} and with {told}")
        item = body.get("run_id") or body.get("payment_id") or body.get("task_id")
        if item is None or "version" not in body:
            return
        if not answer.replayed:
            if str(item) in path and int(body["version"]) < known:
                raise Broken(f"I14: {item} was version {known} before and is told as {body['version']}")
            self.seen.answered.append(
                Answered(
                    request=f"{method} {path}",
                    http=answer.http,
                    item=str(item),
                    version=int(body["version"]),
                    status=body.get("status"),
                    tenant=str(actor.tenant),
                    at=self.hub.now,
                )
            )
        if answer.http == 201 and "idempotency-key" in given and "run_id" not in body:
            kept = self.recurring.known if "cron" in body else self.items
            kept.setdefault(str(actor.tenant), []).append(str(item))

    def _note_keys(self, actor: Actor, path: str, form: Any, given: Mapping[str, str]) -> None:
        for key, body in _keyed(form, given):
            self.seen.bodies[str(actor.tenant), path, key].add(json.dumps(body, sort_keys=True))

    def _refuse_reused(
        self, actor: Actor, path: str, form: Any, given: Mapping[str, str], answer: Answer
    ) -> None:
        """A key that was only ever given with one body is not told to be another request's."""
        body = answer.body if isinstance(answer.body, dict) else {}
        results = [*body.get("results", ())] or [{"index": 0, "error": body}]
        keys = [key for key, _ in _keyed(form, given)]
        for result in results if keys else ():
            key, code = keys[result["index"]], (result.get("error") or {}).get("code")
            if code == "idempotency_key_reused" and len(self.seen.bodies[str(actor.tenant), path, key]) == 1:
                raise Broken(f"I13: {key} is said to be another request's, and had one body only")

    def _known(self, path: str) -> int:
        id = path.split("/")[4] if path.count("/") >= 4 else ""
        return max((told.version for told in self.seen.answered if told.item == id), default=0)

    def _skew(self, name: str) -> int:
        mix = self.mix()
        return self.functions.skews.setdefault(name, self.hub.draws.randint(-mix.skew, mix.skew))

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
            "payload": {"n": "x" * draws.choice((1, 10, len(_LONG)))},
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
            "to_account_id": payee if draws.random() > 0.03 else _NOBODY,
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
                result.get("error", {}).get("status") in _ASKED_AGAIN for result in results
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
            form = self._instant("run_at", far=True) if draws.random() < 0.7 else {"payload": {"n": _LONG}}
            answer = self.ask(actor, "PATCH", f"/api/v1/tasks/{id}", form, headers=headers)
        if named > 0 and answer.http == 200 and answer.body["version"] != named + 1:
            raise Broken(f"I14: {id} was changed from version {named} to {answer.body['version']}")

    def _wait_for_its_instant(self, id: str) -> None:
        """To be there when somebody else is."""
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
        if answer.http not in (404, *_ASKED_AGAIN):
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


def _keyed(form: Any, given: Mapping[str, str]) -> list[tuple[str, Any]]:
    """The keys of a request, each with the body that it is given with."""
    if "idempotency-key" in given:
        return [(given["idempotency-key"], form)]
    orders = (form or {}).get("payments") or (form or {}).get("tasks") or ()
    return [(order["idempotency_key"], order) for order in orders]


def _items_in(form: Any) -> int:
    orders = next((form[name] for name in ("payments", "tasks", "ids") if (form or {}).get(name)), ())
    return max(1, len(orders))
