from datetime import UTC, datetime, timedelta

from cli.bench.stream import AHEAD_SECONDS, planned

BEGIN = datetime(2026, 11, 18, 12, 0, 0, 123_456, tzinfo=UTC)


def test_a_stream_has_its_rate_for_its_time() -> None:
    stream = planned(20, 3)
    assert len(stream) == 60
    assert [one.register for one in stream[:3]] == [0, 0.05, 0.1]


def test_every_task_of_a_stream_is_due_three_to_twenty_seconds_after_it_is_registered() -> None:
    shortest, longest = AHEAD_SECONDS
    assert all(shortest <= one.due - one.register <= longest for one in planned(50, 60))


def test_every_run_has_the_same_stream() -> None:
    assert planned(20, 5) == planned(20, 5)


def test_an_instant_is_never_before_what_was_planned() -> None:
    for one in planned(20, 1):
        due_at = one.due_at(BEGIN)
        assert timedelta(0) <= due_at - (BEGIN + timedelta(seconds=one.due)) < timedelta(milliseconds=1)
        assert one.due_ms(BEGIN) == due_at.timestamp() * 1000
