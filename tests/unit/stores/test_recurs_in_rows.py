"""The run that a row describes: rows of older code are read, and older code reads the rows of this code."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from postdate.domain.recurs import Recurs
from postdate.stores import task_row
from tests.unit.doubles import START, a_task

AT = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
AT_MS = 1_794_996_300_000
OLDER = Recurs(definition="task_d", plan=3, at=AT, number=2, before=("run_p",))


def values(recurs: Recurs) -> list[object]:
    attributes = task_row.attributes_of(a_task(recurs=recurs), listing_shards=1, retention=timedelta(days=35))
    found: list[object] = json.loads(attributes["options"]["S"])["recurs"]
    return found


def read(*stored: object) -> Recurs | None:
    attributes = task_row.attributes_of(a_task(), listing_shards=1, retention=timedelta(days=35))
    row = {name: next(iter(value.values())) for name, value in attributes.items()}
    optional = dict.fromkeys(task_row.TaskRow.get_attributes())
    options = json.dumps({"recurs": stored})
    row |= {"options": options, "history": [line["S"] for line in row["history"]]}
    return task_row.task_of(SimpleNamespace(**{**optional, **row})).recurs  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "recurs"),
    [
        (["task_d", 3, AT_MS, 2, "run_p"], OLDER),
        (["task_d", 3, AT_MS, 2, None], replace(OLDER, before=())),
        (["task_d", 3, AT_MS, 2, "run_p", "run_x"], replace(OLDER, passed_over="run_x")),
    ],
)
def test_a_row_of_older_code_is_read(stored: list[object], recurs: Recurs) -> None:
    assert read(*stored) == recurs


@pytest.mark.parametrize("ahead", [0, 3600, -18_000, 20_700])
@pytest.mark.parametrize("before", [(), ("run_p",), ("run_p", "run_q", "run_r")])
@pytest.mark.parametrize("passed_over", [None, "run_x"])
def test_it_is_read_as_it_was_written(ahead: int, before: tuple[str, ...], passed_over: str | None) -> None:
    wall = AT.replace(tzinfo=None) + timedelta(seconds=ahead)
    recurs = replace(OLDER, before=before, passed_over=passed_over, wall=wall)
    stored = values(recurs)
    assert read(*stored) == recurs
    # The part of the row that older code reads.
    _, _, _, number, previous, *more = stored
    assert (number, previous, more[0]) == (2, before[0] if before else None, passed_over)


def test_a_run_out_of_turn_has_what_older_code_reads() -> None:
    assert values(Recurs(definition="task_d", plan=3, at=START, number=0)) == ["task_d", 3, AT_MS, 0, None]
