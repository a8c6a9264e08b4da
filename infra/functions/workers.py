"""The functions that find what is due, settle payments and record events, with their rights."""

from infra.constructs.function import Function
from infra.functions.factory import Factory
from infra.rights import (
    BATCH_GET,
    BATCH_WRITE,
    CALENDAR_ROWS,
    DELETE,
    DEPENDENCY_ATTRIBUTES,
    DESCRIBE_EXECUTION,
    EVENTS_AT_ONCE,
    GET,
    HIDE,
    NOTED,
    OF_HEADS,
    PARTIQL_INSERT,
    PUBLISH,
    PUT,
    QUERY,
    RECEIVE,
    SEND,
    START,
    UPDATE,
)


def add_sweep(factory: Factory) -> None:
    sweep, state = factory.function("sweep", recurs=True), factory.state
    sweep.allow(state.items.arn, QUERY, BATCH_GET)
    sweep.allow(state.payments.arn, QUERY, BATCH_GET)
    sweep.allow(state.slots.arn, GET, QUERY, PUT, UPDATE, BATCH_WRITE)
    sweep.allow(state.switches.arn, BATCH_GET)
    sweep.allow(state.operations.arn, GET, PUT)
    sweep.allow(state.operations.index_arn("by_activity"), QUERY)
    sweep.allow(factory.machine_arn("operation"), START)
    sweep.allow_executions(factory.executions_arn("operation"), DESCRIBE_EXECUTION)
    sweep.allow(state.tasks.queue.queue_arn, SEND)
    sweep.allow(state.payments_queue.queue.queue_arn, SEND)
    sweep.allow(state.ticks.queue.queue_arn, SEND)
    sweep.consume(state.ticks.queue, at_once=1, consumers=factory.size("sweep").consumers)


def add_settle(factory: Factory) -> None:
    settle, state = factory.function("settle", recurs=True), factory.state
    settle.allow_attributes(state.flow.arn, DEPENDENCY_ATTRIBUTES, UPDATE)
    settle.allow(state.payments.arn, BATCH_GET)
    settle.allow(state.accounts.arn, BATCH_GET)
    settle.allow(state.switches.arn, BATCH_GET)
    settle.allow_in_transactions(state.payments.arn, PUT, UPDATE)
    settle.allow_in_transactions(state.accounts.arn, UPDATE)
    settle.allow_in_transactions(state.journal.arn, PUT)
    settle.allow(state.payments_queue.queue.queue_arn, SEND, HIDE)
    settle.allow(state.payments_queue.dead_letters.queue_arn, SEND)
    size = factory.size("settle")
    settle.consume(
        state.payments_queue.queue,
        at_once=size.batch,
        consumers=size.consumers,
        window_seconds=size.window_seconds,
        pollers=size.pollers,
    )


def add_record(factory: Factory) -> Function:
    """Adds the recorder of events, which may insert rows of events and of their deliveries and change none."""
    record, state = factory.function("record"), factory.state
    record.allow(state.events.arn, QUERY, BATCH_GET, PARTIQL_INSERT)
    record.allow(state.subscriptions.arn, QUERY)
    record.allow_rows(state.slots.arn, CALENDAR_ROWS, UPDATE)
    record.allow(state.tenants.arn, GET)
    record.allow(state.items.arn, BATCH_GET, PARTIQL_INSERT)
    record.allow(state.payments.arn, BATCH_GET)
    record.allow(state.tasks.queue.queue_arn, SEND)
    record.allow(state.event_letters.queue.queue_arn, RECEIVE, DELETE)
    record.allow(state.events_bus.event_bus_arn, PUBLISH)
    for table, pattern in (
        *((table, None) for table in (state.items, state.payments, state.keys, state.tenants)),
        *((table, None) for table in (state.subscriptions, state.switches)),
        # These rows change with each payment, each task and each step; the recorder sees what is told alone.
        *((table, NOTED) for table in (state.accounts, state.flow)),
        (state.operations, OF_HEADS),
    ):
        if (stream := table.table_stream_arn) is not None:
            record.follow(
                stream,
                state.event_letters.queue,
                at_once=EVENTS_AT_ONCE,
                name=table.label,
                pattern=pattern,
            )
    return record
