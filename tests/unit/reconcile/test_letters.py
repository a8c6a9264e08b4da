"""The list of dead letters, by two looks at queues that do not show all of their letters at once."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pytest

from functions.reconcile.letters import LETTERS_MAX, LetterBox, LetterQueue
from functions.reconcile.papers import Papers
from postdate.domain.due import Due
from postdate.runtime.dead_letters import HIDDEN_SECONDS, Letter, MemoryLetters
from tests.unit.doubles import SECOND, START, ManualClock
from tests.unit.reconcile.folder import Folder


class Shown(MemoryLetters):
    """Each look shows some of the letters only. `told` is what SQS estimates."""

    def __init__(self, *shown: list[int], told: int) -> None:
        super().__init__()
        self.shown = list(shown)
        self.told = told
        self.released: list[str] = []

    def count(self) -> int:
        return self.told

    def look(self, most: int) -> list[Letter]:
        return [a_letter(number) for number in self.shown.pop(0)]

    def release(self, letters: Iterable[Letter]) -> None:
        self.released += [letter.id for letter in letters]


def a_letter(number: int) -> Letter:
    due = Due(id=f"t{number}", version=1, due_at=START)
    return Letter(id=f"m-{number}", receipt="r", tenant="acme", dues=(due,), receives=1, sent_at=START)


def checked(queue: MemoryLetters, clock: ManualClock | None = None) -> tuple[Mapping[str, Any], Any]:
    papers = Papers(reports=Folder(), run="run")
    box = LetterBox(
        queues=(LetterQueue(name="tasks", letters=queue, known=lambda ids: dict.fromkeys(ids, "a task")),),
        clock=clock or ManualClock(),
    )
    box.check(papers)
    (found,) = papers.found()
    return papers.letters(), found


def test_a_letter_that_one_look_misses_is_found_by_the_other() -> None:
    queue = Shown([1, 2], [2, 3], told=3)
    paper, found = checked(queue)
    assert paper == {"whole": True, "tasks": [["t1", 1], ["t2", 1], ["t3", 1]]}
    assert (found["findings"], found["letters"], found["moving"]) == ([], {"tasks": 3}, [])
    assert queue.released == ["m-1", "m-2", "m-2", "m-3"]


def test_a_letter_that_others_hide_shows_itself_before_the_second_look() -> None:
    """Counted from the end of the first look, which may have hidden some itself."""
    clock = ManualClock()
    looked: list[datetime] = []

    class Slow(Shown):
        def look(self, most: int) -> list[Letter]:
            looked.append(clock.now())
            clock.move(7 * SECOND)
            return super().look(most)

    checked(Slow([], [], told=0), clock)
    first, second = looked
    assert second - first > (7 + HIDDEN_SECONDS) * SECOND


def test_a_list_with_fewer_letters_than_the_queue_has_is_not_whole() -> None:
    paper, found = checked(Shown([1], [2], told=3))
    assert paper["whole"] is False
    assert found["moving"] == ["letters of tasks"]


def test_letters_that_go_between_the_looks_make_a_list_not_whole() -> None:
    class Emptied(Shown):
        def look(self, most: int) -> list[Letter]:
            found = super().look(most)
            self.told -= 1
            return found

    assert checked(Emptied([1], [1], told=2))[0]["whole"] is False


@pytest.mark.parametrize("looks", [([*range(LETTERS_MAX)], [0]), ([0], [*range(LETTERS_MAX)])])
def test_a_list_that_was_cut_is_not_whole(looks: tuple[list[int], list[int]]) -> None:
    assert checked(Shown(*looks, told=LETTERS_MAX))[0]["whole"] is False
