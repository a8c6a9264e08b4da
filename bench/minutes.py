"""Minutes that the sweep has not opened yet: what is registered for them is called by the sweep."""

from datetime import datetime, timedelta

from bench import tasks
from bench.bed import Bed
from postdate.domain import instants


def minute_after(bed: Bed, seconds: float) -> datetime:
    """The next that begins when all are registered and nobody can have opened it yet."""
    opened_at = tasks.now() + timedelta(seconds=seconds + opened_seconds(bed))
    return instants.start_of(instants.minute_of(opened_at) + 1)


def opened_seconds(bed: Bed) -> int:
    return sum(int(bed.environment[name]) for name in ("OPEN_LEAD_SECONDS", "OPEN_MARGIN_SECONDS"))
