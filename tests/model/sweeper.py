"""`sweep`: a pass over a minute reads, sends the calls it wants, and only then notes that it is done."""

from collections.abc import Iterator
from functools import cache

from postdate.domain import instants
from postdate.domain.item import Phase
from postdate.domain.slots import Slot
from postdate.domain.sweeping import Horizon, Stage, SweepProgress, is_settled, sweeps_due, wants_call
from postdate.domain.task import State
from tests.model.instants import BEGIN
from tests.model.plan import LEAD, MARGIN, Plan
from tests.model.search import Step
from tests.model.sqs import Message, sent
from tests.model.tasks import NEVER, T, TaskRules
from tests.model.world import Pass, Sweeper, World

_HORIZON = Horizon(lead=LEAD, margin=MARGIN)
_FIRST = instants.minute_of(BEGIN)


class Sweeps:
    """The task's home is in the first of the plan's minutes; behind a pointer it is due in another."""

    def __init__(self, plan: Plan, rules: TaskRules) -> None:
        self._plan, self._rules, self._at = plan, rules, rules.instants.at
        self._due = cache(self._due_now)
        self._wants = cache(self._wants_call)

    def steps(self, world: World) -> Iterator[Step]:
        sweeper = world.sweeper
        if sweeper.doing != "idle" and world.left.crashes:
            less = world.left._replace(crashes=world.left.crashes - 1)
            yield Step("the sweeper dies", world._replace(sweeper=Sweeper(), left=less), must=False)
        match sweeper.doing:
            case "idle":
                yield from self._begins(world)
            case "reads":
                yield self._reads(world)
            case "sends":
                yield self._sends(world)
            case "notes":
                yield self._notes(world)

    def is_behind(self, world: World) -> bool:
        """A pass is due, or one is being made."""
        return world.sweeper.doing != "idle" or any(self._begins(world))

    def _begins(self, world: World) -> Iterator[Step]:
        """An audit is made while no call is on its way: calls that are an hour old have arrived."""
        for number, done in enumerate(world.passes):
            stage = self._due(number, done, world.now)
            if stage is None or (stage == "audit" and world.queue):
                continue
            first = not done.stage
            sweeper = Sweeper(
                doing="reads",
                minute=number,
                stage=stage,
                opened=world.now if first else done.opened,
                now=world.now,
            )
            told = f"the sweeper begins to {stage} minute {number + 1}"
            yield Step(told, world._replace(sweeper=sweeper))

    def _due_now(self, number: int, done: Pass, now: int) -> str | None:
        minute = _FIRST + self._plan.sweeps[number]
        progress = {}
        if done.stage:
            stage, opened = Stage(done.stage), self._at[done.opened]
            progress[minute, 0] = SweepProgress(minute=minute, group=0, stage=stage, opened_at=opened)
        due = sweeps_due([minute], {minute: 1}, progress, horizon=_HORIZON, now=self._at[now])
        stages = [sweep.stage.value for sweep in due]
        missing = {"no closing pass": "close", "no audit": "audit"}.get(self._plan.mistake)
        return next((stage for stage in stages if stage != missing), None)

    def _reads(self, world: World) -> Step:
        sweeper, task = world.sweeper, world.task
        entries = self._entries(world)
        calls = tuple(
            (version, due)
            for version, due, moved, phase, lease in entries
            if self._wants(
                sweeper.stage, sweeper.minute, due, moved, phase, lease, sweeper.opened, sweeper.now
            )
        )
        settled = all(self._is_settled(task, sweeper.now) for _ in entries)
        reads = sweeper._replace(doing="sends", calls=calls, settled=settled)
        if self._plan.mistake == "a pass is noted before its calls are sent":
            reads = reads._replace(doing="notes")
        return Step("the sweeper reads", world._replace(sweeper=reads))

    def _entries(self, world: World) -> list[tuple[int, int, int, str | None, int]]:
        """Entries of the minute: (version, due, moved, phase, lease). An audit also reads behind pointers."""
        task, sweeper = world.task, world.sweeper
        if not task:
            return []
        phase = State(task.state).phase.name
        home = (task.version, task.due, task.moved, phase, task.lease)
        if sweeper.minute == 0:
            return [home]
        pointers = [each for each in world.pointers if self._minute(each[3]) == sweeper.minute]
        if sweeper.stage == "audit":
            return [home for _ in pointers]
        return [(version, due, moved, None, NEVER) for version, due, moved, _ in pointers]

    def _minute(self, due: int) -> int:
        minute = instants.minute_of(self._at[due]) - _FIRST
        return self._plan.sweeps.index(minute) if minute in self._plan.sweeps else NEVER

    def _wants_call(
        self,
        stage: str,
        minute: int,
        due: int,
        moved: int,
        phase: str | None,
        lease: int,
        opened: int,
        now: int,
    ) -> bool:
        return wants_call(
            Stage(stage),
            Slot(minute=_FIRST + self._plan.sweeps[minute], shard=0),
            due_at=self._at[due],
            moved_at=self._at[moved],
            phase=None if phase is None else Phase[phase],
            lease_until=None if lease == NEVER else self._at[lease],
            unseen_from=self._at[opened] - MARGIN,
            now=self._at[now],
        )

    def _is_settled(self, task: T, now: int) -> bool:
        at = self._at
        return is_settled(at[task.due], at[task.moved], State(task.state).phase, at[now])

    def _sends(self, world: World) -> Step:
        queue = world.queue
        for version, due in world.sweeper.calls:
            message = Message(
                item=0,
                version=version,
                due=due,
                seen=False,
                receives=0,
                visible=max(world.now, due - 1),
            )
            queue = sent(queue, message)
        sweeper = world.sweeper._replace(doing="notes", calls=())
        if self._plan.mistake == "a pass is noted before its calls are sent":
            sweeper = Sweeper()
        return Step("the sweeper sends", world._replace(queue=queue, sweeper=sweeper))

    def _notes(self, world: World) -> Step:
        """An audit that found what has not ended is made again."""
        sweeper, passes = world.sweeper, list(world.passes)
        stage = "close" if sweeper.stage == "audit" and not sweeper.settled else sweeper.stage
        passes[sweeper.minute] = Pass(stage=stage, opened=sweeper.opened)
        then = Sweeper()
        if self._plan.mistake == "a pass is noted before its calls are sent":
            then = sweeper._replace(doing="sends")
        return Step("the sweeper notes the pass", world._replace(passes=tuple(passes), sweeper=then))
