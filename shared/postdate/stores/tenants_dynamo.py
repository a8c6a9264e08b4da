"""Tenants in DynamoDB. Each change is one conditional write; a change that is told as an event carries its note."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from pynamodb.exceptions import DoesNotExist, PutError

from postdate.domain.erasing import is_erased
from postdate.domain.sealed import is_sealed
from postdate.runtime.author import nobody
from postdate.stores import batch_get, notes
from postdate.stores.attributes import compact, milliseconds
from postdate.stores.faults import is_refused, translated
from postdate.stores.notes import Note
from postdate.stores.rows import table_rows, the_one
from postdate.stores.template_values import destination_values
from postdate.stores.tenant_row import LISTS_BEFORE, TenantRow, tenant_of
from postdate.stores.tenants import Tenant, with_next_version

if TYPE_CHECKING:
    from botocore.client import BaseClient

# The kind of the subject of its events.
SECRET: Final = "secret"  # noqa: S105 (a name)


class DynamoTenants:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient | None" = None,
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` and the instant `now` are noted in changes that are told as events."""

        self._rows = table_rows(TenantRow, table, client)
        self._author = author
        self._now = now

    def get(self, id: str) -> Tenant | None:
        with translated():
            try:
                row = self._rows.get(id)
            except DoesNotExist:
                return None
        return the_one(row, tenant_of)

    def get_many(self, ids: Iterable[str]) -> Mapping[str, Tenant]:
        keys = [{"tenant": {"S": id}} for id in sorted(set(ids))]
        rows = batch_get.models(self._rows, keys, consistent=False)
        return {tenant.id: tenant for tenant in (the_one(row, tenant_of) for row in rows)}

    def put(self, tenant: Tenant) -> None:
        with translated():
            self._row(tenant).save()

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        """Writes the whole row at the version before. A change that is told carries its note, and counts its events."""
        version: Any = self._rows.version
        if before is None:
            unchanged: Any = self._rows.tenant.does_not_exist()
        elif before.tenancy.version:
            unchanged = version == before.tenancy.version
        else:
            unchanged = self._rows.tenant.exists() & version.does_not_exist()
        names = _noted_types(before, after)
        counted = replace(
            with_next_version(before, after),
            events=(before.events if before else 0) + ("tenant" in names),
            rotations=(before.rotations if before else 0) + (SECRET in names),
        )
        row = self._row(counted)
        if names:
            told = [Note(type=".".join(name), at=self._now(), by=self._author()) for name in names.items()]
            row.note = notes.text_of(told)
        with translated():
            try:
                row.save(condition=unchanged)
            except PutError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def _row(self, tenant: Tenant) -> TenantRow:
        known = tenant.tenancy
        row = self._rows(
            tenant=tenant.id,
            tier=tenant.tier,
            log_share=tenant.log_share or None,
            destinations=sorted(f"{kind} {address}" for kind, address in tenant.destinations),
            default_target=tenant.default_target and compact(destination_values(tenant.default_target)),
            signing_secrets=list(tenant.signing_secrets),
            signing_until=milliseconds(tenant.signing_until),
            registered_a_second=known.registered_a_second,
            runs_in_flight=known.runs_in_flight,
            spread_seconds=known.spread_seconds or None,
            suspended_because=known.suspended_because,
            pending_waits=known.pending_waits or None,
            erased_as=known.erased_as,
            version=known.version or None,
            events=tenant.events or None,
            rotations=tenant.rotations or None,
        )
        for name, kind in LISTS_BEFORE.items():
            setattr(row, name, sorted(tenant.allowed(kind)))
        return row

    def ids(self) -> list[str]:
        with translated():
            found = [row.tenant for row in self._rows.scan(attributes_to_get=["tenant"])]
        return sorted(id for id in found if not is_erased(id))


def _noted_types(before: Tenant | None, after: Tenant) -> dict[str, str]:
    """Names the events of a change, by the kinds of their subjects. Empty if only secrets were sealed or values of
    headers changed. A suspension or its end is named in place of `changed`, not beside it."""
    if before is None:
        return {"tenant": "created"}
    found = {SECRET: "rotated"} if _is_rotated(before, after) else {}
    if before.tenancy.suspended_because != after.tenancy.suspended_because:
        found["tenant"] = "resumed" if after.tenancy.suspended_because is None else "suspended"
    elif _described(before) != _described(after):
        found["tenant"] = "changed"
    return found


def _is_rotated(before: Tenant, after: Tenant) -> bool:
    """False for the secrets of before in their sealed form."""
    pairs = zip_longest(before.signing_secrets, after.signing_secrets, fillvalue="")
    sealed = all(new == old or (is_sealed(new) and old and not is_sealed(old)) for old, new in pairs)
    return not (sealed and before.signing_until == after.signing_until)


def _described(tenant: Tenant) -> object:
    """The fields whose change is told as `tenant.changed`, to be compared. Only the names of headers count: the sealing
    of a value changes its text."""
    target = tenant.default_target
    headers = () if target is None else sorted(name for name, _ in (*target.headers, *target.sealed))
    return (
        *(tenant.tier, tenant.log_share, tenant.destinations),
        target and (target.type, target.address, tuple(headers)),
        replace(tenant.tenancy, version=0),
    )
