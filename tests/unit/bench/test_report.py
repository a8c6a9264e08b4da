import json

import pytest

from bench.prices import dollars_a_million
from bench.report import broken, tables, text

BURST = {"case": "burst", "what": "tasks to SQS", "count": 2000, "p50_ms": 12.5, "missing": 0, "twice": 0}


def test_a_line_is_one_json_object() -> None:
    assert json.loads(text(BURST)) == BURST
    assert "\n" not in text(BURST)


def test_a_table_has_the_columns_that_some_line_fills_and_leaves_the_others_blank() -> None:
    table = tables([BURST, {"case": "steady", "what": "20/s", "p99_ms": 1800.0}])
    head, *rows = table.splitlines()
    assert head.split() == ["case", "what", "count", "p50", "ms", "p99", "ms", "missing", "twice"]
    assert [row.split() for row in rows] == [
        ["burst", "tasks", "to", "SQS", "2000", "12.5", "0", "0"],
        ["steady", "20/s", "1800"],
    ]


def test_figures_in_units_have_a_table_of_their_own() -> None:
    units = {"case": "units", "what": "a task", "phase": "claim", "write_units": 1.0}
    timed, counted = tables([BURST, units]).split("\n\n")
    assert "phase" not in timed
    assert counted.splitlines()[1].split() == ["a", "task", "claim", "1"]


def test_nothing_measured_makes_no_table() -> None:
    assert tables([]) == ""


def test_a_run_that_kept_its_promises_is_not_broken() -> None:
    assert broken([BURST, {"case": "register", "what": "POST"}]) is None


def test_missing_doubled_and_early_calls_are_named_with_their_case() -> None:
    lines = [BURST | {"missing": 2, "twice": 1}, BURST | {"what": "tasks to webhook", "early": 3}]
    assert broken([BURST | {"unsound": 1}]) == "burst tasks to SQS: 1 unsound"
    assert broken(lines) == "burst tasks to SQS: 2 missing, 1 twice; burst tasks to webhook: 3 early"


def test_a_price_is_the_sum_of_what_is_taken() -> None:
    taken = {"write_units": 4.0, "read_units": 1.0, "sqs_requests": 0.5, "dynamodb_requests": 9.0}
    assert dollars_a_million(taken) == pytest.approx(4 * 0.625 + 0.125 + 0.2)
