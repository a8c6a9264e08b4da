"""The row of a tenant in DynamoDB."""

import json
from typing import Any, Final

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute

from postdate.domain.tenancy import Tenancy
from postdate.runtime.metric import STANDARD, TIERS
from postdate.stores.attributes import instant
from postdate.stores.rows import Row
from postdate.stores.template_values import destination_of
from postdate.stores.tenants import Tenant

# The lists of older code, by the kinds of destinations that they are for.
LISTS_BEFORE: Final = {"queue_urls": "sqs", "buses": "eventbridge"}


class TenantRow(Row):
    """A destination is kept as `<kind> <address>`. Rows of older code have a list for each of two kinds. Both lists are
    still written: after a roll-back, older code reads only them."""

    tenant = UnicodeAttribute(hash_key=True)
    # Attributes of one name with a field of `Tenant` or `Tenancy` mean the same. A missing one has the
    # field's default.
    log_share = NumberAttribute(null=True)
    destinations: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    queue_urls: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    buses: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    default_target = UnicodeAttribute(null=True)
    # Sealed; readable in rows of older releases.
    signing_secrets: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    # Milliseconds.
    signing_until = NumberAttribute(null=True)
    tier = UnicodeAttribute(null=True)
    registered_a_second = NumberAttribute(null=True)
    runs_in_flight = NumberAttribute(null=True)
    spread_seconds = NumberAttribute(null=True)
    suspended_because = UnicodeAttribute(null=True)
    pending_waits = BooleanAttribute(null=True)
    erased_as = UnicodeAttribute(null=True)
    version = NumberAttribute(null=True)
    # The numbers of changes that were told as events, of the tenant and of its secret, see `notes`.
    events = NumberAttribute(null=True)
    rotations = NumberAttribute(null=True)
    note = UnicodeAttribute(null=True)


def tenant_of(row: TenantRow) -> Tenant:
    """The tenant of a row, also of a row whose lists only older code wrote."""
    before = {(kind, address) for name, kind in LISTS_BEFORE.items() for address in getattr(row, name)}
    kept = {(kind, address) for kind, _, address in (each.partition(" ") for each in row.destinations)}
    return Tenant(
        id=row.tenant,
        tier=row.tier if row.tier in TIERS else STANDARD,
        log_share=float(row.log_share or 0),
        destinations=frozenset(before | kept),
        default_target=destination_of(json.loads(row.default_target)) if row.default_target else None,
        signing_secrets=tuple(row.signing_secrets),
        signing_until=instant(row.signing_until),
        tenancy=Tenancy(
            registered_a_second=_number(row.registered_a_second),
            runs_in_flight=_number(row.runs_in_flight),
            spread_seconds=int(row.spread_seconds or 0),
            suspended_because=row.suspended_because,
            pending_waits=bool(row.pending_waits),
            erased_as=row.erased_as,
            version=int(row.version or 0),
        ),
        events=int(row.events or 0),
        rotations=int(row.rotations or 0),
    )


def _number(value: float | None) -> int | None:
    return None if value is None else int(value)
