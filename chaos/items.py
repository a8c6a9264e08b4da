"""Items as a check reads them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from chaos.seen import Seen
from chaos.verdict import Verdict
from postdate.domain.payment import Payment
from postdate.domain.task import Task

Item: TypeAlias = Task | Payment
Check: TypeAlias = Callable[[Seen], Verdict]
Finding: TypeAlias = str | None
EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def milliseconds(instant: datetime) -> int:
    since = instant - EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def items_of(seen: Seen) -> Mapping[str, Item]:
    return {**seen.tasks, **seen.payments}
