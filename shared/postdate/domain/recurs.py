"""The position of a run in its recurring task."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurs:
    """The position of a run in its recurring task. The function that writes the run's row sets all fields."""

    # The id of the recurring task; of the subscription for a delivery to one.
    definition: str
    # The `plan` of the definition when the run was written. A run of an older plan does not begin.
    plan: int
    # The planned instant without jitter.
    at: datetime
    # The number of the run, from 1; 0 for a run beside the plan, which no other run follows.
    number: int
    # Runs that must end before this one begins; empty if the definition lets runs overlap.
    before: tuple[str, ...] = ()
    # A run that was not to start when this row was written. A slower worker may have started that run; None if there
    # is no such run.
    passed_over: str | None = None
    # The wall time that names the occurrence; None beside the plan, and in rows of older releases.
    wall: datetime | None = None
