from bench.stream import AHEAD_SECONDS, planned


def test_a_stream_has_its_rate_for_its_time() -> None:
    stream = planned(20, 3)
    assert len(stream) == 60
    assert [one.after for one in stream[:3]] == [0, 0.05, 0.1]


def test_every_task_of_a_stream_is_due_three_to_twenty_seconds_after_it_is_registered() -> None:
    shortest, longest = AHEAD_SECONDS
    assert all(shortest <= one.ahead <= longest for one in planned(50, 60))


def test_every_run_has_the_same_stream() -> None:
    assert planned(20, 5) == planned(20, 5)


def test_a_stream_may_be_due_sooner() -> None:
    assert all(1 <= one.ahead <= 2 for one in planned(50, 10, (1, 2)))
