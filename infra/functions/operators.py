"""The functions behind state machines that operators start, and the nightly check, with their rights."""

from infra.constructs.function import Function
from infra.constructs.state_machine import StateMachine
from infra.functions.factory import Factory
from infra.rights import (
    BATCH_GET,
    DELETE,
    DEPTH,
    DESCRIBE,
    GET,
    GET_OBJECT,
    HIDE,
    LIST_BUCKET,
    PARTIQL_INSERT,
    PARTIQL_UPDATE,
    PUT,
    PUT_OBJECT,
    QUERY,
    RECEIVE,
    SCAN,
    SEND,
    START,
    UPDATE,
)


def add_operate(factory: Factory) -> None:
    operate, state = factory.function("operate"), factory.state
    operate.allow(state.operations.arn, GET, PUT, QUERY)
    operate.allow(state.items.arn, GET, BATCH_GET, QUERY, PARTIQL_INSERT, PARTIQL_UPDATE)
    operate.allow(state.items.index_arn("by_listing"), QUERY)
    operate.allow(state.payloads.arn, GET, PUT)
    operate.allow(state.slots.arn, GET, QUERY, PUT)
    operate.allow(state.payments.arn, BATCH_GET, QUERY)
    operate.allow(state.accounts.arn, BATCH_GET)
    operate.allow_in_transactions(state.payments.arn, PUT, UPDATE)
    operate.allow_in_transactions(state.accounts.arn, UPDATE)
    operate.allow(state.tasks.queue.queue_arn, SEND)
    operate.allow(state.payments_queue.queue.queue_arn, SEND)
    for queue in (state.tasks, state.payments_queue):
        operate.allow(queue.dead_letters.queue_arn, RECEIVE, DELETE, HIDE)
    operate.allow(state.tasks.dead_letters.queue_arn, SEND)
    operate.allow(factory.machine_arn("operation"), START)
    calls = {"Operate": operate}
    StateMachine(factory.scope, "operation", environment=factory.environment, calls=calls)
    recover = StateMachine(factory.scope, "recover", environment=factory.environment, calls=calls)
    recover.allow_child_executions()


def add_reconcile(factory: Factory, record: Function) -> None:
    """Adds the nightly check. It reads whole tables of money, and writes nothing but its reports."""
    reconcile, state = factory.function("reconcile"), factory.state
    for table in (state.payments, state.journal):
        reconcile.allow(table.arn, SCAN, DESCRIBE, BATCH_GET)
    reconcile.allow(state.accounts.arn, SCAN, DESCRIBE, GET)
    for table in (state.payments, state.journal):
        for index in ("by_listing" if table is state.payments else "by_payer", "by_payee"):
            reconcile.allow(table.index_arn(index), QUERY)
    reconcile.allow(state.items.arn, BATCH_GET)
    for index in ("by_tenant", "by_state", "by_listing"):
        reconcile.allow(state.items.index_arn(index), QUERY)
    reconcile.allow(state.tenants.arn, SCAN)
    reconcile.allow(state.operations.arn, GET, PUT, QUERY)
    reconcile.allow(state.operations.index_arn("by_tenant"), QUERY)
    for queue in (state.tasks, state.payments_queue):
        reconcile.allow(queue.dead_letters.queue_arn, RECEIVE, HIDE, DEPTH)
    reports = state.reports.bucket_arn
    reconcile.allow(reports, LIST_BUCKET)
    reconcile.allow_objects("reports", GET_OBJECT, PUT_OBJECT)
    calls = {"Reconcile": reconcile, "Record": record}
    machine = StateMachine(factory.scope, "reconcile", environment=factory.environment, calls=calls)
    machine.allow_child_executions()
    machine.nightly()
