"""The frame of a game day: its order, its lines, its runbook and the time of its alarms."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chaos import report
from chaos.game import run as games
from chaos.game import runbook
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.run import DRILLS, in_order
from chaos.game.runbook import Runbook, asked_of_aws, commands
from cli.alarms import stretched
from cli.failure import Failure
from infra.environments import LOCAL
from infra.watch.samples import Samples
from infra.watch.table import alarms, composites
from postdate.domain.switch import API_WRITES, SETTLEMENT

TEXT = """
### one

- **Repair.** Text.
  ```sh
  aws sqs purge-queue --queue-url "$URL"
  .venv/bin/postdate switches list
  ```

### two

### three words
```sh
.venv/bin/postdate overview
```
"""


def test_a_seed_says_the_order_of_the_drills_and_those_that_wait_come_first() -> None:
    orders = [in_order(Random(seed)) for seed in range(20)]
    assert orders == [in_order(Random(seed)) for seed in range(20)]
    assert len({tuple(drill.name for drill in order) for order in orders}) > 10
    for order in orders:
        assert {drill.name for drill in order} == {drill.name for drill in DRILLS}
        beside = [drill.beside for drill in order]
        assert beside == sorted(beside, reverse=True)


def test_every_drill_names_alarms_that_exist_and_commands_that_the_runbook_has() -> None:
    known = {each.name for each in (*alarms(LOCAL), *composites(LOCAL))}
    text = runbook.RUNBOOK.read_text(encoding="utf-8")
    drills = sorted(Path(games.__file__).parent.glob("*.py"))
    sources = {path.stem: path.read_text(encoding="utf-8") for path in drills}
    named = {name for source in sources.values() for name in re.findall(r'\bfires\(\s*"(\w+)"', source)}
    assert len(named) >= 6
    assert named <= known
    asked = [
        pair
        for source in sources.values()
        for pair in re.findall(r'run\(\s*\*?\(?"(\w+)", "((?:aws|\.venv)[^"]+)"', source)
    ]
    assert len(asked) >= 6
    for entry, begins in asked:
        assert len([each for each in commands(entry, text) if each.startswith(begins)]) == 1, (entry, begins)


def test_each_kind_of_switch_has_a_drill() -> None:
    names = {drill.name for drill in DRILLS}
    assert {f"switch {kind}" for kind in (SETTLEMENT, API_WRITES, "tenant", "target")} <= names


def test_commands_are_those_of_their_entry() -> None:
    assert commands("one", TEXT) == [
        'aws sqs purge-queue --queue-url "$URL"',
        ".venv/bin/postdate switches list",
    ]
    assert commands("two", TEXT) == []
    assert commands("three words", TEXT) == [".venv/bin/postdate overview"]
    with pytest.raises(Failure):
        commands("four", TEXT)


def test_a_command_of_aws_is_a_call() -> None:
    words = ["aws", "lambda", "update-event-source-mapping", "--uuid", "u", "--enabled"]
    assert asked_of_aws(words) == (
        "lambda",
        "update_event_source_mapping",
        {"UUID": "u", "Enabled": True},
    )


def test_the_runbook_runs_the_command_with_the_values_of_its_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "runbook.md").write_text(TEXT)
    monkeypatch.setattr(runbook, "RUNBOOK", tmp_path / "runbook.md")
    asked: list[Any] = []

    class Sqs:
        def purge_queue(self, **given: Any) -> dict[str, str]:
            asked.append(given)
            return {}

    book = Runbook(aws=lambda service: Sqs(), url="http://127.0.0.1:1")
    book.run("one", "aws sqs", variables={"URL": "here"})
    assert asked == [{"QueueUrl": "here"}]
    with pytest.raises(Failure, match="0 commands"):
        book.run("two", "aws sqs")


def test_a_line_that_is_not_as_promised_makes_the_game_fail() -> None:
    lines = [fault("killed", 1), seen(True, "x"), told("overdue", True), put_right([1], "x")]
    assert report.broken({"case": "a"} | line for line in lines) == []
    lines = [fault("killed", 0), seen({}, "x"), told("overdue", False), put_right(None, "x")]
    assert report.broken({"case": "a"} | line for line in lines) == [
        "a fault",
        "a seen",
        "a told",
        "a put right",
    ]


def test_a_drill_without_time_has_failed_and_one_beside_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(*_: Any) -> Iterator[Line]:
        yield fault("one", 1)
        yield seen(True, "rest")

    drills = (Drill(name="beside", play=play, beside=True), Drill(name="alone", play=play))
    monkeypatch.setattr(games, "DRILLS", drills)
    monkeypatch.setattr(games, "in_order", lambda draws: list(drills))
    ground: Any = None
    lines = list(games._round(ground, Random(1), math.inf))
    assert [(line["case"], line["what"]) for line in lines] == [
        *(("beside", "fault"), ("alone", "fault"), ("alone", "seen"), ("beside", "seen")),
    ]
    late = list(games._round(ground, Random(1), 0.0))
    assert report.broken(late) == ["beside fault", "alone fault"]


def test_a_drill_that_breaks_off_has_failed_and_no_other() -> None:
    def play() -> Iterator[Line]:
        yield fault("one", 1)
        raise Failure("no answer")

    lines = list(games._whole(play()))
    assert [line["what"] for line in lines] == ["fault", "broken off"]
    assert report.broken({"case": "a"} | line for line in lines) == ["a broken off"]


def test_time_passes_faster_from_the_fault_on() -> None:
    began, samples = datetime(2026, 11, 18, tzinfo=UTC), Samples()
    for seconds in (-60, 0, 5, 10):
        at = (began + timedelta(seconds=seconds)).timestamp()
        samples.add("a", "b", (), at=at, value=float(seconds))
    kept = stretched(samples, since=began.timestamp(), times=12)
    assert kept.of["a", "b", ()] == [
        (began.timestamp() + after, value) for after, value in ((0, 0.0), (60, 5.0), (120, 10.0))
    ]
