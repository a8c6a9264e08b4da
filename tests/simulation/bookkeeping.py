"""Administrators' requests: deposits, adjustments, freezing, listing, and setting an account to its journal.

Nobody but an administrator damages an account here, so a setting right that changes any other account is wrong.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import Actor
from tests.simulation.mix import MINUTE
from tests.simulation.rows import number
from tests.simulation.seen import Broken

if TYPE_CHECKING:
    from tests.simulation.clients import Answer, Clients

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
