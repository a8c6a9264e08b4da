"""`postdate trigger` against the published list of types; tests/e2e/test_trigger.py causes each of them."""

import json

import pytest

from cli import main
from cli.trigger.fixtures import FIXTURES, NEVER
from postdate.domain.event_types import TYPES


def test_each_type_has_a_fixture_or_the_reason_why_there_is_no_such_event() -> None:
    assert FIXTURES.keys() | NEVER.keys() == set(TYPES)
    assert not FIXTURES.keys() & NEVER.keys()


def test_all_types_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["trigger", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["types"] == sorted(FIXTURES)


@pytest.mark.parametrize("type", [*NEVER, "payment.invented"])
def test_a_type_without_a_fixture_is_refused_with_the_reason(
    type: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["trigger", type]) == 1
    assert capsys.readouterr().err.startswith(("No event is", "There is no type"))
