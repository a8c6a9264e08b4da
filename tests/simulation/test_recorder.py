"""The simulated recorder keeps its promises and finds the mistakes that are planted into it."""

from collections import Counter
from types import SimpleNamespace
from typing import Final

import pytest

from functions.record import record
from tests.simulation.mistakes.bug import Bug, Patch
from tests.simulation.planted import planted
from tests.simulation.recorder import recorded

SEEDS: Final = 2000
SEEDS_PLANTED: Final = 300
_RECORD: Final = "functions.record.record:Recorder"
_FEED: Final = "functions.api.events.feed:_Reading"

MISTAKES: Final = (
    (
        "rows that are there count as listed",
        f"{_RECORD}._record",
        "entries = [entry for entry in entries if entry.key not in listed]",
        "entries = [FeedEntry.of(event) for event in events if event.id not in there]",
    ),
    ("nobody looks whether an event is listed", f"{_RECORD}._record", "if there:", "if False:"),
    (
        "an event is looked for behind the newest page",
        f"{_RECORD}._record",
        "min(there.values())",
        "max([end.number if end else 0, *there.values()])",
    ),
    (
        "a row notes a page that is to come",
        f"{_RECORD}._record",
        "end.number if end else 0}",
        "end.number + 1 if end else 1}",
    ),
    (
        "who meets another writer's page goes home",
        f"{_RECORD}._append",
        "if self._events.append(page):",
        "if self._events.append(page) or True:",
    ),
    (
        "who meets its own page lists all of it again",
        f"{_RECORD}._append",
        "left = [entry for entry in left if entry.key not in listed]",
        "left = list(left)",
    ),
    (
        "a page leaves a number out",
        f"{_RECORD}._append",
        "number=end.number + 1 if end else 1",
        "number=end.number + 2 if end else 1",
    ),
    (
        "a page is stamped by its writer's clock alone",
        f"{_RECORD}._append",
        "recorded_at=max(now, end.recorded_at) if end else now",
        "recorded_at=now",
    ),
    (
        "what is not written counts as recorded",
        f"{_RECORD}.record",
        "found.failed |= {number for _, number in pairs}",
        "pass",
    ),
    (
        "a batch keeps one event a payment",
        f"{_RECORD}.record",
        "once = {event.id: event for event, _ in pairs}",
        "once = {event.subject.id: event for event, _ in pairs}",
    ),
    (
        "a follower goes on behind the page it has not finished",
        f"{_FEED}._places",
        "place > at",
        "place[0] > at[0]",
    ),
)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fault is a log line of the recorder, and here there are thousands."""
    monkeypatch.setattr(record, "logger", SimpleNamespace(exception=lambda *_, **__: None))


def bug(mistake: tuple[str, str, str, str]) -> Bug:
    name, place, old, new = mistake
    return Bug(name=name, patches=(Patch(place=place, old=old, new=new),))


def test_each_version_is_one_event_and_a_follower_misses_none() -> None:
    reach: Counter[str] = Counter()
    for seed in range(SEEDS):
        result = recorded(seed)
        assert result.broken is None, result
        reach.update(result.reach)
    assert min(reach[each] for each in ("crashed", "given up", "doubled", "lost", "in part")) > SEEDS / 10, (
        reach
    )


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_a_mistake_that_is_planted_is_found(mistake: tuple[str, str, str, str]) -> None:
    with planted(bug(mistake)):
        assert any(recorded(seed).broken for seed in range(SEEDS_PLANTED)), mistake[0]
