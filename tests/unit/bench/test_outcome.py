from bench.outcome import Arrival, outcome

DUE = {"a": 1000.0, "b": 1000.0, "c": 2000.0}


def test_a_single_arrival_after_its_instant_is_only_late() -> None:
    found = outcome(DUE, [Arrival("b", 1004), Arrival("a", 1001), Arrival("c", 2000)])
    assert sorted(found.lateness_ms) == [0, 1, 4]
    assert found.broken == 0


def test_a_call_that_does_not_arrive_is_missing() -> None:
    found = outcome(DUE, [Arrival("a", 1001)])
    assert (found.missing, found.twice, found.early) == (2, 0, 0)


def test_a_task_that_arrives_more_than_once_counts_as_one_and_is_as_late_as_its_first_arrival() -> None:
    found = outcome({"a": 1000.0}, [Arrival("a", 1009), Arrival("a", 1002), Arrival("a", 1005)])
    assert found.twice == 1
    assert found.lateness_ms == (2,)


def test_any_arrival_before_the_instant_is_early_and_shows_in_the_lateness() -> None:
    found = outcome({"a": 1000.0, "b": 1000.0}, [Arrival("a", 999.5), Arrival("b", 1003)])
    assert found.early == 1
    assert min(found.lateness_ms) == -0.5


def test_arrivals_of_another_round_do_not_count() -> None:
    found = outcome({"a": 1000.0}, [Arrival("a", 1001), Arrival("stranger", 5)])
    assert found.figures() == {"p50_ms": 1, "p99_ms": 1, "max_ms": 1, "missing": 0, "twice": 0, "early": 0}


def test_when_nothing_arrives_there_are_counts_but_no_lateness() -> None:
    assert outcome(DUE, []).figures() == {"missing": 3, "twice": 0, "early": 0}
