"""Reads rows for the checkers, without the code that wrote the rows."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.simulation.engine import Change, Row
from tests.simulation.transitions import FINAL


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurs:
    """The definition and the number of a run's row; instants in milliseconds. `ahead` is how far the clocks of its zone
    were ahead of UTC."""

    definition: str
    plan: int
    at: int
    number: int
    before: tuple[str, ...]
    passed: str | None
    ahead: int | None

    @property
    def wall(self) -> int:
        """The wall time of the run's instant, in milliseconds."""
        return self.at + (self.ahead or 0)


ITEM_TABLES: Final = ("items", "payments")


def text(row: Row, name: str) -> str | None:
    value = row.get(name)
    return None if value is None else str(value["S"])


def number(row: Row, name: str) -> int:
    value = row.get(name)
    return 0 if value is None else int(value["N"])


def lines(row: Row) -> list[tuple[int, int, str, int, str]]:
    """version, at, to, attempt, why"""
    found = []
    for line in row["history"]["L"]:
        version, at, to, attempt, told = line["S"].split(" ", 4)
        why = told.partition("\x1f")[0]
        found.append((int(version), int(at), to, int(attempt), why))
    return found


def is_item(change: Change) -> bool:
    return change.table in ITEM_TABLES and change.after is not None and is_item_row(change.after)


def is_item_row(row: Row) -> bool:
    """A task, a run or a payment; neither a pointer nor a definition."""
    return "status" in row and "schedule" not in row


def is_definition(change: Change) -> bool:
    return change.table == "items" and change.after is not None and "schedule" in change.after


def is_run(row: Row) -> bool:
    return str(row["id"]["S"]).startswith("run_")


def options(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text(row, "options") or "{}")
    return found


def recurs(row: Row) -> Recurs | None:
    values = options(row).get("recurs") if is_run(row) else None
    if values is None:
        return None
    definition, plan, at, number, *links = values
    before, passed, ahead, *others = (*links, None, None)[: max(3, len(links))]
    return Recurs(
        definition=definition,
        plan=plan,
        at=at,
        number=number,
        before=tuple(each for each in (before, *others) if each),
        passed=passed,
        ahead=None if ahead is None else 1000 * ahead,
    )


def control(row: Row) -> tuple[str, int | None, int | None] | None:
    """The key of its tenant that the task goes under, and what that allows."""
    values = None if is_payment(row) else options(row).get("flow")
    if values is None:
        return None
    key, rate, _, parallelism = values
    return f"{text(row, 'tenant')}#{key}", rate, parallelism


def address(row: Row) -> tuple[str, str]:
    """A tenant's way to one destination."""
    target = json.loads(text(row, "target") or "{}")
    return str(text(row, "tenant")), str(target.get("address"))


def claimed(changes: Iterable[Change]) -> Iterator[tuple[Row, Row]]:
    """Each task for which an attempt begins with these writes, before and after."""
    for change in changes:
        before, after = change.before, change.after
        if not is_item(change) or before is None or after is None or is_payment(after):
            continue
        if text(after, "status") == "RUNNING" and number(after, "token") > number(before, "token"):
            yield before, after


def moved(changes: Iterable[Change]) -> Iterator[tuple[Row, Row]]:
    """Each item that has another version with these writes, before and after."""
    for change in changes:
        before, after = change.before, change.after
        if not is_item(change) or before is None or after is None:
            continue
        if number(after, "version") != number(before, "version"):
            yield before, after


def is_payment(row: Row) -> bool:
    return str(row["id"]["S"]).startswith("pay_")


def held(row: Row | None) -> int:
    if row is None or text(row, "status") in FINAL or text(row, "funding") == "at_execution":
        return 0
    return number(row, "amount")


def effects(row: Row) -> dict[str, int]:
    """The effect of a journal row on accounts; the world outside is ''."""
    tenant, amount = text(row, "tenant"), number(row, "amount")
    payer, payee = text(row, "payer"), text(row, "payee")
    found: dict[str, int] = defaultdict(int)
    found[f"{tenant}#{payer}" if payer else ""] -= amount
    found[f"{tenant}#{payee}" if payee else ""] += amount
    return found


def waits_for_a_person(row: Row) -> bool:
    if not is_item_row(row):
        return False
    return text(row, "status") == "DEAD" or (text(row, "status") == "EXECUTING" and "lease" not in row)


def request_of(row: Row) -> str | None:
    """The name that the request has, which made this item or definition; a run was asked for by nobody."""
    if "status" not in row or is_run(row):
        return None
    if is_payment(row):
        return text(row, "description")
    name = options(row).get("name")
    return None if name is None else str(name)
