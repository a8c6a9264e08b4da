"""Scans that cost what a page holds, loaded into the engine itself.

The engine lists and hashes the whole table for each page of a scan, and reads the expression of a projection for each
row: a table of a million rows takes minutes a page. The content of answers does not change.
"""

import hashlib
import inspect
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ministack.services import dynamodb

_Row: TypeAlias = dict[str, Any]
# What the engine does for a page, and what takes its place.
_WHOLE: Final = """\
    all_items = []
    for pk in sorted(table["items"].keys()):
        for sk in sorted(table["items"][pk].keys()):
            all_items.append(table["items"][pk][sk])
"""
_PAGE: Final = "    all_items = list(rows_of_page(table, data))\n"


def patched() -> None:
    dynamodb._scan = by_pages(dynamodb._scan)
    dynamodb._project_item = projected_plainly(dynamodb._project_item)


def by_pages(scan: Callable[..., Any]) -> Callable[..., Any]:
    """The engine's own function, but for the rows that it begins with. Raises LookupError for another engine."""
    source = textwrap.dedent(inspect.getsource(scan))
    if source.count(_WHOLE) != 1:
        raise LookupError("the engine scans tables in another way")
    made: dict[str, Any] = {}
    dynamodb.rows_of_page = rows_of_page
    exec(compile(source.replace(_WHOLE, _PAGE), __file__, "exec"), vars(dynamodb), made)  # noqa: S102
    changed: Callable[..., Any] = made[scan.__name__]
    return changed


def rows_of_page(table: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[_Row]:
    """The rows from the page's first one on, a little more than a page. An index is listed as a whole."""
    items = table["items"]
    if asked.get("IndexName"):
        yield from (items[first][second] for first in sorted(items) for second in sorted(items[first]))
        return
    start, left = _key(table, asked), dynamodb._DDB_PAGE_SIZE_BYTES
    for first in sorted(items if start is None else (each for each in items if each >= start[0])):
        if not _in_segment(first, asked):
            continue
        for second in sorted(items[first]):
            if start is not None and (first, second) <= start:
                continue
            row = items[first][second]
            yield row
            left -= dynamodb._item_size_bytes(row)
            # The row that no longer fits tells the engine that there is more.
            if left < 0:
                return


def _key(table: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key behind which the page begins; None for the first page, and for a key that the engine refuses."""
    after = asked.get("ExclusiveStartKey") or {}
    names = [table["pk_name"], *([table["sk_name"]] if table.get("sk_name") else [])]
    if not all(name in after for name in names):
        return None
    first, *second = (dynamodb._extract_key_val(after[name]) for name in names)
    return first, second[0] if second else ""


def _in_segment(key: str, asked: Mapping[str, Any]) -> bool:
    """The engine's own division."""
    if asked.get("Segment") is None:
        return True
    number = int.from_bytes(hashlib.sha1(str(key).encode(), usedforsecurity=False).digest()[:4], "big")
    return number % int(asked["TotalSegments"]) == int(asked["Segment"])


def projected_plainly(project: Callable[..., _Row]) -> Callable[..., _Row]:
    """The engine reads the expression for the first row of an answer. Plain attributes of further rows are taken."""
    seen = threading.local()

    def projected(row: _Row, expression: str, names: Mapping[str, str]) -> _Row:
        last = getattr(seen, "last", None)
        if last is not None and last[0] is expression and last[1] is names:
            plain = last[2]
            if plain is None:
                return project(row, expression, names)
            return {name: row[name] for name in plain if name in row}
        answer = project(row, expression, names)
        words = [each.strip() for each in expression.split(",")]
        plain = [names[each] for each in words] if names and all(each in names for each in words) else None
        seen.last = expression, names, plain
        return answer

    return projected
