"""Lines of the cases peak and deploy, and the changes that deploy brings."""

import pytest

from bench.deploy import NOTHING, changed, changes
from bench.payment_steady import settled_rate
from bench.peak import at_limit, at_rate

LINE = {"case": "steady", "what": "payments, 350/s", "p99_ms": 60.0, "settled_per_second": 450.0}


def test_at_a_rate_the_p99_is_compared_with_that_of_timers() -> None:
    line = at_rate(LINE, 20.0)
    assert (line["case"], line["floor"], line["ratio"]) == ("peak", 20, 3)


def test_at_the_limit_payments_settled_a_second_are_compared_with_it() -> None:
    line = at_limit(LINE, 500.0)
    assert (line["floor"], line["ratio"]) == (500, 0.9)


def test_a_stream_of_which_nothing_was_seen_has_no_ratio() -> None:
    line = {name: value for name, value in LINE.items() if name != "p99_ms"}
    assert at_rate(line, 20.0)["ratio"] is None
    assert changed(line, NOTHING, 20.0)["ratio"] is None


@pytest.mark.parametrize(
    ("seen_ms", "rate"), [({"a": 1_500.0, "b": 3_000.0}, 1.0), ({"a": 2_000.0}, 1.0), ({}, 0.0)]
)
def test_the_rate_of_settling_is_from_the_first_instant_to_the_last_payment(
    seen_ms: dict[str, float], rate: float
) -> None:
    assert settled_rate({"a": 1_000.0, "b": 2_000.0}, seen_ms) == rate


def test_a_stream_without_a_change_comes_first() -> None:
    first, *others = changes()
    assert first.what == NOTHING
    assert len({change.what for change in others}) == 3


def test_no_worker_runs_before_the_first_instant_and_the_other_changes_come_after_it() -> None:
    after = {change.what: change.at_seconds > 0 for change in changes() if change.what != NOTHING}
    assert list(after.values()) == [True, True, False]


def test_a_change_is_told_beside_its_floor() -> None:
    line = changed(LINE, "a parameter changes", 30.0)
    assert (line["case"], line["what"], line["ratio"]) == (
        "deploy",
        "payments, 350/s, a parameter changes",
        2,
    )
