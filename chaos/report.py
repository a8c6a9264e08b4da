"""The lines of a run, and their table."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from bench.figures import spread
from chaos import checks, money
from chaos.items import milliseconds
from chaos.notes import Notes
from chaos.receiver import MISBEHAVIOUR
from chaos.seen import Seen
from chaos.timeline import EVERY

Line: TypeAlias = dict[str, Any]
_COLUMNS: Final = ("case", "what", "count", "unknown", "p50_ms", "p99_ms", "max_ms", "ok", "observed")
_WORDS: Final = frozenset({"case", "what", "observed"})
REACHED: Final = ("a cancel", "a change", "a payment", "a heartbeat", "a word of success")


def load(notes: Notes) -> Iterator[Line]:
    """Counts of requests and grants by kind, and of requests without an answer."""
    for what in sorted({*notes.asked, *REACHED}):
        asked, granted = notes.asked[what], notes.granted[what]
        line: Line = {
            "case": "load",
            "what": what,
            "count": granted,
            "asked": asked,
            "unknown": notes.unknown[what],
        }
        yield line | ({"ok": granted > 0} if what in REACHED else {})
    for what, count in sorted(notes.refused.items()):
        yield {"case": "refused", "what": what, "count": count}


def faults(done: Mapping[str, int], tempers: Mapping[str, int]) -> Iterator[Line]:
    """A kind of fault that did not happen shows nothing: then the run has failed."""
    counts = {what: done.get(what, 0) for what in EVERY}
    counts |= {f"target {temper}": tempers.get(temper, 0) for temper in MISBEHAVIOUR}
    for what, count in counts.items():
        yield {"case": "fault", "what": what, "count": count, "ok": count > 0}


def hits(seen: Seen) -> Iterator[Line]:
    """Failures that the faults caused and that had to be repaired. Kills of idle workers show little."""
    died = [line for task in seen.tasks.values() for line in task.history if "its worker died" in line.why]
    counts = {
        "calls without an answer": seen.notes.unknown.total(),
        "attempts whose worker died": len(died),
        "attempts that failed": sum(
            line.to == "RETRYING" for task in seen.tasks.values() for line in task.history
        ),
        "dead tasks": sum(task.state == "DEAD" for task in seen.tasks.values()),
    }
    for what, count in counts.items():
        yield {"case": "hit", "what": what, "count": count}
    hit = len(died) + seen.notes.unknown.total()
    yield {"case": "hit", "what": "killed at work", "count": hit, "ok": hit > 0}


def lateness(seen: Seen) -> Iterator[Line]:
    """Lateness of first arrivals, as their clients know the instants; of payments, up to their commit's decision."""
    due = {each.id: each.earliest_ms for each in seen.notes.promised}
    kinds: dict[str, dict[str, float]] = {}
    for arrival in seen.arrivals:
        run = seen.tasks.get(arrival.run)
        if run is None:
            continue
        what = (
            "run" if run.recurs else f"task to {'a webhook' if run.destination.type == 'webhook' else 'SQS'}"
        )
        late = arrival.at_ms - due.get(run.id, milliseconds(run.planned_at))
        found = kinds.setdefault(what, {})
        found[run.id] = min(late, found.get(run.id, late))
    kinds["payment"] = {
        each.id: float(each.lateness_ms) for each in seen.payments.values() if each.lateness_ms is not None
    }
    for what, found in sorted(kinds.items()):
        yield {"case": "lateness", "what": what, "count": len(found)} | spread(found.values(), 50, 99)


def checked(seen: Seen) -> Iterator[Line]:
    for check in (*money.CHECKS, *checks.CHECKS):
        said = check(seen)
        yield {
            "case": "check",
            "what": check.__name__,
            "count": said.looked_at,
            "ok": said.ok,
            "observed": said.observed,
        }


def broken(lines: Iterable[Line]) -> list[str]:
    return [f"{line['case']} {line['what']}" for line in lines if line.get("ok") is False]


def text(line: Line) -> str:
    return json.dumps(line)


def table(lines: Sequence[Line]) -> str:
    rows = [list(_COLUMNS), *([_cell(line.get(name)) for name in _COLUMNS] for line in lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if name in _WORDS else cell.rjust(width)
            for name, cell, width in zip(_COLUMNS, row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "NO"
        case float():
            return f"{value:.10g}"
        case _:
            return str(value)
