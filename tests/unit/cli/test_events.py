"""The commands that repair the feed of events."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cli.commands import events
from cli.main import main

GAP = {"event_id": "evt_1_account_x", "last": 4, "count": 3}
ONE = {"event_id": "evt_2_account_y", "last": 2, "count": 1}


class Recorder:
    """Answers in parts."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def invoke(self, **given: Any) -> dict[str, Any]:
        self.asked.append(json.loads(given["Payload"]))
        return {"Payload": io.BytesIO(json.dumps(self.answers.pop(0)).encode())}


def answer(**fields: Any) -> dict[str, Any]:
    return {"subjects": 1, "filled": [], "filled_count": 0, "left": [], "after": None} | fields


def test_the_parts_of_a_search_are_added_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(
        answer(filled=["evt_1_pay_1"], filled_count=1, left=[GAP], after=7),
        answer(left=[ONE], after=9),
        answer(),
    )

    @contextmanager
    def clients(*given: Any) -> Iterator[Any]:
        yield lambda name: recorder

    monkeypatch.setattr(events, "clients", clients)
    assert main(["events", "check", "demo"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 subjects, 1 events filled, 4 left",
        "  no history tells of evt_1_account_x and 2 more of its subject, up to number 4",
        "  no history tells of evt_2_account_y",
    ]
    assert [each.get("after") for each in recorder.asked] == [None, 7, 9]
