"""The part of Logs Insights that the saved queries use: filter, fields, stats with bins, sort and limit.

No emulator runs Logs Insights. Only tests use this module: they run the saved queries on sample log lines.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

Row = Mapping[str, Any]

_COMPARES: Final = {
    "=": lambda value, given: value == given,
    "!=": lambda value, given: value != given,
    ">=": lambda value, given: value >= given,
    "<=": lambda value, given: value <= given,
    ">": lambda value, given: value > given,
    "<": lambda value, given: value < given,
}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CALL: Final = re.compile(r"(\w+)\(([^)]*)\)(?: as (\w+))?")


def answered(query: str, lines: Iterable[str]) -> list[dict[str, Any]]:
    """The rows that a query answers. Raises ValueError for a command that is not known here."""
    rows: Sequence[Row] = [_row(line) for line in lines]
    for command in _commands(query):
        name, _, rest = command.partition(" ")
        match name:
            case "filter":
                rows = [row for row in rows if _holds(rest, row)]
            case "fields":
                rows = [{field: row[field] for field in _names(rest) if field in row} for row in rows]
            case "stats":
                rows = _stats(rest, rows)
            case "sort":
                field, _, order = rest.partition(" ")
                rows = sorted(
                    (row for row in rows if field in row),
                    key=lambda row: row[field],
                    reverse=order == "desc",
                )
            case "limit":
                rows = rows[: int(rest)]
            case _:
                raise ValueError(f"no command {name} is known")
    return [dict(row) for row in rows]


def _commands(query: str) -> Iterator[str]:
    text = "\n".join(line for line in query.splitlines() if not line.startswith("#"))
    return (command.strip() for command in re.split(r"\n\| ", text))


def _row(line: str) -> dict[str, Any]:
    """The fields that Logs Insights discovers: those of JSON, with the places of a list as names."""
    row: dict[str, Any] = {"@message": line}
    try:
        told = json.loads(line)
    except ValueError:
        return row
    row |= dict(_flat("", told))
    if "timestamp" in told:
        row["@timestamp"] = datetime.fromisoformat(told["timestamp"]).timestamp()
    elif "_aws" in told:
        row["@timestamp"] = told["_aws"]["Timestamp"] / 1000
    return row


def _flat(prefix: str, told: Any) -> Iterator[tuple[str, Any]]:
    match told:
        case dict():
            for name, value in told.items():
                yield from _flat(f"{prefix}{name}.", value)
        case list():
            for place, value in enumerate(told):
                yield from _flat(f"{prefix}{place}.", value)
        case _:
            yield prefix[:-1], told


def _holds(condition: str, row: Row) -> bool:
    return all(_is_met(part.strip(), row) for part in condition.split(" and "))


def _is_met(condition: str, row: Row) -> bool:
    if found := re.fullmatch(r"ispresent\((\S+)\)", condition):
        return found[1] in row
    if found := re.fullmatch(r"(\S+) like /(.+)/", condition):
        return re.search(found[2], str(row.get(found[1], ""))) is not None
    if found := re.fullmatch(r"(\S+) in (\[.+\])", condition):
        return row.get(found[1]) in json.loads(found[2])
    if found := re.fullmatch(r"(\S+) (=|!=|>=|<=|>|<) (.+)", condition):
        field, compare, given = found.groups()
        return field in row and bool(_COMPARES[compare](row[field], json.loads(given)))
    raise ValueError(f"the condition {condition} is not known")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _stats(text: str, rows: Sequence[Row]) -> list[Row]:
    calls, _, by = text.partition(" by ")
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    names = _names(by)
    for row in rows:
        groups[tuple(_group(name, row) for name in names)].append(row)
    return [
        dict(zip(names, key, strict=True))
        | {
            label or f"{name}({argument})": _aggregate(name, argument, group)
            for name, argument, label in _CALL.findall(calls)
        }
        for key, group in groups.items()
    ]


def _group(name: str, row: Row) -> Any:
    if found := re.fullmatch(r"bin\((\d+)([smhd])\)", name):
        width = int(found[1]) * _SECONDS[found[2]]
        return row["@timestamp"] // width * width if "@timestamp" in row else None
    return row.get(name)


def _aggregate(name: str, argument: str, rows: Sequence[Row]) -> Any:
    values = [row[argument] for row in rows if argument in row]
    match name:
        case "count":
            return len(rows) if argument == "*" else len(values)
        case "sum":
            return sum(values)
        case "count_distinct":
            return len(set(values))
    raise ValueError(f"no function {name} is known")
