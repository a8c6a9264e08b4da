"""A payment as a row of the table `payments`.

It is listed under its tenant, its payer and its payee, and under its state if that is one of the few that need
attention. In each list its place begins with its scheduled instant, so the entries change when that does.
"""

import json
from typing import Any, Final

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection, KeysOnlyProjection

from postdate.domain import instants
from postdate.domain.payment import (
    Execution,
    ExecutionStatus,
    Funding,
    HistoryLine,
    Payment,
    State,
)
from postdate.domain.slots import unique_part
from postdate.stores import history
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.places import place_of
from postdate.stores.rows import Row, TableConnection, the_one

# Few payments are in these states for long, or at all: an index of its own holds those and no others.
LISTED_BY_STATE: Final = frozenset({State.EXECUTING, State.FAILED, State.CANCELLED})


class ByTenant(GlobalSecondaryIndex["PaymentRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class ByState(GlobalSecondaryIndex["PaymentRow"]):  # type: ignore[no-untyped-call]
    """The index of payments by state. Both accounts are in it, so that a list of one account's need not read the
    payments of the others."""

    class Meta:
        index_name = "by_state"
        projection = IncludeProjection(["payer", "payee"])

    state_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)
    payer = UnicodeAttribute()
    payee = UnicodeAttribute()


class ByListing(GlobalSecondaryIndex["PaymentRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_listing"
        projection = KeysOnlyProjection()

    listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class ByPayee(GlobalSecondaryIndex["PaymentRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_payee"
        projection = KeysOnlyProjection()

    payee_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class PaymentRow(Row):
    # The home slot.
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    # The scheduled instant and the id: the order of all lists.
    place = UnicodeAttribute()
    # The lists, each spread over several keys by a number.
    tenant_listing = UnicodeAttribute()
    # Missing unless the state is in LISTED_BY_STATE.
    state_listing = UnicodeAttribute(null=True)
    listing = UnicodeAttribute()
    payee_listing = UnicodeAttribute()
    tenant = UnicodeAttribute()
    payer = UnicodeAttribute()
    payee = UnicodeAttribute()
    amount = NumberAttribute()
    # Missing for RESERVE.
    funding = UnicodeAttribute(null=True)
    status = UnicodeAttribute()
    version = NumberAttribute()
    # Instants in milliseconds.
    due = NumberAttribute()
    # Missing if it equals `due`.
    planned = NumberAttribute(null=True)
    created = NumberAttribute()
    moved = NumberAttribute()
    description = UnicodeAttribute(null=True)
    # JSON; missing without pairs.
    metadata = UnicodeAttribute(null=True)
    # Missing for 0.
    attempts = NumberAttribute(null=True)
    # The instant of the next attempt; missing unless the payment is EXECUTING and not parked.
    lease = NumberAttribute(null=True)
    finished = NumberAttribute(null=True)
    error_code = UnicodeAttribute(null=True)
    error = UnicodeAttribute(null=True)
    # Lines as texts, see `history`; executions as JSON.
    history: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute)
    executions: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    by_tenant = ByTenant()
    by_state = ByState()
    by_listing = ByListing()
    by_payee = ByPayee()


def payment_rows(table: str) -> type[PaymentRow]:
    class Rows(PaymentRow):
        class Meta(TableConnection):
            table_name = table

        by_tenant = ByTenant()
        by_state = ByState()
        by_listing = ByListing()
        by_payee = ByPayee()

    return Rows


def listing_key(tenant: str, account: str, number: int) -> str:
    return f"{tenant}#{account}#{number}"


def tenant_key(tenant: str, number: int) -> str:
    return f"{tenant}#{number}"


def state_key(tenant: str, state: State, number: int) -> str:
    return f"{tenant}#{state.value}#{number}"


def attributes_of(payment: Payment, *, listing_shards: int) -> AttributeMap:
    number = unique_part(payment.id)[-1] % listing_shards
    texts = {
        "slot": payment.home.key,
        "id": payment.id,
        "place": place_of(payment.planned_at, payment.id),
        "tenant_listing": tenant_key(payment.tenant, number),
        # Only states that people look for, so that the index costs nothing for most payments.
        "state_listing": state_key(payment.tenant, payment.state, number)
        if payment.state in LISTED_BY_STATE
        else None,
        "listing": listing_key(payment.tenant, payment.payer, number),
        "payee_listing": listing_key(payment.tenant, payment.payee, number),
        "tenant": payment.tenant,
        "payer": payment.payer,
        "payee": payment.payee,
        "funding": None if payment.funding is Funding.RESERVE else payment.funding.value,
        "status": payment.state.value,
        "description": payment.description,
        "metadata": compact(payment.metadata) if payment.metadata else None,
        "error_code": payment.error_code,
        "error": payment.error,
    }
    numbers = {
        "amount": payment.amount,
        "version": payment.version,
        "due": instants.milliseconds(payment.due_at),
        # Usual values are left out: each write is billed by the size of the row.
        "planned": None if payment.planned_at == payment.due_at else milliseconds(payment.planned_at),
        "created": instants.milliseconds(payment.created_at),
        "moved": instants.milliseconds(payment.moved_at),
        "attempts": payment.attempts or None,
        "lease": milliseconds(payment.lease_until),
        "finished": milliseconds(payment.finished_at),
    }
    written = typed(texts, numbers)
    written["history"] = {"L": [{"S": history.text_of(line)} for line in payment.history]}
    if payment.executions:
        written["executions"] = {"L": [{"S": _execution_text(each)} for each in payment.executions]}
    return written


def payment_in(image: AttributeMap) -> Payment:
    """The payment of a stream's image. Raises Unreadable for one that this code cannot read."""
    return the_one(PaymentRow.from_raw_data(image), payment_of)


def payment_of(row: PaymentRow) -> Payment:
    due_at = instants.from_milliseconds(int(row.due))
    return Payment(
        id=row.id,
        tenant=row.tenant,
        payer=row.payer,
        payee=row.payee,
        amount=int(row.amount),
        funding=Funding(row.funding or Funding.RESERVE),
        state=State(row.status),
        version=int(row.version),
        planned_at=due_at if row.planned is None else instants.from_milliseconds(int(row.planned)),
        due_at=due_at,
        created_at=instants.from_milliseconds(int(row.created)),
        moved_at=instants.from_milliseconds(int(row.moved)),
        description=row.description,
        metadata=tuple((name, value) for name, value in json.loads(row.metadata or "[]")),
        attempts=int(row.attempts or 0),
        lease_until=instant(row.lease),
        finished_at=instant(row.finished),
        error_code=row.error_code,
        error=row.error,
        history=tuple(_line_of(text) for text in row.history),
        executions=tuple(_execution_of(text) for text in row.executions or ()),
    )


def _line_of(text: str) -> HistoryLine:
    line = history.parts_of(text)
    return HistoryLine(
        version=line.version, at=line.at, to=State(line.to), attempt=line.attempt, why=line.why, by=line.by
    )


def _execution_text(execution: Execution) -> str:
    return compact(
        [
            execution.id,
            execution.status.value,
            instants.milliseconds(execution.started_at),
            milliseconds(execution.completed_at),
            execution.retry_count,
            execution.error,
        ]
    )


def _execution_of(text: str) -> Execution:
    id, status, started, completed, retries, error = json.loads(text)
    return Execution(
        id=id,
        status=ExecutionStatus(status),
        started_at=instants.from_milliseconds(started),
        completed_at=instant(completed),
        retry_count=retries,
        error=error,
    )
