"""The API and its authorizer, with their rights."""

from infra.constructs.function import Function
from infra.functions.factory import Factory
from infra.rights import (
    ALARMS,
    BATCH_GET,
    DELETE,
    DEPTH,
    GET,
    GET_OBJECT,
    HIDE,
    INVOKE,
    KEY_ATTRIBUTES,
    LIST_BUCKET,
    MAKE_DATA_KEY,
    METRICS,
    OF_API_KEYS,
    OPEN_DATA_KEY,
    PARTIQL_INSERT,
    PARTIQL_UPDATE,
    PUT,
    QUERY,
    RECEIVE,
    SCAN,
    SEND,
    START,
    UPDATE,
)


def add_api(factory: Factory) -> Function:
    api, state = factory.function("api"), factory.state
    api.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
    for index in ("by_tenant", "by_state", "by_listing"):
        api.allow(state.items.index_arn(index), QUERY)
    api.allow(state.payments.arn, GET, BATCH_GET)
    # Tables of money are written in transactions only.
    api.allow_in_transactions(state.payments.arn, PUT, UPDATE)
    for index in ("by_tenant", "by_state", "by_listing", "by_payee"):
        api.allow(state.payments.index_arn(index), QUERY)
    api.allow(state.accounts.arn, GET, BATCH_GET)
    api.allow(state.accounts.index_arn("by_tenant"), QUERY)
    api.allow_in_transactions(state.accounts.arn, PUT, UPDATE)
    api.allow(state.journal.arn, GET, BATCH_GET)
    api.allow(state.journal.index_arn("by_payer"), QUERY)
    api.allow(state.journal.index_arn("by_payee"), QUERY)
    api.allow_in_transactions(state.journal.arn, PUT)
    api.allow(state.payloads.arn, GET, PUT)
    api.allow(state.idempotency.arn, GET, PUT)
    api.allow(state.tenants.arn, GET, PUT, SCAN)
    api.allow(state.keys.arn, GET, BATCH_GET)
    api.allow(state.keys.index_arn("by_tenant"), QUERY)
    api.allow_attributes(state.keys.arn, KEY_ATTRIBUTES, PUT, UPDATE)
    api.allow(state.data_keys.arn, GET, PUT)
    api.allow(state.switches.arn, GET, BATCH_GET, PUT, SCAN)
    api.allow_data_keys(state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY)
    api.allow(state.events.arn, QUERY, BATCH_GET)
    api.allow(state.subscriptions.arn, GET, PUT, QUERY)
    api.allow(state.flow.arn, GET, BATCH_GET, QUERY, UPDATE)
    api.allow(state.flow.index_arn("by_attention"), QUERY)
    api.allow(state.slots.arn, GET, QUERY)
    for queue in (*state.all_queues, state.event_letters.queue):
        api.allow(queue.queue_arn, DEPTH)
    for letters in (state.tasks.dead_letters, state.payments_queue.dead_letters):
        api.allow(letters.queue_arn, RECEIVE, DELETE, HIDE)
    api.allow(state.operations.arn, GET, PUT, QUERY)
    api.allow(state.operations.index_arn("by_tenant"), QUERY)
    api.allow(factory.machine_arn("operation"), START)
    api.allow(factory.machine_arn("erase"), START)
    api.allow(factory.function_arn("erase"), INVOKE)
    api.allow_everywhere(ALARMS, "CloudWatch tells composite alarms only to a right to all alarms.")
    api.allow_everywhere(METRICS, "CloudWatch knows no right to single metrics.")
    api.allow(state.tasks.queue.queue_arn, SEND)
    api.allow(state.payments_queue.queue.queue_arn, SEND)
    # Without the right to list a bucket, S3 does not tell a missing object from a forbidden one.
    api.allow(state.archive.bucket_arn, LIST_BUCKET)
    api.allow_objects("archive", GET_OBJECT, under="payments/")
    return api


def add_authorize(factory: Factory) -> Function:
    authorize = factory.function("authorize")
    authorize.allow(factory.state.keys.arn, GET)
    authorize.allow(factory.state.data_keys.arn, GET)
    authorize.allow_data_keys(factory.state.secrets_key.key_arn, OPEN_DATA_KEY, owners=OF_API_KEYS)
    authorize.allow_attributes(factory.state.keys.arn, ("key_id", "last_used_at"), UPDATE)
    return authorize
