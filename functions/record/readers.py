"""The tables whose changes are told as events, and the reader of each."""

from collections.abc import Mapping

from functions.record import (
    accounts,
    flow,
    items,
    keys,
    operations,
    payments,
    subscriptions,
    switches,
    tenants,
)
from functions.record.record import Reader
from functions.record.settings import Settings


def readers(given: Settings) -> Mapping[str, Reader]:
    return {
        given.payments_table: payments.event_of,
        given.items_table: items.event_of,
        given.accounts_table: accounts.event_of,
        given.keys_table: keys.event_of,
        given.tenants_table: tenants.event_of,
        given.subscriptions_table: subscriptions.event_of,
        given.flow_table: flow.event_of,
        given.operations_table: operations.event_of,
        given.switches_table: switches.event_of,
    }
