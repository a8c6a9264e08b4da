"""Cases of the whole run and those that are asked for."""

import argparse

from bench.run import CASES, STACK_SECONDS, WHOLE
from cli.commands.bench import arguments

MINUTES_MAX = 20


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    arguments(parser)
    return parser.parse_args(given)


def test_the_whole_run_takes_less_than_twenty_minutes() -> None:
    seconds = STACK_SECONDS + sum(CASES[name].seconds for name in options().only)
    assert seconds < 60 * MINUTES_MAX


def test_the_whole_run_has_all_cases_but_those_that_are_asked_for() -> None:
    assert set(CASES) - set(WHOLE) == {"recorder", "lists", "isolation"}


def test_every_case_can_be_asked_for() -> None:
    assert options("--only", ",".join(CASES)).only == list(CASES)


def test_numbers_of_stored_items_are_an_option() -> None:
    assert options("--only", "stored", "--stored", "10000,1000000").stored == (10_000, 1_000_000)
