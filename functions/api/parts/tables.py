"""The stores of the API. Each is a table, or a kind of rows in one."""

from datetime import timedelta
from functools import partial

from functions.api.parts.base import Base
from postdate.runtime import aws
from postdate.runtime.author import Author
from postdate.stores.archive import S3Archive
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.dependencies import DynamoDependencies
from postdate.stores.erasures import DynamoErasures
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.idempotency import DynamoReservations
from postdate.stores.keys_dynamo import DynamoKeys
from postdate.stores.ledger_dynamo import LEDGER_TRIES, DynamoLedger
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tallies import DynamoTallies
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants_dynamo import DynamoTenants


class Tables:
    """The stores, made once for each copy of the function. They ask `author` at each write for the caller of the
    present request, because the event of a change names the caller."""

    def __init__(self, base: Base, author: Author) -> None:
        self._items(base, author)
        self._owners(base, author)
        given, dynamodb = base.given, aws.client("dynamodb")
        self.events = DynamoEvents(
            table=given.events_table, client=dynamodb, kept=timedelta(days=given.events_kept_days)
        )
        self.flow = DynamoFlow(table=given.flow_table, client=dynamodb, author=author, now=base.clock.now)
        self.dependencies = DynamoDependencies(table=given.flow_table, client=dynamodb, function="api")
        self.switches = DynamoSwitches(table=given.switches_table, client=dynamodb)
        self.operations = DynamoOperations(table=given.operations_table, client=dynamodb)
        self.reconciliations = DynamoReconciliations(table=given.operations_table, client=dynamodb)
        self.passes = DynamoPasses(table=given.slots_table, client=dynamodb)
        self.tallies = DynamoTallies(table=given.slots_table, client=dynamodb)
        self._archive_bucket = given.archive_bucket

    def archive(self) -> S3Archive:
        """The archive of payments. It is asked for few requests, so its client is made with the first of them."""
        return S3Archive(bucket=self._archive_bucket, client=aws.client("s3"))

    def _items(self, base: Base, author: Author) -> None:
        given, dynamodb = base.given, aws.client("dynamodb")
        self.tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=base.shards,
            listing_shards=given.listing_shards,
            retention=base.retention,
            author=author,
        )
        self.definitions = DynamoDefinitions(
            table=given.items_table,
            client=dynamodb,
            listing_shards=given.listing_shards,
            retention=base.retention,
            author=author,
        )
        self.payloads = DynamoPayloads(table=given.payloads_table, client=dynamodb)
        self.reservations = DynamoReservations(table=given.idempotency_table, client=dynamodb)
        self.ledger = DynamoLedger(
            payments_table=given.payments_table,
            accounts_table=given.accounts_table,
            journal_table=given.journal_table,
            client=aws.client("dynamodb", tries=LEDGER_TRIES),
            shards=base.shards,
            listing_shards=given.listing_shards,
        ).signed_by(author)

    def _owners(self, base: Base, author: Author) -> None:
        given, dynamodb, now = base.given, aws.client("dynamodb"), base.clock.now
        self.tenants = DynamoTenants(table=given.tenants_table, client=dynamodb, author=author, now=now)
        self.erasures = DynamoErasures(table=given.tenants_table, client=dynamodb)
        self.keys = DynamoKeys(table=given.keys_table, client=dynamodb, author=author, now=now)
        self.data_keys = KmsDataKeys(
            table=given.data_keys_table,
            client=dynamodb,
            kms=partial(aws.client, "kms"),
            key_id=given.secrets_key_id,
        )
        self.subscriptions = DynamoSubscriptions(table=given.subscriptions_table, client=dynamodb)
