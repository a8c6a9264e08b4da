"""The searched model: every state that two workers, a client, a sweeper and two deaths can lead to, and what each
mistake would break."""

from functools import cache
from typing import Final

import pytest

from postdate.domain import money, transitions
from tests.model.__main__ import main
from tests.model.arrows import OUT
from tests.model.mistakes import MISTAKES, Mistake
from tests.model.search import Found
from tests.model.searches import COUNTS, PLANS, searched

ALLOWED: Final = {
    (kind, before.value, after.value)
    for kind, table in (("task", transitions.ALLOWED), ("payment", money.ALLOWED))
    for before, then in table.items()
    for after in then
}


@cache
def found(name: str) -> Found:
    return searched(name)


@pytest.mark.parametrize("name", PLANS)
def test_in_every_state_every_invariant_holds_and_an_end_can_be_reached(name: str) -> None:
    result = found(name)
    assert result.broken is None, "\n".join(told for told, _ in result.trace)
    print(f"{name}: {result.states} states, {result.steps} steps")
    assert result.ends


@pytest.mark.parametrize("name", PLANS)
def test_no_search_has_become_smaller(name: str) -> None:
    assert found(name).states >= COUNTS[name]


def test_each_arrow_of_the_tables_is_taken_or_is_out_of_the_model_with_its_reason() -> None:
    taken = {arrow for name in PLANS for arrow in found(name).arrows}
    assert taken | OUT.keys() == ALLOWED
    assert taken & OUT.keys() == set()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: f"{each.breaks} {each.name}, {each.within}")
def test_a_mistake_is_found_and_breaks_what_it_is_said_to_break(mistake: Mistake) -> None:
    result = searched(mistake.within, mistake=mistake.name, breaks=mistake.breaks)
    assert mistake.breaks in (result.broken or "missed").partition(":")[0].split()
    assert len(result.trace) > 1


def test_there_is_no_invariant_that_no_mistake_breaks() -> None:
    shown = {mistake.breaks for mistake in MISTAKES}
    assert shown == {f"I{number}" for number in (*range(1, 17), 22)}


def test_the_way_to_a_mistake_is_told_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--mistake", "settles early"]) == 0
    told = capsys.readouterr().out
    assert "I12" in told
    assert "worker 1 is given a call" in told
