"""The tables that a worker reads and writes."""

from datetime import timedelta
from functools import partial
from typing import Final

from functions.run_tasks.settings import Settings
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws
from postdate.runtime.clock import Clock
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.dependencies import DynamoDependencies
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants_dynamo import DynamoTenants

# The author of what a worker changes in plans and writes as runs. Other changes of tasks name none, to keep rows small.
AUTHOR: Final = "function:run_tasks"


class Tables:
    def __init__(self, given: Settings, shards: ShardPlan, clock: Clock) -> None:
        dynamodb, retention = aws.client("dynamodb"), timedelta(days=given.retention_days)
        self.tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
            retention=retention,
        )
        self.definitions = DynamoDefinitions(
            table=given.items_table,
            client=dynamodb,
            listing_shards=given.listing_shards,
            retention=retention,
            author=lambda: AUTHOR,
        )
        self.payloads = DynamoPayloads(table=given.payloads_table, client=dynamodb)
        self.tenants = DynamoTenants(table=given.tenants_table, client=dynamodb)
        self.data_keys = KmsDataKeys(
            table=given.data_keys_table,
            client=dynamodb,
            kms=partial(aws.client, "kms"),
            key_id=given.secrets_key_id,
        )
        self.events = DynamoEvents(
            table=given.events_table, client=dynamodb, kept=timedelta(days=given.events_kept_days)
        )
        self.subscriptions = DynamoSubscriptions(table=given.subscriptions_table, client=dynamodb)
        self.flow = DynamoFlow(table=given.flow_table, client=dynamodb, author=lambda: AUTHOR, now=clock.now)
        self.switches = DynamoSwitches(table=given.switches_table, client=dynamodb)
        self.dependencies = DynamoDependencies(table=given.flow_table, client=dynamodb, function="run_tasks")
