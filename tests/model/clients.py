"""A client of the API, who asks for one thing after the other: registers under a key, perhaps twice, changes, cancels;
and, for a task that waits for it, the receiver, who says what became of it.

A request reads, writes, sends the call that follows, and answers. It may die between any two, and it never lives long.
"""

from collections.abc import Iterator

from postdate.domain.due import DELAY_MAX
from postdate.domain.sweeping import Horizon
from tests.model.plan import LEAD, MARGIN, REQUEST, Plan
from tests.model.search import Step
from tests.model.sqs import Message, sent
from tests.model.tasks import Change, TaskRules
from tests.model.world import Request, World

_HORIZON = Horizon(lead=LEAD, margin=MARGIN)


class Clients:
    def __init__(self, plan: Plan, rules: TaskRules) -> None:
        self._plan, self._rules = plan, rules

    def steps(self, world: World) -> Iterator[Step]:
        asks = world.client
        if asks.doing and world.left.crashes:
            less = world.left._replace(crashes=world.left.crashes - 1)
            after = world._replace(client=Request(), left=less)
            yield Step("the request dies", after, must=False)
        match asks.doing, asks.wish:
            case "", _:
                yield from self._asks(world)
            case "reserves", _:
                yield self._reserves(world)
            case "adds", _:
                yield self._adds(world)
            case "writes", _:
                yield self._writes(world)
            case "sends", _:
                yield self._sends(world)
            case "answers", wish:
                told = tuple(sorted({*world.told, wish}))
                yield Step(f"the client is told: {wish}", world._replace(client=Request(), told=told))

    def is_in_time(self, world: World, then: int) -> bool:
        """An API function does not live until then."""
        if not world.client.doing:
            return True
        at = self._rules.instants.at
        return at[then] <= at[world.client.began] + REQUEST

    def _asks(self, world: World) -> Iterator[Step]:
        if self._plan.registers and world.now < self._plan.due:
            first = world.key == ()
            if first or world.left.repeats:
                repeats = world.left.repeats if first else world.left.repeats - 1
                asks = Request(doing="reserves", wish="registered", began=world.now)
                after = world._replace(client=asks, left=world.left._replace(repeats=repeats))
                yield Step("the client registers" if first else "the client asks again", after, must=False)
        if not world.task:
            return
        for wish in world.left.wishes:
            wishes = tuple(each for each in world.left.wishes if each != wish)
            less = world._replace(left=world.left._replace(wishes=wishes))
            if step := self._reads(less, wish, began=world.now):
                yield step._replace(must=False)

    def _reads(self, world: World, wish: str, *, began: int) -> Step | None:
        """And decides; None when it is refused."""
        change = self._decided(world, wish)
        if change is None:
            return None
        asks = Request(doing="writes", wish=wish, change=change, began=began)
        return Step(f"the client asks: {wish}", world._replace(client=asks))

    def _decided(self, world: World, wish: str) -> Change | None:
        task, now = world.task, world.now
        match wish.split():
            case ["cancelled"]:
                return self._rules.cancel(task, now)
            case ["moved", number]:
                due = self._plan.moved_to[int(number)]
                return self._rules.edit(task, due, now) if due > now else None
            case _:
                if task.state != "RUNNING" or not task.receiver:
                    return None
                return self._rules.acknowledge(task, wish, now)

    def _reserves(self, world: World) -> Step:
        """The key stands for its item, whoever asks again."""
        key, again = world.key or (0,), world.key != ()
        if again and self._plan.mistake == "a key stands for a new item each time":
            key = (1,)
        asks = world.client._replace(doing="adds")
        return Step("its key is reserved", world._replace(key=key, client=asks))

    def _adds(self, world: World) -> Step:
        """Only if there is no such item; one that is there is called as well."""
        asks = world.client._replace(doing="sends")
        if not world.task:
            task = self._rules.register(self._plan.due, world.now)
            return Step("the task is written", world._replace(task=task, client=asks))
        if world.key == (1,):
            return Step("another task is written", world._replace(twin=True, client=asks))
        return Step("the task is there", world._replace(client=asks))

    def _writes(self, world: World) -> Step:
        asks, change, task = world.client, world.client.change, world.task
        unconditional = asks.wish == "cancelled" and self._plan.mistake == "a cancel without condition"
        if task.version != change.before.version and not unconditional:
            again = self._reads(world._replace(client=Request()), asks.wish, began=asks.began)
            after = again.after if again else world._replace(client=Request())
            return Step("the request is refused and reads again", after)
        pointers = world.pointers
        if change.points and self._plan.mistake != "no pointer":
            pointers = (
                *pointers,
                (change.after.version, change.after.due, change.after.moved, change.after.due),
            )
        doing = "answers" if asks.wish in ("cancelled", "done") else "sends"
        written = world._replace(
            task=change.after, pointers=pointers, client=asks._replace(doing=doing, change=())
        )
        return Step(f"the request writes: {asks.wish}", written)

    def _sends(self, world: World) -> Step:
        """The writer of an item also sends its call if the item's minute may be open already."""
        asks = world.client
        message = self._call(world) if self._calls(world) else None
        queue = world.queue if message is None else sent(world.queue, message)
        after = world._replace(queue=queue, client=asks._replace(doing="answers"))
        return Step("the request sends the call" if message else "the request leaves it to the sweep", after)

    def _calls(self, world: World) -> bool:
        task, at = world.task, self._rules.instants.at
        due, now = at[task.due], at[world.now]
        match task.state:
            case "PENDING":
                return not self._plan.sweeps or _HORIZON.reaches(due, now)
            case "RETRYING":
                return world.client.wish == "failed" and due <= now + DELAY_MAX
            case "DEAD":
                return world.client.wish == "failed for good"
            case _:
                return False

    def _call(self, world: World) -> Message:
        """Makes a call. A repeated call that finds its task dead has the letter sent."""
        task = world.task
        dead = task.state == "DEAD"
        return Message(
            item=0,
            version=task.version - dead,
            due=task.due,
            seen=dead,
            receives=0,
            visible=max(world.now, task.due - 1),
        )
