"""The API's use cases over this environment's tables and queues."""

from functools import cache

from functions.api.keys.rehash import Rehash
from functions.api.parts.base import Base, unique
from functions.api.parts.guards import Guards
from functions.api.parts.operators import Operators
from functions.api.parts.payments import Payments
from functions.api.parts.recurring import Recurring
from functions.api.parts.tables import Tables
from functions.api.parts.tasks import Tasks
from functions.api.settings import Settings
from functions.api.subscriptions.sending import EventSender
from functions.api.subscriptions.subscribe import Subscriber
from functions.api.tasks.checks.destinations import refusals
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination
from postdate.runtime import dependencies, settings
from postdate.runtime.author import Author
from postdate.runtime.clock import SystemClock
from postdate.runtime.parameters import parameters_at
from postdate.stores.dependencies import Reporter
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.vault import Vault


class Wired:
    """The objects of one process. Stores, guards and the use cases of each resource are parts of their own."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        self.author = Author()
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.loopback_allowed = given.loopback_destinations
        self.response_timeout_seconds_max = given.response_timeout_seconds_max
        self.amount_cap = given.account_amount_cap
        self.workers = given.task_workers
        self.payloads_bucket = given.payloads_bucket
        base = Base.of(given, self.clock)
        self.tables = Tables(base, self.author)
        self.reporter = Reporter(dependencies.of_this_process(), self.tables.dependencies, self.clock)
        self.vault = Vault(data_keys=self.tables.data_keys, clock=self.clock)
        self.hashes = KeyHashes(self.tables.data_keys)
        rehash = Rehash(keys=self.tables.keys, hashes=self.hashes)
        self.guards = Guards(
            base,
            self.tables,
            parameters=self.parameters,
            vault=self.vault,
            hashes=self.hashes,
            rehash=rehash,
        )
        self.tasks = Tasks(base, self.tables, self.guards.places)
        self.recurring = Recurring(base, self.tables)
        self.payments = Payments(
            base,
            self.tables,
            vault=self.vault,
            hashes=self.hashes,
            rehash=rehash,
            switchboard=self.guards.switchboard,
        )
        self.operators = Operators(base, self.tables)
        self.subscriber = self._subscriber(base)

    def _subscriber(self, base: Base) -> Subscriber:
        return Subscriber(
            subscriptions=self.tables.subscriptions,
            sender=EventSender(
                tasks=self.tables.tasks,
                queue=base.tasks_queue,
                shards=base.shards,
                horizon=base.horizon,
                clock=self.clock,
            ),
            clock=self.clock,
            unique=unique,
            vault=self.vault,
            refusal=self._refusal,
        )

    def _refusal(self, tenant: str, destination: Destination) -> PostdateError | None:
        owner = self.guards.tenant(tenant)
        known = refusals([destination], tenant=owner, loopback_allowed=self.loopback_allowed)
        return known.get(destination)


@cache
def wired() -> Wired:
    return Wired()
