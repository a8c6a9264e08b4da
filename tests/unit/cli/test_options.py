"""Options that every command of one sort has: those that speak to a service, and those that change something."""

import argparse
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from cli.commands import config
from cli.local.once import ROOT
from cli.main import main, parser
from cli.parameter_store import Deployment
from tests.unit.cli.test_parameter_events import FIRST, Recorder
from tests.unit.cli.test_profiles import Terminal

# The commands that only read. Every other command that speaks to a service can be tried, and does not ask with --yes.
READ: Final = frozenset(
    {
        *("explain", "next", "tail", "listen", "letters", "overview", "open"),
        *(
            "destinations list",
            "flow-keys list",
            "flow-keys show",
            "keys list",
            "switches list",
            "switches get",
        ),
        *(
            "operations list",
            "operations show",
            "tenants list",
            "reconciliations list",
            "reconciliations show",
        ),
        *("subscriptions list", "subscriptions show", "subscriptions deliveries", "runs list"),
    }
)
_SPEAKS: Final = re.compile(r"\b(service|address)\(options")


def leaves(described: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Each command with its action, and its options."""
    actions = [each for each in described._actions if isinstance(each, argparse._SubParsersAction)]
    for each in actions:
        for word, inner in each.choices.items():
            yield from leaves(inner, f"{name} {word}".strip())
    if not actions:
        yield name, {option for each in described._actions for option in each.option_strings}


COMMANDS: Final = dict(leaves(parser()))


def speaks(command: str) -> bool:
    module = Path(ROOT / "cli/commands" / f"{command.split()[0].replace('-', '_')}.py")
    return _SPEAKS.search(module.read_text()) is not None


SPEAKING: Final = sorted(filter(speaks, COMMANDS))


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_answers_in_json(command: str) -> None:
    assert "--json" in COMMANDS[command]


@pytest.mark.parametrize("command", SPEAKING)
def test_a_command_that_speaks_to_a_service_takes_a_profile(command: str) -> None:
    assert {"--profile", "--port"} <= COMMANDS[command]


@pytest.mark.parametrize("command", SPEAKING)
def test_a_change_can_be_tried_and_made_without_a_question(command: str) -> None:
    assert command in READ or {"--dry-run", "--yes"} <= COMMANDS[command]


def test_there_are_commands_that_read_and_others() -> None:
    assert set(SPEAKING) & READ
    assert set(SPEAKING) - READ


class Store:
    """A parameter store of one change."""

    author = "user/bob"
    made: ClassVar[list[Any]] = []

    def __init__(self, *_: Any) -> None:
        pass

    def deployed(self) -> tuple[None, dict[str, Any]]:
        return None, {"registering": {"batch_max": 50}}

    def before(self) -> dict[str, Any]:
        return {"registering": {"batch_max": 20}}

    def history(self, _: int = 20) -> list[Deployment]:
        return [FIRST]

    def document(self, _: str) -> dict[str, Any]:
        return self.deployed()[1]

    def deploy(self, document: dict[str, Any], *, why: str, at_once: bool) -> None:
        self.made.append((document, why, at_once))

    def roll_back(self, *, why: str) -> Deployment:
        self.made.append(why)
        return FIRST


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> list[Any]:
    @contextmanager
    def nowhere(*_: Any) -> Iterator[Callable[[str], Recorder]]:
        yield lambda _: recorder

    monkeypatch.setattr("cli.parameter_store.ParameterStore", Store)
    monkeypatch.setattr(config, "clients", nowhere)
    monkeypatch.setattr(Store, "made", found := list[Any]())
    return found


SET: Final = ["config", "set", "registering.batch_max=30", "--reason", "fewer"]
BACK: Final = ["config", "rollback", "--reason", "more"]


@pytest.mark.parametrize(("given", "change"), [(SET, [50, 30]), (BACK, [50, 20])])
def test_a_change_of_parameters_can_be_tried(
    made: list[Any], capsys: pytest.CaptureFixture[str], given: list[str], change: list[int]
) -> None:
    assert main([*given, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"changes": {"registering.batch_max": change}}
    assert made == []


@pytest.mark.parametrize("given", [SET, BACK])
@pytest.mark.parametrize(("answer", "extra", "count"), [("n\n", [], 0), ("y\n", [], 1), ("", ["--yes"], 1)])
def test_a_person_is_asked_before_parameters_change(
    made: list[Any],
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    answer: str,
    extra: list[str],
    count: int,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main([*given, *extra]) == 1 - count
    assert len(made) == len(recorder.events) == count
