"""Pauses after conflicts, by a model of writers that all want the same few rows."""

import heapq
from collections.abc import Callable
from itertools import count
from random import Random

import pytest

from postdate.stores.ledger_tables import TRIES, conflict_pause_seconds

Pause = Callable[[int, float], float]

_TAKES_SECONDS = 0.010
_REFUSED_AFTER_SECONDS = 0.005
_POSTS = 8_000


def starved_and_rate(
    pause: Pause, *, writers: int, rows: int, rest_seconds: float = 0.0
) -> tuple[float, float]:
    """The share of posts that used up their tries, and the posts a second. Each writer begins the next post as soon as
    the last one has ended and it has rested; a transaction holds its row, and refuses others meanwhile."""
    draws, numbers = Random(1), count()
    free_at, done, starved, now = [0.0] * rows, 0, 0, 0.0
    events = [(draws.random() / 100, next(numbers), 0, draws.randrange(rows)) for _ in range(writers)]
    heapq.heapify(events)
    while done + starved < _POSTS:
        now, _, tried, row = heapq.heappop(events)
        at = now + _REFUSED_AFTER_SECONDS
        ended = free_at[row] <= now
        if ended:
            at = free_at[row] = now + _TAKES_SECONDS
            done += 1
        elif tried == TRIES - 1:
            starved += 1
            ended = True
        else:
            at += pause(tried, draws.random())
        if ended:
            tried, row, at = -1, draws.randrange(rows), at + 2 * rest_seconds * draws.random()
        heapq.heappush(events, (at, next(numbers), tried + 1, row))
    return starved / (done + starved), done / now


def shrinking(tried: int, draw: float) -> float:
    """The pauses of the ledger in the reverse order: posts with more tries wait less."""
    return conflict_pause_seconds(TRIES - 2 - tried, draw)


def test_a_first_conflict_costs_at_most_twenty_milliseconds():
    """Nearly all conflicts are gone after it, and a payment on time has 50 ms."""
    assert conflict_pause_seconds(0, 1.0) == 0.02
    assert max(conflict_pause_seconds(tried, 1.0) for tried in range(TRIES)) == 0.5


@pytest.mark.parametrize(("writers", "rows", "rest", "most"), [(16, 1, 0.0, 0.17), (16, 4, 0.0, 0.02)])
def test_few_posts_use_up_their_tries(writers, rows, rest, most):
    share, _ = starved_and_rate(conflict_pause_seconds, writers=writers, rows=rows, rest_seconds=rest)
    assert 0 < share < most


def test_pauses_that_shrink_end_no_starvation_of_one_row():
    """Their total is the same, so as many writers want the row at once."""
    growing, _ = starved_and_rate(conflict_pause_seconds, writers=16, rows=1)
    other, _ = starved_and_rate(shrinking, writers=16, rows=1)
    assert other > growing * 0.75


def test_pauses_that_shrink_cost_a_third_of_the_throughput_of_four_rows():
    _, growing = starved_and_rate(conflict_pause_seconds, writers=16, rows=4)
    _, other = starved_and_rate(shrinking, writers=16, rows=4)
    assert other < growing * 0.8
