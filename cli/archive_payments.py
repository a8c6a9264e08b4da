"""The archive of payments, read by an operator: every object and every line is compared with what its place tells.

The texts of a line are sealed, and no key is needed here: the checks also hold for tenants that were erased.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postdate.domain import retention
from postdate.domain.payment import State
from postdate.domain.sealed import is_sealed
from postdate.domain.slots import Slot, home, is_id
from postdate.stores.archive import Archive
from postdate.stores.archived_payments import PLAIN

_SEALED: Final = ("payer", "payee", "sealed")


@dataclass(kw_only=True, slots=True)
class VerifiedPayments:
    """`copied_again` are payments that a later object of their slot has anew: readers take the last."""

    objects: int = 0
    payments: int = 0
    copied_again: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def verify(archive: Archive) -> VerifiedPayments:
    """Reads every object. Raises Unavailable."""
    found = VerifiedPayments()
    numbers: dict[Slot, int] = {}
    known: dict[str, bytes] = {}
    for key in archive.keys(retention.PAYMENTS):
        place = retention.place_of(key)
        if place is None:
            found.problems.append(f"{key}: is no object of a slot")
            continue
        slot, number = place
        if slot not in numbers:
            # Keys of one slot follow each other.
            known = {}
        if number != numbers.get(slot, 0) + 1:
            found.problems.append(f"{key}: the object before it is missing, so readers do not come to it")
        numbers[slot] = number
        content = archive.get(key) or b""
        found.objects += 1
        found.bytes += len(content)
        found.problems += [f"{key}: {each}" for each in _read(content, slot, known, found)]
    return found


def _read(content: bytes, slot: Slot, known: dict[str, bytes], found: VerifiedPayments) -> Iterator[str]:
    """Names the contradictions of an object, and enters its lines in `known`, those of the slot by their payments."""
    try:
        lines = gzip.decompress(content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        yield f"cannot be read: {error!r}"
        return
    if not lines:
        yield "has no payment"
    here = set[str]()
    for place, line in enumerate(lines, start=1):
        try:
            told = json.loads(line)
            id = told["row"]["id"]["S"]
        except (ValueError, KeyError, TypeError) as error:
            yield f"line {place} is no payment: {error!r}"
            continue
        found.payments += 1
        if id in here or known.get(id) == line:
            yield f"line {place} has {id} once more"
        elif id in known:
            found.copied_again += 1
        here.add(id)
        known[id] = line
        yield from (f"line {place}: {each}" for each in _contradictions(told, id, slot))


def _contradictions(told: Mapping[str, Any], id: str, slot: Slot) -> Iterator[str]:
    row = told["row"]
    if not is_id(id) or home(id) != slot:
        yield f"{id} belongs to another slot"
    if row.get("slot", {}).get("S") != slot.key:
        yield f"the row of {id} names another slot"
    states = {state.value for state in State if state.is_final}
    if row.get("status", {}).get("S") not in states:
        yield f"{id} has not ended"
    if "N" not in row.get("version", {}):
        yield f"{id} has no version"
    for name in _SEALED:
        if not is_sealed(str(told.get(name, ""))):
            yield f"{name} of {id} is not sealed"
    if clear := sorted(name for name, value in row.items() if name not in PLAIN and "N" not in value):
        yield f"{id} tells {', '.join(clear)} in clear"
