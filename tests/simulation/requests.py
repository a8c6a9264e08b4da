"""Requests to the API: each is sent until it is answered, and its answer is noted and compared with earlier ones."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.simulation import owning, restricting, switched
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.mix import Mix
from tests.simulation.seen import Answered, Broken, Seen
from tests.simulation.workers import Functions

OPERATOR: Final = "operator"
# The secret of each tenant's own key, whose id is the tenant's name, and of the internal one.
SECRET: Final = "secret"
INTERNAL: Final = f"pd_internal_{SECRET}"
LONG: Final = "x" * 900
# No account has this name.
NOBODY: Final = "nobody"
ASKED_AGAIN: Final = frozenset({500, 502, 503, 504})
# A request that many calls have kept for longer may be out of time before its gateway is.
_QUICK: Final = 15 * SECOND
_NO_SURPRISE: Final = frozenset({200, 201, 202, 401, 404, 409, 412, 422, 503})


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    http: int
    body: Any = None
    replayed: bool = False


@dataclass(kw_only=True, slots=True, eq=False)
class Requests:
    """`busy` counts the callers that are not done."""

    hub: Hub
    functions: Functions
    seen: Seen
    mix: Callable[[], Mix]
    busy: int = 0
    _idle: list[tuple[str, Any]] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def registered(self, tenant: str, id: str, *, is_recurring: bool) -> None:
        """Is told of each item that was registered with a key."""

    @property
    def operators_bearer(self) -> str:
        return f"Bearer pd_{OPERATOR}_{SECRET}"

    def key(self) -> str:
        return f"key-{next(self._numbers)}"

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
            if answer.http not in ASKED_AGAIN and not in_progress:
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
        operates = cancels or path.startswith(owning.PATHS)
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
                "http": {"method": method, "path": path, "sourceIp": actor.address},
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
        self.hub.note(f"{method} {path} {told.replace(LONG, 'long')} {given.get('idempotency-key', '')}")
        known = self._known(path)
        self._note_keys(actor, path, form, given)
        try:
            answer = self.functions.invoke(actor, "api", event)
        except Crash:
            self.hub.note("the API died")
            self.seen.reach["api died"] += 1
            wired.guards.tenants._kept.clear()
            wired.guards.keys._kept.clear()
            restricting.note(self.seen, actor, given, form, died=True)
            return Answer(http=502)
        finally:
            self._idle.append((name, wired))
        restricting.note(self.seen, actor, given, form, died=False)
        body = json.loads(answer["body"]) if answer.get("body") else None
        replayed = any(name.lower() == "idempotent-replayed" for name in answer["headers"])
        found = Answer(http=answer["statusCode"], body=body, replayed=replayed)
        self._refuse_reused(actor, path, form, given, found)
        self._note(actor, method, path, given, found, known)
        if found.http == 404 and path.endswith("/payments/schedule") and form["to_account_id"] != NOBODY:
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
        is_forbidden = answer.http == 403 and "authorization" in given
        if answer.http not in _NO_SURPRISE and not has_quota and not is_forbidden:
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
            self.registered(str(actor.tenant), str(item), is_recurring="cron" in body)

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


def _keyed(form: Any, given: Mapping[str, str]) -> list[tuple[str, Any]]:
    """The keys of a request, each with the body that it is given with."""
    if "idempotency-key" in given:
        return [(given["idempotency-key"], form)]
    orders = (form or {}).get("payments") or (form or {}).get("tasks") or ()
    return [(order["idempotency_key"], order) for order in orders]


def _items_in(form: Any) -> int:
    orders = next((form[name] for name in ("payments", "tasks", "ids") if (form or {}).get(name)), ())
    return max(1, len(orders))
