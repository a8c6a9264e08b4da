"""The use cases of payments over a ledger in memory, with three accounts of the tenant `demo`."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from functions.api.caller import Caller
from functions.api.payments.change import PaymentChanger
from functions.api.payments.draft import PaymentOrder
from functions.api.payments.execute import Executor
from functions.api.payments.register import PaymentRegistrar, RegisteredPayment
from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import PostdateError
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment, Terms
from postdate.domain.posting import Leg, Posting
from postdate.domain.scopes import INTERNAL
from postdate.domain.sweeping import Horizon
from postdate.stores.api_key import ApiKey
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.keys_memory import MemoryKeys
from postdate.stores.ledger import ListedPayment, PaymentsWanted, Posted, PostingAnswer
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches_memory import MemorySwitches
from postdate.stores.vault import Vault
from postdate.use_cases.settling import Settling
from tests.unit.api.conftest import LockedReservations
from tests.unit.doubles import (
    MINUTE,
    PLAN,
    SECOND,
    START,
    ManualClock,
    Scripted,
    ScriptedArchive,
    ScriptedQueue,
    unique,
)

FAR = START + 60 * MINUTE
ANYBODY = Caller(tenant="demo", key_id="k", scopes=frozenset({"payments:write"}))


class ScriptedLedger(Scripted, MemoryLedger):
    """The next posts of `unanswered` are made, and answered as if they were not; those of `unavailable` are not made.
    Its indexes are `lag` behind."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(shards=PLAN)
        self.clock = clock
        self.lag = timedelta(0)
        self.written: dict[str, datetime] = {}
        self.unavailable = 0
        self.unanswered = 0
        self.posted: list[list[Posting]] = []

    def payment(self, id: str) -> Payment | None:
        self._happens("payment")
        return super().payment(id)

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        self._happens("accounts")
        return super().accounts(tenant, ids)

    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
        self._happens("post")
        self.posted.append(list(postings))
        if self.unavailable:
            self.unavailable -= 1
            return [Posted(answer=PostingAnswer.UNAVAILABLE)] * len(postings)
        done = super().post(postings, together=together)
        for posting in postings:
            for each in (posting.after, posting.movement):
                if each is not None:
                    self.written.setdefault(each.id, self.clock.now())
        if self.unanswered:
            self.unanswered -= 1
            return [Posted(answer=PostingAnswer.STALE)] * len(postings)
        return done

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        found = super().payments_listed(wanted, after=after, limit=limit)
        return [each for each in found if self._is_listed(each.id)]

    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        """The payer's listing is the table itself."""
        self._happens("movements")
        found = super().movements(tenant, account, after=after, limit=limit, whole=whole)
        return [each for each in found if each.payer in (None, account) or self._is_listed(each.id)]

    def _is_listed(self, id: str) -> bool:
        return id not in self.written or self.written[id] + self.lag <= self.clock.now()

    @property
    def state(self) -> tuple[dict[Any, Any], ...]:
        """All that is written."""
        return dict(self._accounts), dict(self._payments), dict(self._movements)


class Bank:
    """`payer` has 1,000; `payee` and `third` have nothing."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ledger = ScriptedLedger(self.clock)
        self.reservations = LockedReservations()
        self.queue = ScriptedQueue(self.clock)
        self.keys = MemoryKeys(
            ApiKey(
                id="in",
                secret_sha256=plain_hash_of("secret"),
                tenant="nobody",
                scopes=frozenset({INTERNAL, "ops"}),
            ),
            ApiKey(id="out", secret_sha256=plain_hash_of("secret"), tenant="demo", scopes=frozenset({"ops"})),
        )
        self.switches = MemorySwitches()
        self.archive, self.data_keys = ScriptedArchive(), MemoryDataKeys()
        horizon = Horizon(lead=120 * SECOND, margin=60 * SECOND)
        numbers = count(1)
        self.unique = lambda: unique(next(numbers))
        shared: dict[str, Any] = {
            "ledger": self.ledger,
            "queue": self.queue,
            "horizon": horizon,
            "clock": self.clock,
            "archived": ArchivedPayments(
                archive=lambda: self.archive,
                vault=Vault(data_keys=self.data_keys, clock=self.clock),
                clock=self.clock,
            ),
        }
        self.registrar = PaymentRegistrar(
            reservations=self.reservations, shards=PLAN, unique=self.unique, **shared
        )
        self.changer = PaymentChanger(**shared)
        self.executor = Executor(
            changer=self.changer,
            archived=self.changer.archived,
            settling=Settling(self.ledger, self.clock),
            keys=self.keys,
            hashes=KeyHashes(MemoryDataKeys()),
            keep=lambda shown: None,
            switchboard=Switchboard(switches=self.switches, clock=self.clock),
            clock=self.clock,
        )
        for id in ("payer", "payee", "third"):
            self.open(id)
        self.give("payer", 1000)
        self.ledger.posted.clear()

    def lose_hold(self, id: str) -> None:
        """Removes a hold, as none of our code does: an operator's mistake, or a restore of one table and not the
        other."""
        account = self.ledger.account("demo", id)
        assert account is not None
        leg = Leg(account=id, available=account.reserved, reserved=-account.reserved)
        (posted,) = self.ledger.post([Posting(tenant="demo", at=START, legs=(leg,))])
        assert posted.answer is PostingAnswer.DONE
        self.ledger.posted.clear()

    def open(self, id: str, *, tenant: str = "demo", limits: Limits | None = None) -> Account:
        account = Account(id=id, tenant=tenant, created_at=START, updated_at=START, limits=limits or Limits())
        assert self.ledger.open(account)
        return account

    def give(self, id: str, amount: int, *, tenant: str = "demo") -> None:
        leg = Leg(account=id, available=amount)
        (posted,) = self.ledger.post([Posting(tenant=tenant, at=START, legs=(leg,))])
        assert posted.answer is PostingAnswer.DONE

    def freeze(self, id: str) -> None:
        self.ledger.set_status("demo", id, Status.FROZEN, now=self.clock.now())

    def money(self, id: str) -> tuple[int, int]:
        account = self.ledger.account("demo", id)
        assert account is not None
        return account.available, account.reserved

    def register(self, **fields: Any) -> RegisteredPayment:
        (answer,) = self.registrar.register("demo", [order(**fields)])
        if isinstance(answer, PostdateError):
            raise answer
        return answer

    def registered(self, **fields: Any) -> Payment:
        return self.register(**fields).payment

    def stored(self, id: str) -> Payment:
        payment = self.ledger.payment(id)
        assert payment is not None
        return payment

    def settle(self, payment: Payment) -> Payment:
        self.clock.sleep_until(payment.planned_at)
        settled = Settling(self.ledger, self.clock).attempt([self.stored(payment.id)])[payment.id].payment
        assert settled is not None
        return settled

    @property
    def payments(self) -> list[str]:
        wanted = PaymentsWanted(tenant="demo", account="payer")
        return [each.id for each in self.ledger.payments_listed(wanted, after="", limit=1000)]


_keys = count(1)


def order(**fields: Any) -> PaymentOrder:
    given = {"payer": "payer", "payee": "payee", "amount": 100} | fields
    names = {each.name for each in dataclasses.fields(Terms)}
    usual = PaymentOrder(
        terms=Terms(**{name: value for name, value in given.items() if name in names}),
        due_at=FAR,
        instant_field="scheduled_time",
        idempotency_key=f"key-{next(_keys)}",
        fingerprint="asked",
    )
    return replace(usual, **{name: value for name, value in fields.items() if name not in names})


@pytest.fixture
def bank() -> Bank:
    return Bank()
