"""The archive and the erasure, with their rights. No other function deletes rows."""

from infra.constructs.state_machine import BEFORE_RECONCILIATION, StateMachine
from infra.functions.factory import Factory
from infra.rights import (
    BATCH_GET,
    DELETE,
    DELETE_ITEM,
    DELETE_ROW,
    GET,
    GET_OBJECT,
    HIDE,
    LIST_BUCKET,
    MAKE_DATA_KEY,
    OF_ARCHIVE,
    OPEN_DATA_KEY,
    PUT,
    PUT_OBJECT,
    QUERY,
    RECEIVE,
    REMOVAL_ATTRIBUTES,
    RETENTION_ROWS,
    SCAN,
    UPDATE,
)


def add_archive(factory: Factory) -> None:
    """Adds the nightly archive of events and payments. It opens the data keys of the archive alone, and of a
    payment's row it writes nothing but the instant of the removal."""
    archive, state = factory.function("archive"), factory.state
    archive.allow(state.tenants.arn, SCAN)
    archive.allow(state.events.arn, QUERY, BATCH_GET)
    archive.allow(state.payments.arn, QUERY)
    archive.allow_attributes(state.payments.arn, REMOVAL_ATTRIBUTES, UPDATE)
    archive.allow(state.journal.arn, BATCH_GET)
    archive.allow_rows(state.slots.arn, RETENTION_ROWS, GET, QUERY, PUT, DELETE_ITEM)
    archive.allow(state.data_keys.arn, GET, PUT)
    archive.allow_data_keys(state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY, owners=OF_ARCHIVE)
    archive.allow(state.archive.bucket_arn, LIST_BUCKET)
    archive.allow_objects("archive", GET_OBJECT, PUT_OBJECT)
    archive.allow_objects("reports", PUT_OBJECT)
    StateMachine(
        factory.scope, "archive", environment=factory.environment, calls={"Archive": archive}
    ).nightly(at=BEFORE_RECONCILIATION)


def add_erase(factory: Factory) -> None:
    """Adds the erasure of tenants. No other function may delete rows. It writes money in transactions alone, as all
    others, and opens no data key."""
    erase, state = factory.function("erase"), factory.state
    for table in (
        *(state.keys, state.items, state.payloads, state.idempotency, state.subscriptions, state.flow),
        *(state.operations, state.switches, state.slots, state.events, state.tenants, state.data_keys),
    ):
        erase.allow(table.arn, SCAN, DELETE_ROW)
    erase.allow(state.tenants.arn, GET, PUT, UPDATE)
    erase.allow(state.items.arn, BATCH_GET)
    erase.allow(state.operations.arn, GET, PUT, QUERY)
    erase.allow(state.payments.arn, SCAN, BATCH_GET)
    erase.allow_in_transactions(state.payments.arn, PUT, UPDATE, DELETE_ROW)
    for index in ("by_listing", "by_payee"):
        erase.allow(state.payments.index_arn(index), QUERY)
    erase.allow(state.journal.arn, SCAN, BATCH_GET)
    erase.allow_in_transactions(state.journal.arn, PUT, DELETE_ROW)
    for index in ("by_payer", "by_payee"):
        erase.allow(state.journal.index_arn(index), QUERY)
    erase.allow(state.accounts.arn, SCAN, GET, BATCH_GET)
    erase.allow(state.accounts.index_arn("by_tenant"), QUERY)
    erase.allow_in_transactions(state.accounts.arn, PUT, UPDATE, DELETE_ROW)
    for queue in (state.tasks, state.payments_queue):
        erase.allow(queue.dead_letters.queue_arn, RECEIVE, DELETE, HIDE)
    erase.allow(state.reports.bucket_arn, LIST_BUCKET)
    erase.allow_objects("reports", GET_OBJECT, PUT_OBJECT)
    StateMachine(factory.scope, "erase", environment=factory.environment, calls={"Erase": erase})
