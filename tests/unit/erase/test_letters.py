"""The step of an erasure that deletes a tenant's dead letters."""

from typing import Any, cast

import pytest

from functions.erase.erase import LETTERS_MAX, Eraser, ErasureWaits
from postdate.domain.erasing import Erasure
from postdate.domain.errors import Unavailable
from postdate.runtime.dead_letters import Letter, MemoryLetters
from tests.unit.doubles import SECOND, START, ManualClock


class Hiding(MemoryLetters):
    """A letter that was looked at is hidden until it is released, as in SQS. A look takes `seconds`."""

    def __init__(self, clock: ManualClock, seconds: int) -> None:
        super().__init__()
        self.hidden = set[str]()
        self.clock, self.seconds = clock, seconds

    def look(self, most: int) -> list[Letter]:
        self.clock.move(self.seconds * SECOND)
        found = [each for each in self.lying.values() if each.id not in self.hidden][:most]
        self.hidden |= {each.id for each in found}
        return found

    def release(self, letters: Any) -> None:
        self.hidden -= {each.id for each in letters}


def filled(clock: ManualClock, seconds: int, others: int) -> Hiding:
    """The letters of the tenant `gone` lie behind those of another tenant."""
    queue = Hiding(clock, seconds)
    for number in range(others + 3):
        tenant = "stays" if number < others else "gone"
        queue.lying[f"m-{number}"] = Letter(
            id=f"m-{number}", receipt="r", tenant=tenant, dues=(), receives=1, sent_at=START
        )
    return queue


def erased(queue: Hiding) -> Erasure:
    nothing = cast(Any, None)
    eraser = Eraser(
        erasures=nothing,
        owned=nothing,
        ledger=nothing,
        letters=[queue],
        findings=nothing,
        clock=queue.clock,
        waits=ErasureWaits(),
    )
    erasure = Erasure(tenant="erased_1", of="gone", salt="s", by="key:o", began_at=START)
    return eraser._letters(erasure, lambda: True)


def test_letters_behind_many_others_are_deleted() -> None:
    queue = filled(ManualClock(), 1, 2 * LETTERS_MAX)
    erased(queue)
    assert {each.tenant for each in queue.lying.values()} == {"stays"}
    assert not queue.hidden & queue.lying.keys()


def test_more_letters_than_stay_hidden_at_once_are_looked_at_again_later() -> None:
    queue = filled(ManualClock(), 20, 3 * LETTERS_MAX)
    with pytest.raises(Unavailable):
        erased(queue)
    assert queue.hidden == set()
