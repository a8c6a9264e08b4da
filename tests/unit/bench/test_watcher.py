from collections.abc import Iterable

from bench.watcher import APART_SECONDS, ASKED_AHEAD_MS, KEYS_MAX, PATIENCE_MS, Key, Watcher


class Table:
    """Rows that are completed, on a clock that moves by a read's own time and when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.read_ms = 2.0
        self.done: set[str] = set()
        self.asked: list[list[str]] = []

    def read(self, keys: list[Key]) -> Iterable[str]:
        self.asked.append([id for _, id in keys])
        self.now += self.read_ms
        return [id for _, id in keys if id in self.done]

    def watcher(self) -> Watcher:
        return Watcher(read=self.read, now_ms=lambda: self.now)


def test_nothing_is_read_before_it_may_be_through() -> None:
    table = Table()
    watcher = table.watcher()
    watcher.watch("s", "a", 1000)
    table.now = 1000 - ASKED_AHEAD_MS - 1
    assert not watcher.look()
    table.now += 1
    assert watcher.look()
    assert table.asked == [["a"]]


def test_it_is_seen_when_the_answer_is_there_and_not_asked_for_again() -> None:
    table = Table()
    watcher = table.watcher()
    watcher.watch("s", "a", 1000)
    table.now = 1001
    watcher.look()
    table.done.add("a")
    watcher.look()
    assert watcher.seen_ms == {"a": 1005}
    assert watcher.left == 0
    assert not watcher.look()


def test_one_that_is_through_too_early_is_seen_to_be() -> None:
    table = Table()
    watcher = table.watcher()
    watcher.watch("s", "a", 1000)
    table.done.add("a")
    table.now = 995
    watcher.look()
    assert watcher.seen_ms["a"] < 1000


def test_more_than_one_read_takes_are_read_by_turns() -> None:
    table = Table()
    watcher = table.watcher()
    for number in range(KEYS_MAX + 1):
        watcher.watch("s", f"{number:03}", 1000)
    table.now = 1000
    watcher.look()
    watcher.look()
    first, second = table.asked
    assert len(first) == len(second) == KEYS_MAX
    assert second[0] == f"{KEYS_MAX:03}"


def test_patience_with_one_ends() -> None:
    table = Table()
    watcher = table.watcher()
    watcher.watch("s", "a", 1000)
    table.now = 1000 + PATIENCE_MS
    watcher.look()
    assert watcher.left == 0
    assert watcher.seen_ms == {}


def test_it_rests_shortly_between_looks_and_until_the_next_one_is_due() -> None:
    table = Table()
    watcher = table.watcher()
    watcher.watch("s", "a", 1000)
    table.now = 1000 - ASKED_AHEAD_MS - 20
    assert watcher.rest_seconds() == 0.02
    table.now = 1000
    watcher.look()
    assert watcher.rest_seconds() == APART_SECONDS
