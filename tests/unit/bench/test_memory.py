"""Memory of processes, read from what the system tells of them."""

import os
from pathlib import Path

import pytest

from bench.memory import NOW, PEAK, line, megabytes
from cli.failure import Failure

STATUS = "Name:\tpython\nVmHWM:\t  65536 kB\nVmRSS:\t  51200 kB\n"


def test_the_peak_and_the_memory_of_now_are_two_figures() -> None:
    assert megabytes(STATUS, PEAK) == 64
    assert megabytes(STATUS, NOW) == 50


def test_this_process_has_both() -> None:
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    assert megabytes(status, PEAK) >= megabytes(status, NOW) > 10


def test_a_system_that_tells_nothing_is_named() -> None:
    with pytest.raises(Failure, match="VmHWM"):
        megabytes("Name:\tpython\n", PEAK)


def test_the_largest_worker_counts_and_the_floor_is_that_of_a_client_alone() -> None:
    found = line("settle", 52.0, [60.0, 69.0, 61.0], 46.0)
    assert (found["count"], found["import_mb"], found["rss_mb"]) == (3, 52, 69)
    assert (found["floor"], found["ratio"]) == (46, 1.5)


def test_a_function_without_workers_has_its_imports_only() -> None:
    found = line("archive", 57.0, [], 46.0)
    assert (found["count"], found["rss_mb"]) == (0, 57)
