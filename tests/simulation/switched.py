"""Switches in a run: real ones where operators turn them, and otherwise switches that are on and cost no call, so that
seeds from before there were any still draw the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.switch import Switch
from postdate.stores.switchboard import Switchboard
from tests.simulation.boundary import Touched
from tests.simulation.call import Call
from tests.simulation.engine import Change
from tests.simulation.hub import SECOND, Actor
from tests.simulation.rows import is_payment, number, text
from tests.simulation.seen import Broken, Seen

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.mix import Mix

PATH: Final = "/api/v1/ops/switches/"
_STOPS_AFTER: Final = 2 * SECOND
_SETTLEMENT: Final = "settlement"
_LASTS: Final = (0.5, 3, 10, 60, 200)
_LASTS_AT_AN_INSTANT: Final = (20, 40)


class AlwaysOn(Switchboard):
    def __init__(self) -> None:
        pass

    def is_stale(self, names: Iterable[str], at: datetime) -> bool:
        return False

    def look(self, names: Iterable[str]) -> None:
        pass

    def known(self, name: str) -> Switch | None:
        return Switch(name=name)

    def last(self, name: str) -> Switch:
        return Switch(name=name)

    def seconds_left(self, names: Iterable[str]) -> float:
        return 1.0


def arrange(wired: Any, *, real: bool) -> None:
    """Gives a worker the switches of this run, as a new process has them."""
    for board in _boards(wired):
        board.forget()
        board.__class__ = Switchboard if real else AlwaysOn


def _boards(wired: Any) -> Iterator[Switchboard]:
    for found in (
        getattr(getattr(wired, "guards", wired), "switchboard", None),
        getattr(getattr(wired, "sweeper", None), "switchboard", None),
    ):
        if found is not None:
            yield found


def turn(clients: "Clients", actor: Actor) -> None:
    """Turns a switch off for a while, or, where much is due at one instant, at such an instant. Whoever stops money
    lets it go on: otherwise nothing would ever end."""
    draws = clients.hub.draws
    lasts = _LASTS
    if clients.mix().at_one_instant:
        if clients.seen.stopped:
            return
        _wait_for_a_payment(clients)
        lasts = _LASTS_AT_AN_INSTANT
    name = draws.choice((_SETTLEMENT, _SETTLEMENT, f"tenant:{actor.tenant}"))
    _put(clients, actor, name, on=False)
    clients.seen.reach["switched off"] += 1
    clients.hub.park(int(draws.choice(lasts) * SECOND))
    _put(clients, actor, name, on=True)


def _wait_for_a_payment(clients: "Clients") -> None:
    """To be there when the next payment is settled."""
    hub = clients.hub
    coming = [
        number(row, "due") * 1000
        for row in clients.seen.items()
        if is_payment(row) and text(row, "status") == "PENDING" and number(row, "due") * 1000 > hub.now
    ]
    if coming:
        hub.park(max(0, min(coming) - hub.now + int(hub.draws.uniform(-0.3, 0.5) * SECOND)))
        clients.seen.reach["switched off at the instant of a payment"] += 1


def _put(clients: "Clients", actor: Actor, name: str, *, on: bool) -> None:
    while clients.ask(actor, "PUT", PATH + name, {"on": on, "reason": "test"}).http != 200:
        clients.hub.park(SECOND)


def stopped_it(mix: "Mix", told: Mapping[str, Any]) -> bool:
    """True if an answer says that a switch stops what was asked for."""
    return mix.switched and "is switched off" in str(told.get("detail"))


def i25_notes_what_is_off(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """From a commit on, a switch is off or on. Nothing falls due to be checked here."""
    for change in changes:
        if change.table != "switches" or change.after is None:
            continue
        name = change.key[0]
        if text(change.after, "status") == "off":
            seen.stopped.setdefault(name, seen.hub.now)
        else:
            seen.stopped.pop(name, None)


def i25_nothing_settles_while_it_is_off(seen: Seen, actor: Actor, call: Call, touched: list[Touched]) -> None:
    """No transaction that ends a payment begins later than two seconds after the switch was turned off. A deadline
    that was met when the call was sent is met: nobody can take back a call that is under way."""
    if call.operation != "TransactWriteItems" or not seen.stopped:
        return
    for action in call.asked["TransactItems"]:
        for each in action.values():
            if each["TableName"] != "sim-payments" or not _completes(each):
                continue
            id = (each.get("Item") or each["Key"])["id"]["S"]
            for name in (_SETTLEMENT, f"tenant:{seen.owners.get(id)}"):
                off_at = seen.stopped.get(name)
                if off_at is not None and seen.hub.now > off_at + _STOPS_AFTER:
                    late = (seen.hub.now - off_at) / SECOND
                    raise Broken(f"I25: {id} is settled {late} s after {name} was switched off")
    seen.reach["settled soon after a switch was turned off"] += 1


def _completes(written: Any) -> bool:
    values = [
        *(written.get("ExpressionAttributeValues") or {}).values(),
        *(written.get("Item") or {}).values(),
    ]
    return {"S": "COMPLETED"} in values
