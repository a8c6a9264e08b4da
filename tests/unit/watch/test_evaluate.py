"""The evaluator against the cases that AWS publishes for its alarms (Configuring how CloudWatch alarms treat missing
data), and against CloudWatch's statistics and math."""

import pytest

from infra.watch.alarm import Alarm, Comparison, Composite, Missing, Series, Severity
from infra.watch.evaluate import State, Watch, combined, evaluated, state_after
from infra.watch.expressions import computed
from infra.watch.samples import Samples, statistic

KEPT = None
OK, ALARM, NO_DATA = State.OK, State.ALARM, State.INSUFFICIENT_DATA
PUBLISHED = [
    # datapoints, the last five periods, and the state by missing, ignore, breaching, notBreaching
    (3, "0 - X - X", OK, OK, OK, OK),
    (3, "0 - - - -", OK, OK, OK, OK),
    (3, "- - - - -", NO_DATA, KEPT, ALARM, OK),
    (3, "0 X X - X", ALARM, ALARM, ALARM, ALARM),
    (3, "- - X - -", ALARM, KEPT, ALARM, OK),
    (2, "0 - X - X", ALARM, ALARM, ALARM, ALARM),
    (2, "0 0 X 0 X", ALARM, ALARM, ALARM, ALARM),
    (2, "0 - X - -", OK, OK, ALARM, OK),
    (2, "- - - - 0", OK, OK, ALARM, OK),
    (2, "- - - X -", ALARM, KEPT, ALARM, OK),
    # Not yet: the next value may be within the threshold.
    (3, "- - - - X", KEPT, KEPT, ALARM, OK),
    (3, "- - - X -", KEPT, KEPT, ALARM, OK),
]
TREATMENTS = (Missing.MISSING, Missing.IGNORE, Missing.BREACHING, Missing.NOT_BREACHING)
POINTS = {"0": False, "X": True, "-": None}


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize(
    ("datapoints", "told", "states"), [(m, told, states) for m, told, *states in PUBLISHED]
)
def test_missing_data_is_treated_as_aws_publishes(
    datapoints: int, told: str, states: list[State | None], before: State
) -> None:
    for treatment, expected in zip(TREATMENTS, states, strict=True):
        found = state_after(
            [POINTS[point] for point in told.split()],
            datapoints=datapoints,
            periods=3,
            missing=treatment,
            before=before,
        )
        assert found is (before if expected is KEPT else expected), treatment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Sum", 10),
        ("SampleCount", 4),
        ("Average", 2.5),
        ("Minimum", 1),
        ("Maximum", 4),
        ("p50", 2),
        ("p99", 4),
    ],
)
def test_a_statistic_makes_one_value_of_a_period(name: str, value: float) -> None:
    assert statistic(name, [4, 1, 3, 2]) == value
    assert statistic(name, []) is None


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("100 * a / (a + b)", 25),
        ("IF(a + b >= 4, 100 * a / (a + b), 0)", 25),
        ("IF(a + b > 4, 100 * a / (a + b), 0)", 0),
        ("a / (a - 1)", None),
        ("a", 1),
        ("FILL(a, 5) + FILL(c, 5)", 6),
        ("a + c", None),
    ],
)
def test_math_is_that_of_cloudwatch(expression: str, value: float | None) -> None:
    assert computed(expression, {"a": 1, "b": 3} | ({"c": None} if "c" in expression else {})) == value


def test_functions_of_the_time_know_when_a_period_begins() -> None:
    seventeen_past = 1_800_000_000 // 3600 * 3600 + 17 * 60
    assert computed("MINUTE(a)", {"a": 1}, start=seventeen_past) == 17
    assert computed("FLOOR(MINUTE(a) / 10)", {"a": 1}, start=seventeen_past) == 1
    assert computed("MINUTE(a)", {"a": None}, start=seventeen_past) is None


def test_a_series_without_data_leaves_the_math_without_a_value() -> None:
    assert computed("IF(a > 0, a, b)", {"a": 1, "b": None}) is None


def test_math_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know"):
        computed("RATE(a)", {"a": 1})


def an_alarm(**changes: object) -> Alarm:
    given = {
        "name": "alarm",
        "meaning": "",
        "severity": Severity.PAGE,
        "series": {"a": Series(namespace="N", name="A", statistic="Sum", dimensions=(("d", "1"),))},
        "threshold": 2.0,
        "datapoints": 2,
        "periods": 3,
    }
    return Alarm(**(given | changes))  # type: ignore[arg-type]


def sampled(*minutes: float, dimension: str = "1") -> Samples:
    samples = Samples()
    for minute, value in enumerate(minutes):
        samples.add("N", "A", (("d", dimension),), at=minute * 60 + 5, value=value)
    return samples


def test_two_of_three_values_above_the_threshold_fire() -> None:
    assert evaluated(an_alarm(), sampled(0, 3, 0, 3), until=240) is ALARM
    assert evaluated(an_alarm(), sampled(3, 0, 0, 3), until=240) is OK
    assert evaluated(an_alarm(), sampled(2, 2, 2, 2), until=240) is OK


def test_the_minute_that_still_runs_does_not_count() -> None:
    assert evaluated(an_alarm(), sampled(0, 0, 3, 3), until=239) is OK


def test_a_long_period_slides_from_minute_to_minute() -> None:
    sums = an_alarm(period=180, datapoints=1, periods=1, threshold=5.0)
    assert evaluated(sums, sampled(0, 3, 3, 0, 0, 0), until=240) is ALARM
    assert evaluated(sums, sampled(0, 3, 3, 0, 0, 0), until=300) is OK


def test_another_dimension_is_another_metric() -> None:
    assert evaluated(an_alarm(), sampled(3, 3, 3, dimension="2"), until=180) is OK


def test_an_alarm_may_fire_below_its_threshold() -> None:
    below = an_alarm(comparison=Comparison.BELOW)
    assert evaluated(below, sampled(1, 1, 3), until=180) is ALARM
    assert evaluated(below, sampled(3, 3, 1), until=180) is OK


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("a AND b", OK),
        ("a OR b", ALARM),
        ("a AND NOT b", ALARM),
        ("NOT (a OR b)", OK),
        ("a AND NOT c", ALARM),
    ],
)
def test_a_composite_alarm_follows_its_rule(rule: str, state: State) -> None:
    composite = Composite(name="x", meaning="", severity=Severity.PAGE, rule=rule, parts=())
    assert combined(composite, {"a": ALARM, "b": OK, "c": NO_DATA}) is state


def test_a_watch_tells_when_an_alarm_fired_first() -> None:
    watch = Watch(
        [an_alarm()],
        [Composite(name="both", meaning="", severity=Severity.PAGE, rule="alarm", parts=("alarm",))],
    )
    samples = sampled(0, 0, 3, 3, 0, 0)
    for minute in range(1, 8):
        watch.look(samples, at=minute * 60)
    assert watch.fired == {"alarm": 240, "both": 240}
    assert watch.states == {"alarm": OK, "both": OK}
