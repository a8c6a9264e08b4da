"""The command line's view of a feed."""

from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.feed import forward, live, matches
from cli.local.listening import Answering, listening


class Feed:
    """Answers as the API does; each look at the end makes the next event."""

    def __init__(self, *types: str, before: int = 0) -> None:
        self.asked: list[dict[str, list[str]]] = []
        self._types = list(types)
        self._shown = before

    def get(self, path: str) -> Any:
        asked = parse_qs(urlsplit(path).query)
        self.asked.append(asked)
        events = [event(number, type) for number, type in enumerate(self._types)]
        if "order" in asked:
            return {"events": events[: self._shown][::-1], "follow_cursor": None}
        at = int(asked["cursor"][0]) if "cursor" in asked else max(0, self._shown - 1)
        self._shown = min(self._shown + 1, len(events))
        return {"events": events[at : self._shown], "follow_cursor": str(self._shown)}


def event(number: int, type: str) -> dict[str, Any]:
    return {"event_id": f"evt_{number}", "type": type, "recorded_at": f"2026-11-18T10:05:0{number}.000Z"}


def test_only_what_is_recorded_from_now_on_is_shown_each_once() -> None:
    feed = Feed("payment.scheduled", "payment.completed", "task.dead", "payment.failed", before=2)
    assert [each["event_id"] for each in islice(live(feed.get), 2)] == ["evt_2", "evt_3"]
    assert feed.asked[1]["since"] == ["2026-11-18T10:05:01.000Z"]
    assert feed.asked[1]["wait_seconds"] == ["20"]


def test_a_feed_without_events_is_followed_from_its_begin() -> None:
    feed = Feed("payment.scheduled", "payment.failed")
    assert [each["event_id"] for each in islice(live(feed.get), 2)] == ["evt_0", "evt_1"]


def test_types_are_chosen() -> None:
    feed = Feed("payment.scheduled", "task.dead", "payment.failed")
    assert [each["type"] for each in islice(live(feed.get, ["payment.*"]), 2)] == [
        "payment.scheduled",
        "payment.failed",
    ]


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        ([], True),
        (["*"], True),
        (["payment.failed"], True),
        (["task.*", "payment.*"], True),
        (["task.dead"], False),
    ],
)
def test_a_type_matches(types: list[str], wanted: bool) -> None:
    assert matches(event(1, "payment.failed"), types) is wanted


def test_an_event_is_forwarded_as_it_is_and_the_answer_is_told() -> None:
    got: list[Any] = []

    class Receiver(Answering):
        def called(self) -> None:
            got.append((self.headers["webhook-id"], self.body()))
            self.answer(204 if len(got) == 1 else 500)

    with listening(Receiver) as url:
        assert forward(event(1, "payment.failed"), url) == "204"
        assert forward(event(1, "payment.failed"), url) == "500"
    assert got[0][0] == "evt_1"
    assert b"payment.failed" in (got[0][1] if isinstance(got[0][1], bytes) else got[0][1].encode())
    assert forward(event(1, "payment.failed"), "http://127.0.0.1:9/").startswith("no answer")
