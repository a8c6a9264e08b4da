"""A start is measured in a process of its own."""

import os

import pytest

from bench.cold import Start, _median, started
from cli.failure import Failure


def test_a_start_has_its_time_and_its_memory() -> None:
    small = started("pass", dict(os.environ))
    large = started("kept = bytearray(80_000_000); sum(range(2_000_000))", dict(os.environ))
    assert large.rss_mb - small.rss_mb > 60
    assert large.cpu_ms > small.cpu_ms


def test_a_program_that_fails_is_told() -> None:
    with pytest.raises(Failure, match="ModuleNotFoundError"):
        started("import functions.nothing", dict(os.environ))


def test_the_median_is_taken_of_each_figure() -> None:
    starts = [Start(wall_ms=wall, cpu_ms=4 - wall, rss_mb=10) for wall in (1.0, 2.0, 3.0)]
    assert _median(starts) == Start(wall_ms=2, cpu_ms=2, rss_mb=10)
