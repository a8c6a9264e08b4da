"""Payments in the archive: an object for each walk over a slot, with a line for each payment.

A line holds the payment's row as it was. Its numbers, and its texts that are words of ours, are readable. Both accounts
are sealed by the tenant's key of the archive as in archived events, so they can be joined; all other texts are sealed
together, an attribute that only newer code knows among them.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from postdate.domain import archiving, retention
from postdate.domain.archiving import Text
from postdate.domain.payment import Payment, State
from postdate.domain.slots import Slot, home
from postdate.runtime.clock import Clock
from postdate.stores.archive import Archive
from postdate.stores.attributes import AttributeMap, compact
from postdate.stores.payment_row import payment_in
from postdate.stores.vault import Vault

# Texts that are words of ours.
PLAIN: Final = frozenset({"slot", "id", "status", "funding", "error_code"})
_ACCOUNTS: Final = ("payer", "payee")
# The owner stands in the line as a pseudonym. Keys of indexes follow from the rest, and the removal is the table's.
_LEFT_OUT: Final = frozenset(
    {"tenant", "place", "tenant_listing", "state_listing", "listing", "payee_listing", "expires_at"}
)
_SEALED: Final = "sealed"
_OWNER: Final = "tenant"


def line_of(row: AttributeMap, *, owner: str, seal: Text) -> bytes:
    """One line of an object, the same for the same row and key."""
    kept = {name: row[name] for name in sorted(row.keys() - _LEFT_OUT - {*_ACCOUNTS})}
    plain = {name: value for name, value in kept.items() if name in PLAIN or "N" in value}
    names = {name: value for name, value in kept.items() if name not in plain}
    line: dict[str, Any] = {_OWNER: owner, "row": plain}
    line |= {name: seal(row[name]["S"]) for name in _ACCOUNTS}
    return f"{compact(line | {_SEALED: seal(compact(names))})}\n".encode()


def row_of(line: bytes, *, tenant: str, open: Text) -> AttributeMap:
    """The row of a line, without the keys of its indexes."""
    told = json.loads(line)
    accounts = {name: {"S": open(told[name])} for name in _ACCOUNTS}
    return {**told["row"], **json.loads(open(told[_SEALED])), **accounts, "tenant": {"S": tenant}}


def packed(lines: Iterable[bytes]) -> bytes:
    """The content of an object. It has no instant in it, so equal lines make equal objects."""
    return gzip.compress(b"".join(lines), mtime=0)


def by_id(content: bytes) -> dict[str, bytes]:
    """The lines of an object by the ids of their payments."""
    lines = gzip.decompress(content).splitlines(keepends=True)
    return {json.loads(line)["row"]["id"]["S"]: line for line in lines}


def objects_of(archive: Archive, slot: Slot) -> Iterator[bytes]:
    """The contents of a slot's objects, in the order of their numbers. Raises Unavailable."""
    number = 1
    while (content := archive.get(retention.object_key(slot, number))) is not None:
        yield content
        number += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """The end of an archived payment, as far as a reader without its tenant's key sees it."""

    # The final state.
    state: State
    # The code of the error that ended a FAILED payment; None in other states.
    error_code: str | None


class ArchivedPayments:
    """`archive` makes the store at the first use: most copies of a function never need it."""

    def __init__(self, *, archive: Callable[[], Archive], vault: Vault, clock: Clock) -> None:
        self._archive = archive
        self._vault = vault
        self._clock = clock

    def find(self, tenant: str, id: str) -> Payment | None:
        """The tenant's payment of this id, if it has left its table. Asks no store about a payment whose slot is too
        young for that. Raises Unavailable."""
        key = archiving.owner_of_key(tenant)
        # A tenant without a data key of its archive has nothing there, and a question makes no key.
        if not retention.may_be_archived(id, self._clock.now()) or not self._vault.has_key(key):
            return None
        owner, line = archiving.pseudonym(self._vault.seal(key, archiving.PURPOSE, tenant)), self._line(id)
        # The id of another tenant's payment leads to nothing.
        if line is None or json.loads(line)[_OWNER] != owner:
            return None
        return payment_in(
            row_of(line, tenant=tenant, open=lambda text: self._vault.open(key, archiving.PURPOSE, text))
        )

    def end_of(self, id: str) -> Ended | None:
        """The end of any tenant's payment of this id, if it has left its table; also of a tenant that was erased.
        Raises Unavailable."""
        may_be = retention.may_be_archived(id, self._clock.now())
        line = self._line(id) if may_be else None
        if line is None:
            return None
        row = json.loads(line)["row"]
        return Ended(state=State(row["status"]["S"]), error_code=row.get("error_code", {}).get("S"))

    def _line(self, id: str) -> bytes | None:
        line = None
        # A row that changed after it was copied is in a later object too.
        for content in objects_of(self._archive(), home(id)):
            line = by_id(content).get(id, line)
        return line
