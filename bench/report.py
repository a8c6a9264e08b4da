"""The lines of a run, as JSON and as tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

Line: TypeAlias = dict[str, Any]
BROKEN: Final = ("missing", "twice", "early", "late", "unsound")

_TIMES: Final = {
    "case": "case",
    "what": "what",
    "count": "count",
    "per_second": "a second",
    "registered_per_second": "registered/s",
    "drain_per_second": "drained/s",
    "settled_per_second": "settled/s",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
    "p99_ms": "p99 ms",
    "max_ms": "max ms",
    "written": "units written",
    "read": "read",
    "missing": "missing",
    "twice": "twice",
    "early": "early",
    "late": "late",
    "import_mb": "MB imported",
    "rss_mb": "RSS MB",
    "calls_while_down": "calls while down",
    "unsound": "unsound",
    "floor": "floor",
    "ratio": "ratio",
    "http_floor": "http floor",
    "http_ratio": "ratio",
}
_UNITS: Final = {
    "what": "units of",
    "phase": "phase",
    "write_units": "write",
    "read_units": "read",
    "dynamodb_requests": "DynamoDB",
    "sqs_requests": "SQS",
    "lambda_requests": "Lambda",
    "dollars_a_million": "$ a million",
}
_WORDS: Final = frozenset({"case", "what", "phase"})


def text(line: Line) -> str:
    return json.dumps(line)


def tables(lines: Iterable[Line]) -> str:
    """Returns a table of times and a table of units."""
    timed: list[Line] = []
    counted: list[Line] = []
    for line in lines:
        (counted if "write_units" in line else timed).append(line)
    whole = [_table(_TIMES, timed), _table(_UNITS, counted)]
    return "\n\n".join(table for table in whole if table)


def broken(lines: Iterable[Line]) -> str | None:
    """Broken promises in words; None when all were kept."""
    found = [
        f"{line['case']} {line['what']}: {', '.join(f'{line[name]} {name}' for name in BROKEN if line.get(name))}"
        for line in lines
        if any(line.get(name) for name in BROKEN)
    ]
    return "; ".join(found) or None


def _table(columns: Mapping[str, str], lines: Sequence[Line]) -> str:
    """Columns that no line fills are left out."""
    names = [name for name in columns if any(line.get(name) is not None for line in lines)]
    rows = [[columns[name] for name in names], *([_cell(line.get(name)) for name in names] for line in lines)]
    if not lines:
        return ""
    widths = [max(len(row[place]) for row in rows) for place in range(len(names))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if name in _WORDS else cell.rjust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
