"""Everything there is at a moment: the task, the queue, and who is in the middle of what. () stands for nothing."""

from typing import Any, NamedTuple

from tests.model.plan import Plan
from tests.model.sqs import Queue
from tests.model.tasks import T


class Worker(NamedTuple):
    """IDLE; it LOOKS at a call, with what it read; it WRITES a claim or an outcome; it RUNS an attempt; it SENDS what
    follows; it is about to DELETE its message. `outcome` says that what it writes is one, and `lost` that it is written
    and only the answer was lost: a row names its holder, so one's own write is known by that."""

    doing: str = "idle"
    message: Any = ()
    known: Any = ()
    change: Any = ()
    outcome: bool = False
    lost: bool = False
    out: Any = ()


class Request(NamedTuple):
    """State of a client's request: the client asks for `wish`, READS, WRITES, SENDS the call, or gets the ANSWER."""

    doing: str = ""
    wish: str = ""
    change: Any = ()
    began: int = 0


class Pass(NamedTuple):
    """The newest pass over a minute that is done, and when its first one began."""

    stage: str = ""
    opened: int = 0


class Sweeper(NamedTuple):
    """State of a sweeper: it READS a minute, SENDS calls, and NOTES that it did."""

    doing: str = "idle"
    minute: int = 0
    stage: str = ""
    opened: int = 0
    now: int = 0
    calls: tuple[tuple[int, int], ...] = ()
    settled: bool = True


class Left(NamedTuple):
    """Number of optional events that may still happen."""

    crashes: int
    answers: int
    doubles: int
    losses: int
    redrives: int
    postpones: int
    repeats: int
    wishes: tuple[str, ...]


class World(NamedTuple):
    """`told` is what clients were told. `pointers` are what stands in the slots of other minutes: (version, due, moved)
    and the instant in whose minute it stands. `twin` says that a second task was made under the one Idempotency-Key,
    `key` is what that stands for."""

    now: int
    task: Any
    twin: bool
    queue: Queue
    letters: tuple[int, ...]
    workers: tuple[Worker, ...]
    client: Request
    told: tuple[str, ...]
    key: tuple[int, ...]
    pointers: tuple[tuple[int, int, int, int], ...]
    passes: tuple[Pass, ...]
    sweeper: Sweeper
    left: Left


def beginning(plan: Plan, task: T | tuple[()], queue: Queue) -> World:
    left = Left(
        crashes=plan.crashes,
        answers=plan.answers,
        doubles=plan.doubles,
        losses=plan.losses,
        redrives=plan.redrives,
        postpones=plan.postpones,
        repeats=plan.repeats,
        wishes=plan.wishes,
    )
    return World(
        now=0,
        task=task,
        twin=False,
        queue=queue,
        letters=(),
        workers=(Worker(),) * plan.workers,
        client=Request(),
        told=(),
        key=(),
        pointers=(),
        passes=(Pass(),) * len(plan.sweeps),
        sweeper=Sweeper(),
        left=left,
    )
