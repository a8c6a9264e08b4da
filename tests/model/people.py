"""Events outside the system and acts of people: time passes, messages vanish, letters are redriven."""

from collections.abc import Iterator

from tests.model.clients import Clients
from tests.model.plan import Plan
from tests.model.search import Step
from tests.model.sqs import Message, deleted, sent
from tests.model.sweeper import Sweeps
from tests.model.tasks import TaskRules
from tests.model.world import World


class Around:
    def __init__(self, plan: Plan, rules: TaskRules, clients: Clients, sweeps: Sweeps) -> None:
        self._plan, self._rules, self._clients, self._sweeps = plan, rules, clients, sweeps
        self._last = rules.instants.last

    def steps(self, world: World) -> Iterator[Step]:
        if self._may_pass(world):
            yield Step("time passes", world._replace(now=world.now + 1))
        if world.left.losses:
            less = world.left._replace(losses=world.left.losses - 1)
            for message in set(world.queue) - self._letters(world):
                after = world._replace(left=less, queue=deleted(world.queue, message))
                yield Step("a message vanishes", after, must=False)
        if world.left.redrives and self._is_swept(world.now):
            less = world.left._replace(redrives=world.left.redrives - 1)
            for version in world.letters:
                yield Step(
                    "a person redrives", self._redriven(world._replace(left=less), version), must=False
                )

    def _is_swept(self, now: int) -> bool:
        """The plan leaves out minutes: in one of these a redrive would be seen by no audit of the plan."""
        return not self._plan.sweeps or self._plan.seconds[now] // 60 in self._plan.sweeps

    def _letters(self, world: World) -> set[Message]:
        """Redriven letters that brought nothing back yet. One that vanishes leaves a task that is told as DEAD."""
        if not world.task or world.task.state != "DEAD":
            return set()
        return {message for message in world.queue if message.version == world.task.version}

    def _may_pass(self, world: World) -> bool:
        """Before an audit, calls that are an hour old have arrived, and nobody is still at work. A sweeper may stand
        still, but not from one of the plan's instants to the next but one."""
        then = world.now + 1
        if then > self._last or not self._clients.is_in_time(world, then):
            return False
        if world.sweeper.doing != "idle" and then > world.sweeper.now + 1:
            return False
        if self._plan.prompt and (self._sweeps.is_behind(world) or self._is_slow(world)):
            return False
        return then not in self._plan.audits or bool(self._plan.losses) or self._is_quiet(world)

    def _is_slow(self, world: World) -> bool:
        """True if a part of the system could act now, and none has to wait for an instant."""
        if any(worker.doing != "idle" and worker.message.due <= world.now for worker in world.workers):
            return True
        waiting = any(message.visible <= world.now and message.due <= world.now for message in world.queue)
        return waiting and any(worker.doing == "idle" for worker in world.workers)

    def _is_quiet(self, world: World) -> bool:
        busy = world.sweeper.doing != "idle" or any(worker.doing != "idle" for worker in world.workers)
        waiting = any(message.visible <= world.now for message in world.queue)
        swept = all(
            done.stage in ("close", "audit") or self._plan.seconds[world.now] < 60 * minute + 120
            for done, minute in zip(world.passes, self._plan.sweeps, strict=True)
        )
        return not busy and not waiting and swept

    def _redriven(self, world: World, version: int) -> World:
        """The letter's own message, back in the queue; who redrives in the console does not look at the item."""
        letters = tuple(each for each in world.letters if each != version)
        due = world.task.due
        message = Message(item=0, version=version, due=due, seen=False, receives=0, visible=world.now)
        return world._replace(letters=letters, queue=sent(world.queue, message))
