"""Dead letters that are used up: no worker would accept their calls any more."""

from collections.abc import Callable, Iterable

from postdate.domain.due import Due
from postdate.domain.item import Phase
from postdate.domain.payment import Payment
from postdate.domain.task import State, Task


def used_up(dues: Iterable[Due], item: Callable[[str], Task | Payment | None]) -> bool:
    """True for a letter whose items are all over, or have another version than when it was written. A letter that
    cannot be read is never used up: a person has to look."""
    told = [_is_over(due, item(due.id)) for due in dues]
    return bool(told) and all(told)


def _is_over(due: Due, item: Task | Payment | None) -> bool:
    if item is None or item.phase is not Phase.RESTS:
        return False
    waits_for_redrive = item.state is State.DEAD if isinstance(item, Task) else not item.state.is_final
    return item.version != due.version if waits_for_redrive else True
