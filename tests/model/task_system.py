"""A task, from its registration or from its first call on, as a system to search."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

from tests.model import task_invariants
from tests.model.clients import Clients
from tests.model.people import Around
from tests.model.plan import Plan
from tests.model.search import Step, broken
from tests.model.sqs import Message
from tests.model.sweeper import Sweeps
from tests.model.tasks import TaskRules
from tests.model.workers import Workers
from tests.model.world import World, beginning


class TaskSystem:
    def __init__(self, plan: Plan) -> None:
        self.name, self._plan = plan.name, plan
        self._rules = TaskRules(plan)
        clients, sweeps = Clients(plan, self._rules), Sweeps(plan, self._rules)
        around = Around(plan, self._rules, clients, sweeps)
        self._actors = (Workers(plan, self._rules), clients, around, sweeps)

    def start(self) -> World:
        if self._plan.registers:
            return beginning(self._plan, (), ())
        task = self._rules.register(self._plan.due, 0)
        call = Message(item=0, version=1, due=task.due, seen=False, receives=0, visible=max(0, task.due - 1))
        return beginning(self._plan, task, () if self._plan.sweeps else (call,))

    def steps(self, state: World) -> Iterator[Step]:
        return chain.from_iterable(actor.steps(state) for actor in self._actors)

    def same(self, state: World) -> Hashable:
        workers = state.workers
        if len(workers) < 2 or workers[0] <= workers[1]:
            return state
        return state._replace(workers=workers[::-1])

    def wrong_step(self, before: World, after: World) -> str | None:
        if after.task is before.task and after.workers is before.workers and after.sweeper is before.sweeper:
            return None if after.twin is before.twin else task_invariants.i13_one_item(after)
        return broken(task_invariants.wrong_steps(self._plan, before, after), self._plan.breaks)

    def wrong_end(self, state: World) -> str | None:
        return broken(task_invariants.wrong_ends(state), self._plan.breaks)

    def arrows(self, before: World, after: World) -> Sequence[tuple[str, str, str]]:
        if before.task is after.task or not before.task or before.task.version == after.task.version:
            return ()
        return (("task", before.task.state, after.task.state),)
