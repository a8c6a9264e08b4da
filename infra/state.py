from aws_cdk import CfnOutput, Duration, Stack, aws_events
from aws_cdk.aws_sqs import IQueue
from constructs import Construct

from infra.constructs.bucket import Bucket
from infra.constructs.parameter_store import ParameterStore
from infra.constructs.queue import Lane, Letters, Queue
from infra.constructs.secrets_key import SecretsKey
from infra.constructs.table import Table
from infra.environment import Environment


class State(Stack):
    """The stack that survives a release: the tables, the queues, the buckets of payloads, reports and the archive, the
    key of secrets, the event bus and the parameters."""

    def __init__(
        self, scope: Construct, *, environment: Environment, protected: bool = False, first: bool = False
    ) -> None:
        """`first` is for the deployment that makes the stacks: there are no alarms yet that the parameters can name."""
        super().__init__(scope, environment.named("state"), termination_protection=protected)
        self._items_and_money(environment)
        self._owners(environment)
        self._operations(environment)
        self._events(environment)
        self._parameters_and_objects(environment, watched=environment.watched and not first)
        self._queues(environment)
        for variable, value in self.variables().items():
            CfnOutput(self, variable.title().replace("_", ""), value=value)

    @property
    def all_queues(self) -> tuple[IQueue, ...]:
        """The queues of work and of dead letters."""
        with_letters = (self.tasks, self.payments_queue, self.ticks)
        return (
            *(each.queue for each in (*with_letters, self.slow)),
            *(each.dead_letters for each in with_letters),
        )

    def variables(self) -> dict[str, str]:
        """The settings that name the resources of this stack for the functions."""
        tables = (
            *(self.items, self.payments, self.accounts, self.journal),
            *(self.payloads, self.idempotency, self.tenants, self.keys, self.slots, self.flow),
            self.events,
            self.subscriptions,
            self.operations,
            self.data_keys,
            self.switches,
        )
        return {f"{table.label.upper()}_TABLE": table.name for table in tables} | {
            "PAYLOADS_BUCKET": self.payload_objects.bucket_name,
            "REPORTS_BUCKET": self.reports.bucket_name,
            "ARCHIVE_BUCKET": self.archive.bucket_name,
            "SECRETS_KEY_ID": self.secrets_key.key_arn,
            "TASKS_QUEUE_URL": self.tasks.queue.queue_url,
            "SLOW_QUEUE_URL": self.slow.queue.queue_url,
            "TASKS_DLQ_URL": self.tasks.dead_letters.queue_url,
            "PAYMENTS_QUEUE_URL": self.payments_queue.queue.queue_url,
            "PAYMENTS_DLQ_URL": self.payments_queue.dead_letters.queue_url,
            "TICKS_QUEUE_URL": self.ticks.queue.queue_url,
            "TICKS_DLQ_URL": self.ticks.dead_letters.queue_url,
            "PARAMETERS": self.parameters.place,
            "EVENTS_BUS": self.events_bus.event_bus_name,
            "EVENTS_DLQ_URL": self.event_letters.queue.queue_url,
        }

    def _items_and_money(self, environment: Environment) -> None:
        self.items = Table(self, "items", environment=environment, by="slot", then="id", streams=True)
        self.items.index("by_tenant", by="tenant_listing", then="place")
        self.items.index("by_state", by="state_listing", then="place")
        self.items.index("by_listing", by="listing", then="id")
        # The queue `payments` has the shorter name in the template.
        self.payments = Table(
            self,
            "payments",
            environment=environment,
            by="slot",
            then="id",
            construct_id="payments_table",
            streams=True,
        )
        self.payments.index("by_tenant", by="tenant_listing", then="place")
        self.payments.index("by_state", by="state_listing", then="place", having=("payer", "payee"))
        self.payments.index("by_listing", by="listing", then="place")
        self.payments.index("by_payee", by="payee_listing", then="place")
        # Rows of money, tenants, data keys and switches never expire.
        self.accounts = Table(
            self, "accounts", environment=environment, by="account", expires=False, streams=True
        )
        self.accounts.index("by_tenant", by="tenant", then="account")
        self.journal = Table(self, "journal", environment=environment, by="listing", then="id", expires=False)
        self.journal.index("by_payer", by="listing", then="place", whole=True)
        self.journal.index("by_payee", by="payee_listing", then="place", whole=True)

    def _owners(self, environment: Environment) -> None:
        self.payloads = Table(self, "payloads", environment=environment, by="id")
        self.idempotency = Table(self, "idempotency", environment=environment, by="key")
        self.tenants = Table(
            self, "tenants", environment=environment, by="tenant", expires=False, streams=True
        )
        self.keys = Table(self, "keys", environment=environment, by="key_id", streams=True)
        self.keys.index("by_tenant", by="tenant", then="key_id")
        self.data_keys = Table(self, "data_keys", environment=environment, by="owner", expires=False)
        self.secrets_key = SecretsKey(self, "secrets", environment=environment)

    def _operations(self, environment: Environment) -> None:
        self.operations = Table(
            self, "operations", environment=environment, by="operation", then="place", streams=True
        )
        self.switches = Table(
            self, "switches", environment=environment, by="name", expires=False, streams=True
        )
        self.operations.index("by_tenant", by="tenant", then="operation")
        self.operations.index("by_activity", by="active", then="operation")
        self.flow = Table(self, "flow", environment=environment, by="tenant", then="name", streams=True)
        self.flow.index("by_attention", by="attention", then="tenant")
        self.slots = Table(self, "slots", environment=environment, by="scope", then="name")

    def _events(self, environment: Environment) -> None:
        self.events = Table(self, "events", environment=environment, by="subject", then="sequence")
        self.subscriptions = Table(
            self, "subscriptions", environment=environment, by="tenant", then="id", streams=True
        )
        # The table `events` has the shorter name in the template.
        self.event_letters = Letters(self, "events", environment=environment, construct_id="event_letters")
        self.events_bus = aws_events.EventBus(
            self,
            "events_bus",
            event_bus_name=environment.named("events"),
            description="Every event of every tenant",
        )

    def _parameters_and_objects(self, environment: Environment, *, watched: bool) -> None:
        self.parameters = ParameterStore(self, "parameters", environment=environment, watched=watched)
        self.payload_objects = Bucket(self, "payload_objects", environment=environment)
        self.reports = Bucket(self, "reports", environment=environment, passing="work/")
        # The function `archive` has the shorter name in the templates.
        self.archive = Bucket(
            self, "archive", environment=environment, written_once=True, construct_id="archive_bucket"
        )

    def _queues(self, environment: Environment) -> None:
        # AWS refuses a queue whose messages come back while the function that has them may still run.
        self.tasks, self.payments_queue, self.ticks = (
            Queue(
                self,
                name,
                environment=environment,
                visible_after=Duration.seconds(environment.functions[reader].timeout_seconds),
                receives=receives,
                lanes=lanes,
            )
            for name, reader, receives, lanes in (
                ("tasks", "run_tasks", 8, ("slow",)),
                ("payments", "settle", 8, ()),
                ("ticks", "sweep", 5, ()),
            )
        )
        self.slow = Lane(
            self,
            "slow",
            environment=environment,
            of=self.tasks,
            visible_after=Duration.seconds(environment.functions["run_tasks"].timeout_seconds),
        )
