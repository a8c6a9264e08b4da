"""The use cases of payments and of money in accounts."""

from functions.api.accounts.deposit import Cashier
from functions.api.keys.rehash import Rehash
from functions.api.parts.base import Base, unique
from functions.api.parts.tables import Tables
from functions.api.payments.allowance import Allowance
from functions.api.payments.change import PaymentChanger
from functions.api.payments.execute import Executor
from functions.api.payments.register import PaymentRegistrar
from postdate.runtime import aws
from postdate.runtime.queue import SqsQueue
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.switchboard import Switchboard
from postdate.stores.vault import Vault
from postdate.use_cases.settling import Settling


class Payments:
    def __init__(
        self,
        base: Base,
        tables: Tables,
        *,
        vault: Vault,
        hashes: KeyHashes,
        rehash: Rehash,
        switchboard: Switchboard,
    ) -> None:
        queue = SqsQueue(url=base.given.payments_queue_url, client=aws.client("sqs"), clock=base.clock)
        archived = ArchivedPayments(archive=tables.archive, vault=vault, clock=base.clock)
        self.registrar = PaymentRegistrar(
            ledger=tables.ledger,
            reservations=tables.reservations,
            queue=queue,
            shards=base.shards,
            horizon=base.horizon,
            clock=base.clock,
            unique=unique,
            archived=archived,
        )
        self.allowance = Allowance(keys=tables.keys, clock=base.clock)
        self.changer = PaymentChanger(
            ledger=tables.ledger, queue=queue, horizon=base.horizon, clock=base.clock, archived=archived
        )
        self.executor = Executor(
            changer=self.changer,
            archived=archived,
            # The internal route settles for the service itself: no key of a tenant is the author.
            settling=Settling(tables.ledger, base.clock, by="function:api"),
            keys=tables.keys,
            hashes=hashes,
            keep=rehash.keep,
            switchboard=switchboard,
            clock=base.clock,
        )
        self.cashier = Cashier(
            ledger=tables.ledger, reservations=tables.reservations, clock=base.clock, unique=unique
        )
