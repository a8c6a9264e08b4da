"""The subject of a search: its participants, the number of each fault, and the planted mistake."""

from dataclasses import dataclass
from datetime import timedelta

LEASE = timedelta(seconds=60)
RETRY = timedelta(seconds=60)
# After this an API function is ended, wherever it is.
REQUEST = timedelta(seconds=29)
LEAD = timedelta(seconds=120)
MARGIN = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`seconds` are the instants there are, from the beginning of the first item's minute; `due`, `moved_to`, `expires`
    and `audits` are numbers of them, `sweeps` are minutes. What may go wrong: workers, clients, sweepers die, answers
    get lost, messages are given to two at once or not deleted, or vanish. What people want: each of the `wishes` once,
    and redrives. With `prompt`, nobody who could go on stands still while time passes, unless he dies.

    Of payments: their `amounts`, all from one payer to one payee, the payer's `money`, whether it is held, how often
    the ledger does not answer, and whether a pass at the end calls whatever waits.

    With a `mistake`, the search goes on until the invariant that it `breaks` is broken, whatever else is before."""

    name: str
    seconds: tuple[int, ...]
    due: int
    moved_to: tuple[int, ...] = ()
    workers: int = 2
    attempts: int = 2
    crashes: int = 2
    answers: int = 0
    doubles: int = 1
    losses: int = 0
    redrives: int = 0
    postpones: int = 0
    wishes: tuple[str, ...] = ()
    registers: bool = False
    repeats: int = 0
    sweeps: tuple[int, ...] = ()
    audits: tuple[int, ...] = ()
    prompt: bool = False
    expires: int | None = None
    acknowledged: bool = False
    amounts: tuple[int, ...] = ()
    money: int = 0
    reserves: bool = True
    outages: int = 0
    closes: bool = False
    mistake: str = ""
    breaks: str = ""
