"""Lines of the case recorder: the comparison, and the delays of a follower."""

from bench.recorder import _compared, _delay

ON = {"what": "tasks to SQS, recorder on", "p50_ms": 520.0, "p99_ms": 900.5, "drain_per_second": 1500.0}
OFF = {"what": "tasks to SQS, recorder off", "p50_ms": 500.0, "p99_ms": 850.2, "drain_per_second": 2000.0}


def test_the_comparison_tells_what_the_recorder_adds() -> None:
    line = _compared(ON, OFF)
    assert line["what"] == "added by it: tasks to SQS"
    assert (line["p50_ms"], line["p99_ms"]) == (20.0, 50.3)


def test_the_ratio_is_the_drain_with_the_recorder_by_the_drain_without_it() -> None:
    assert _compared(ON, OFF)["ratio"] == 0.75


def test_a_stream_has_no_drain_and_no_ratio() -> None:
    on, off = ({key: each[key] for key in ("what", "p50_ms", "p99_ms")} for each in (ON, OFF))
    assert "ratio" not in _compared(on, off)


def test_a_drain_that_never_ended_has_no_ratio() -> None:
    assert "ratio" not in _compared(ON | {"drain_per_second": None}, OFF)


def test_delays_are_told_by_their_percentiles() -> None:
    line = _delay("events in the feed", [float(number) for number in range(1, 101)])
    assert (line["count"], line["p50_ms"], line["p99_ms"], line["max_ms"]) == (100, 50, 99, 100)
