from collections.abc import Callable
from contextlib import ExitStack

import pytest

from bench.load import side_by_side


def test_every_item_is_called_once_whichever_thread_takes_it() -> None:
    ran = side_by_side(3, range(100), lambda _: lambda number: number * 2)
    assert sorted(ran.answers) == [number * 2 for number in range(100)]
    assert len(ran.took_ms) == 100


def test_a_thread_closes_its_resources_when_it_is_done() -> None:
    closed: list[int] = []

    def caller(opened: ExitStack) -> Callable[[int], int]:
        opened.callback(closed.append, 1)
        return lambda number: number

    side_by_side(2, range(10), caller)
    assert closed == [1, 1]


def test_the_first_call_that_fails_ends_them_all() -> None:
    called: list[int] = []

    def call(number: int) -> None:
        called.append(number)
        if number == 3:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        side_by_side(1, range(1000), lambda _: call)
    assert called == [0, 1, 2, 3]
