"""Planted mistakes follow the code: a mistake whose text is gone would prove nothing."""

import pytest

from tests.simulation.mistakes.bug import Bug
from tests.simulation.planted import BUGS, applies


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_text_of_each_planted_mistake_stands_once_in_the_code(bug: Bug) -> None:
    assert applies(bug)


def test_each_planted_mistake_has_a_name_of_its_own() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)
