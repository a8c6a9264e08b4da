"""Keys with restrictions: callers pay under them, ask for what they forbid, and operators rotate them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import SECOND, Actor
from tests.simulation.restricted import Key
from tests.simulation.seen import Broken, Seen

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.requests import Answer

_KEYS: Final = "/api/v1/keys"
_SCHEDULE: Final = "/api/v1/payments/schedule"
_ACTIONS: Final = ("schedulePayment", "schedulePayments", "changePayment")
_AMOUNT_MAX: Final = 100
_NETWORK: Final = "10.0.0.0/8"
_ELSEWHERE: Final = "192.0.2.7"
_UNKNOWN: Final = 401
_FORBIDDEN: Final = 403
_AT_ONCE: Final = 3


@dataclass(kw_only=True, slots=True, eq=False)
class Restricting:
    """`texts` are the bearers of the tenants' keys with restrictions, `newest` the ids of these keys, which are in
    `Seen.restricted`."""

    clients: "Clients"
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)

    def something(self, actor: Actor) -> None:
        draws = self.clients.hub.draws
        if str(actor.tenant) not in self.texts:
            self._make(actor)
            return
        match draws.randrange(10):
            case 0 | 1 | 2 | 3:
                self._pay(actor, self._form(actor))
            case 4 | 5:
                self._pay_at_once(actor)
            case 6:
                self._pay_together(actor)
            case 7:
                self._pay_and_change(actor)
            case 8:
                self._ask_for_more(actor)
            case _:
                self._rotate(actor)

    def _make(self, actor: Actor) -> None:
        """A key whose answer was lost is a key that nobody uses."""
        draws = self.clients.hub.draws
        accounts = sorted(draws.sample(self.clients.accounts[str(actor.tenant)], 2))
        most = draws.choice((200, 500, 1500))
        form = {
            "name": "restricted",
            "scopes": ["payments:write"],
            "account_ids": accounts,
            "amount_max": _AMOUNT_MAX,
            "amount_per_day_max": most,
            "networks": [_NETWORK],
            "actions": list(_ACTIONS),
        }
        answer = self.clients.ask(actor, "POST", _KEYS, form)
        if answer.http == 201:
            id = answer.body["key_id"]
            key = Key(id=id, most=most, amount_max=_AMOUNT_MAX, accounts=frozenset(accounts))
            self.clients.seen.restricted[id] = key
            self.texts[str(actor.tenant)] = id, answer.body["key"]
            self.newest[str(actor.tenant)] = id

    def _form(self, actor: Actor) -> dict[str, Any]:
        draws, accounts = self.clients.hub.draws, self.clients.accounts[str(actor.tenant)]
        own = sorted(self._key(actor).accounts)
        payer = draws.choice(own)
        return {
            "from_account_id": payer,
            "to_account_id": draws.choice([each for each in accounts if each != payer]),
            "amount": draws.choice((10, 20, 50, 80, 100)),
            "delay_seconds": draws.choice((5, 60)),
        }

    def _pay(self, actor: Actor, form: dict[str, Any]) -> "Answer":
        """Sometimes asks again with the same Idempotency-Key, although the answer came."""
        draws, key = self.clients.hub.draws, self.clients.key()
        form = {**form, "description": key}
        answer = self._asked(actor, "POST", _SCHEDULE, form, key=key)
        if draws.random() < 0.3:
            self._asked(actor, "POST", _SCHEDULE, form, key=key)
        return answer

    def _pay_at_once(self, actor: Actor) -> None:
        """Callers side by side ask for all that is left of the day."""
        clients = self.clients
        for number in range(_AT_ONCE):
            beside = Actor(name=f"{actor.name} beside {number}", hub=clients.hub, tenant=actor.tenant)
            form = self._form(actor) | {"amount": _AMOUNT_MAX}
            clients.busy += 1

            def work(beside: Actor = beside, form: dict[str, Any] = form) -> None:
                try:
                    self._pay(beside, form)
                finally:
                    clients.busy -= 1

            clients.hub.spawn(beside, work, delay=int(clients.hub.draws.uniform(0, 0.1) * SECOND))

    def _pay_together(self, actor: Actor) -> None:
        names = [self.clients.key() for _ in range(self.clients.hub.draws.randrange(2, 5))]
        orders = [{**self._form(actor), "description": name, "idempotency_key": name} for name in names]
        self._asked(actor, "POST", f"{_SCHEDULE}/batch", {"payments": orders})

    def _pay_and_change(self, actor: Actor) -> None:
        """Each change names an amount that the payment does not have."""
        answer = self._pay(actor, self._form(actor) | {"amount": 10})
        if answer.http == 201:
            path = f"/api/v1/payments/{answer.body['payment_id']}"
            for amount in self.clients.hub.draws.sample(range(11, 60), 2):
                self._asked(actor, "PATCH", path, {"amount": amount})
                self.clients.hub.park(int(self.clients.hub.draws.choice((0, 5, 70)) * SECOND))

    def _ask_for_more(self, actor: Actor) -> None:
        """Asks for what the key forbids: another operation, another account, another network, a larger amount."""
        draws, form = self.clients.hub.draws, self._form(actor)
        accounts = self.clients.accounts[str(actor.tenant)]
        match draws.randrange(4):
            case 0:
                known = [id for id in self.clients.items.get(str(actor.tenant), []) if id.startswith("pay_")]
                if known:
                    self._refused(actor, "DELETE", f"/api/v1/payments/{draws.choice(known)}/cancel", None)
            case 1:
                foreign = draws.choice([each for each in accounts if each not in self._key(actor).accounts])
                payee = draws.choice([each for each in accounts if each != foreign])
                self._refused(
                    actor,
                    "POST",
                    _SCHEDULE,
                    form | {"from_account_id": foreign, "to_account_id": payee},
                )
            case 2:
                actor.address = _ELSEWHERE
                self._refused(actor, "POST", _SCHEDULE, form)
                actor.address = Actor.address
            case _:
                self._pay(actor, form | {"amount": _AMOUNT_MAX + 10})

    def _refused(self, actor: Actor, method: str, path: str, form: dict[str, Any] | None) -> None:
        name = self.clients.key() if form is not None else None
        answer = self._asked(actor, method, path, form and {**form, "description": name}, key=name)
        self.clients.seen.reach["forbidden to a restricted key"] += answer.http == _FORBIDDEN
        if answer.http < 300:
            raise Broken(f"I17: a restricted key asks {method} {path} and is answered {answer.http}")

    def _rotate(self, actor: Actor) -> None:
        """The text of before is refused; the next requests have the new one."""
        id = self.newest[str(actor.tenant)]
        answer = self.clients.ask(actor, "POST", f"{_KEYS}/{id}/rotate", {"overlap_seconds": 60})
        if answer.http == 200:
            self.texts[str(actor.tenant)] = id, answer.body["key"]

    def _key(self, actor: Actor) -> Key:
        return self.clients.seen.restricted[self.newest[str(actor.tenant)]]

    def _asked(self, actor: Actor, method: str, path: str, form: Any, *, key: str | None = None) -> "Answer":
        _, text = self.texts.get(str(actor.tenant), ("", "pd_gone_gone"))
        headers = {"authorization": f"Bearer {text}"}
        answer = self.clients.ask(actor, method, path, form, key=key, headers=headers)
        if answer.http == _UNKNOWN and self.texts.get(str(actor.tenant), ("", ""))[1] == text:
            # A rotation whose answer was lost: nobody knows the new text.
            del self.texts[str(actor.tenant)]
        return answer


def amount_in(form: Any) -> int:
    """The sum that a request asks for."""
    orders = (form or {}).get("payments") or [form or {}]
    return sum(int(order.get("amount", 0)) for order in orders)


def note(seen: Seen, actor: Actor, given: Mapping[str, str], form: Any, *, died: bool) -> None:
    """Notes a request under a restricted key in which something went wrong."""
    bearer = given.get("authorization", "")
    key = seen.restricted.get(bearer.split("_")[1]) if bearer else None
    if key is not None and (died or actor.faults):
        # Each lost answer of a write makes the SDK repeat it.
        key.unknown += amount_in(form) * max(1, actor.faults)
