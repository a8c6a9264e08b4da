"""Administrators' requests: deposits, adjustments, freezing, closing, listing, and setting an account to its journal.

Nobody but an administrator damages an account here, so a setting right that changes any other account is wrong.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import MINUTE
from tests.simulation.rows import number
from tests.simulation.seen import Broken

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.requests import Answer

# An account that few runs pay from or to, so that it has not changed for long.
RESTING: Final = "dave"
TO_JOURNAL: Final = {"to_journal": True, "reason": "the audit names it"}


@dataclass(kw_only=True, slots=True, eq=False)
class Bookkeeping:
    clients: "Clients"

    def something(self, actor: Actor) -> None:
        clients, draws = self.clients, self.clients.hub.draws
        account = draws.choice(clients.accounts[str(actor.tenant)])
        path = f"/api/v1/accounts/{account}"
        if draws.random() < clients.mix().restated and clients.seen.began.commits_within_minutes:
            self._set_right(actor, account)
            return
        if clients.mix().closing and draws.random() < clients.mix().closing:
            self._close(actor)
            return
        match draws.randrange(4):
            case 0:
                clients.ask(actor, "POST", f"{path}/deposits", {"amount": 100}, key=clients.key())
            case 1:
                form = {"amount": draws.choice((-300, 50)), "reason": "counted again"}
                clients.ask(actor, "POST", f"{path}/adjustments", form, key=clients.key())
            case 2:
                clients.ask(actor, "POST", f"{path}/freeze")
                clients.hub.park(int(draws.uniform(0, 2) * MINUTE))
                clients.ask(actor, "POST", f"{path}/unfreeze", tries=50)
            case _:
                clients.ask(actor, "GET", f"{path}/transactions")

    def _close(self, actor: Actor) -> None:
        """Opens an account, and closes it while money is on its way to it, out of it and back."""
        clients, draws = self.clients, self.clients.hub.draws
        account = f"closing-{clients.key()}"
        path = f"/api/v1/accounts/{account}"
        if clients.ask(actor, "POST", "/api/v1/accounts", {"account_id": account}).http != 201:
            return
        clients.ask(actor, "POST", f"{path}/deposits", {"amount": 100}, key=clients.key())
        for payer, payee, funding in (
            (account, "alice", draws.choice(("reserve", "at_execution"))),
            ("alice", account, "reserve"),
        ):
            form = {
                "from_account_id": payer,
                "to_account_id": payee,
                "amount": draws.choice((10, 100)),
                "delay_seconds": draws.choice((1, 2, 5)),
                "funding": funding,
            }
            self._aside(actor, "/api/v1/payments/schedule", form)
        self._aside(actor, f"{path}/adjustments", {"amount": -100, "reason": "out"})
        for _ in range(4):
            answer = clients.ask(actor, "POST", f"{path}/close")
            clients.seen.reach[f"close {answer.http}"] += 1
            self._aside(actor, f"{path}/adjustments", {"amount": draws.choice((5, -5)), "reason": "again"})
            clients.hub.park(int(draws.uniform(0, 3) * SECOND))

    def _aside(self, actor: Actor, path: str, form: dict[str, Any]) -> None:
        """Another caller asks at about the same time, with another key."""
        clients = self.clients
        beside = Actor(name=f"{actor.name} aside", hub=clients.hub, tenant=actor.tenant)
        clients.busy += 1

        def work() -> None:
            try:
                clients.ask(beside, "POST", path, form, key=clients.key(), tries=3)
            finally:
                clients.busy -= 1

        clients.hub.spawn(beside, work, delay=int(clients.hub.draws.uniform(0, 2) * SECOND))

    def damage(self, actor: Actor, account: str, amount: int) -> None:
        """Writes into an account's row beside the ledger."""
        key = f"{actor.tenant}#{account}"
        row = self.clients.seen.engine.row("accounts", key)
        assert row is not None
        available = {"N": str(number(row, "available") + amount)}
        self.clients.seen.engine.write("accounts", {**row, "available": available})
        self.clients.seen.damaged[key] += amount
        self.clients.hub.note(f"{key} is damaged by {amount}")

    def set_right(self, actor: Actor, account: str, key: str) -> "Answer":
        return self.clients.ask(actor, "POST", f"/api/v1/accounts/{account}/adjustments", TO_JOURNAL, key=key)

    def _set_right(self, actor: Actor, account: str) -> None:
        clients, draws = self.clients, self.clients.hub.draws
        if draws.random() < 0.3:
            account = RESTING
        rests = RESTING not in clients.accounts[str(actor.tenant)]
        if account == RESTING and rests and draws.random() < 0.5:
            self.damage(actor, account, draws.choice((-50, 70)))
        key = clients.key()
        answer = self.set_right(actor, account, key)
        clients.seen.reach["set right" if answer.http == 201 else "not set right"] += 1
        if answer.http in (201, 409) and draws.random() < 0.3:
            self._same_key(actor, account, key, {"amount": 5, "reason": "counted again"})

    def _same_key(self, actor: Actor, account: str, key: str, form: dict[str, Any]) -> None:
        path = f"/api/v1/accounts/{account}/adjustments"
        answer = self.clients.ask(actor, "POST", path, form, key=key)
        if answer.http not in (422, 502, 503, 504):
            raise Broken(f"I13: another adjustment under {key} is answered {answer.http}")
