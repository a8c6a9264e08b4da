"""`run_tasks`: a worker is given a call, reads its task, decides, writes, runs the attempt, writes its outcome, sends
what follows, and only then deletes the message. It can stop between any two of these, for a while or for good."""

from collections.abc import Iterator

from tests.model.plan import Plan
from tests.model.search import Step
from tests.model.sqs import Message, deleted, doubled, extended, given, left, received, sent
from tests.model.tasks import NEVER, Change, T, TaskRules, Verdict
from tests.model.world import Worker, World

_TOLD = {
    (number, deed): f"worker {number + 1} {deed}"
    for number in range(2)
    for deed in (
        *("is given a call and reads", "is given a call that another has", "dies", "writes", "sends"),
        *(
            "deletes its message",
            "deletes its message in vain",
            "lengthens its lease",
            "sees its write refused",
        ),
        *("writes, and the answer is lost", "finds its own write", "is late with its outcome"),
        *("delivers: delivered", "delivers: failed", "delivers: refused"),
        *("decides: dropped", "decides: deferred", "decides: buried", "decides to claim"),
        *("decides to postpone",),
    )
}


class Workers:
    def __init__(self, plan: Plan, rules: TaskRules) -> None:
        self._plan, self._rules = plan, rules
        self._last = rules.instants.last

    def steps(self, world: World) -> Iterator[Step]:
        for number, worker in enumerate(world.workers):
            if worker.doing != "idle" and world.left.crashes:
                yield self._dies(world, number, worker)
            match worker.doing:
                case "idle" if worker not in world.workers[:number]:
                    yield from self._is_given(world, number)
                case "looks":
                    yield from self._looks(world, number, worker)
                case "writes":
                    yield from self._writes(world, number, worker)
                case "runs":
                    yield from self._runs(world, number, worker)
                case "sends":
                    yield self._sends(world, number, worker)
                case "deletes":
                    yield from self._deletes(world, number, worker)

    def _is_given(self, world: World, number: int) -> Iterator[Step]:
        for message in received(world.queue, world.now):
            yield self._takes(world, number, message, "is given a call and reads")
        if world.left.doubles:
            again = world._replace(left=world.left._replace(doubles=world.left.doubles - 1))
            for message in doubled(world.queue, world.now):
                step = self._takes(again, number, message, "is given a call that another has")
                yield step._replace(must=False)

    def _takes(self, world: World, number: int, message: Message, deed: str) -> Step:
        """The message stays away until a lease after its instant."""
        until = self._until(max(world.now, message.due))
        queue, mine = given(world.queue, message, until)
        worker = Worker(doing="looks", message=mine, known=world.task)
        return Step(_TOLD[number, deed], _with(world._replace(queue=queue), number, worker))

    def _until(self, now: int) -> int:
        return now + 1 if now < self._last else self._last + 1

    def _dies(self, world: World, number: int, worker: Worker) -> Step:
        less = world.left._replace(crashes=world.left.crashes - 1)
        queue = left(world.queue, worker.message, self._last)
        after = _with(world._replace(left=less, queue=queue), number, Worker())
        return Step(_TOLD[number, "dies"], after, must=False)

    def _looks(self, world: World, number: int, worker: Worker) -> Iterator[Step]:
        """A worker waits for a task that is due soon: a second, or as long as this worker stands still."""
        message = worker.message
        if world.now < message.due <= world.now + 1 and self._plan.mistake != "begins early":
            return
        verdict = self._verdict(worker.known, message, world.now, message.repeated)
        if isinstance(verdict, Verdict):
            yield Step(
                _TOLD[number, f"decides: {verdict.told}"], self._answered(world, number, worker, verdict)
            )
            return
        writing = worker._replace(doing="writes", change=verdict, known=(), outcome=False)
        yield Step(_TOLD[number, "decides to claim"], _with(world, number, writing))
        if world.left.postpones and verdict.after.state == "RUNNING":
            less = world.left._replace(postpones=world.left.postpones - 1)
            writing = writing._replace(change=self._rules.postpone(verdict, world.now))
            after = _with(world._replace(left=less), number, writing)
            yield Step(_TOLD[number, "decides to postpone"], after, must=False)

    def _verdict(self, task: T, message: Message, now: int, repeated: bool) -> Change | Verdict:
        version = message.version
        match self._plan.mistake:
            case "begins early":
                now = max(now, task.due)
            case "a lease is no lease" if task.lease != NEVER:
                now = max(now, task.lease)
            case "any call redrives a dead task":
                version = task.version
            case "nobody is taken for dead":
                repeated = repeated and task.state != "RUNNING"
        verdict = self._rules.claim(task, version, message.due, now, repeated)
        if self._plan.mistake == "no token" and isinstance(verdict, Change):
            return verdict._replace(after=verdict.after._replace(token=task.token))
        if self._plan.mistake == "a missing dead letter is not sent again" and verdict == Verdict("buried"):
            return Verdict("dropped")
        return verdict

    def _answered(self, world: World, number: int, worker: Worker, verdict: Verdict) -> World:
        message, task = worker.message, worker.known
        out: object = ()
        if verdict.told == "deferred" and self._plan.mistake != "a deferred call is lost":
            out = self._call(task, seen=True, at=world.now, until=verdict.until)
        if verdict.told == "buried":
            out = ("letter", task.version)
        return _with(world, number, _following(message, out))

    def _writes(self, world: World, number: int, worker: Worker) -> Iterator[Step]:
        change, task = worker.change, world.task
        if self._holds(change, task, worker.outcome):
            pointers = self._pointed(world, change)
            written = world._replace(task=change.after, pointers=pointers)
            yield Step(_TOLD[number, "writes"], self._done(written, number, worker))
            if world.left.answers:
                less = world.left._replace(answers=world.left.answers - 1)
                after = _with(written._replace(left=less), number, worker._replace(lost=True))
                yield Step(_TOLD[number, "writes, and the answer is lost"], after, must=False)
        elif self._is_own(worker, task):
            yield Step(_TOLD[number, "finds its own write"], self._done(world, number, worker))
        elif worker.outcome:
            until = min(world.now + 1, self._last)
            call: object = self._call(change.before, seen=True, at=world.now, until=until)
            if self._plan.mistake == "who was fenced off lets its message go":
                call = ()
            fenced = _following(worker.message, call)
            yield Step(_TOLD[number, "is late with its outcome"], _with(world, number, fenced))
        else:
            again = Worker(doing="looks", message=worker.message, known=task)
            yield Step(_TOLD[number, "sees its write refused"], _with(world, number, again))

    def _is_own(self, worker: Worker, task: T) -> bool:
        """A lease that was made longer since then is no difference."""
        same = task._replace(lease=NEVER) == worker.change.after._replace(lease=NEVER)
        return same and (worker.lost or self._plan.mistake == "whatever is stored is one's own")

    def _holds(self, change: Change, task: T, outcome: bool) -> bool:
        """Condition of the statement."""
        match self._plan.mistake:
            case "no fence" if outcome:
                return True
            case "a claim without condition" if not outcome:
                return True
            case "a takeover does not look at the lease":
                return task.version == change.before.version
        same_lease = task.lease == change.before.lease or not change.over_lease
        return task.version == change.before.version and same_lease

    def _pointed(self, world: World, change: Change) -> tuple[tuple[int, int, int, int], ...]:
        pointers, after = world.pointers, change.after
        if change.audited != NEVER and self._plan.mistake != "no pointer for an audit":
            pointers = (*pointers, (after.version, after.due, after.moved, change.audited))
        if change.points and self._plan.mistake != "no pointer":
            pointers = (*pointers, (after.version, after.due, after.moved, after.due))
        return pointers

    def _done(self, world: World, number: int, worker: Worker) -> World:
        """The write and its consequences."""
        change = worker.change
        after, message = change.after, worker.message
        if after.state == "RUNNING" and not worker.outcome:
            return _with(world, number, Worker(doing="runs", message=message, known=after))
        following = _following(message, self._follows(change, world.now))
        if self._plan.mistake == "the message goes before what follows" and following.out:
            world = world._replace(queue=deleted(world.queue, message))
        return _with(world, number, following)

    def _follows(self, change: Change, now: int) -> object:
        after, mistake = change.after, self._plan.mistake
        match after.state:
            case "RUNNING":
                return self._call(after, seen=True, at=now, until=after.lease)
            case "DEAD" if mistake != "the letter is forgotten":
                return ("letter", after.version)
            case "RETRYING" | "PENDING" if not change.points and mistake != "the retry is forgotten":
                return self._call(after, seen=False, at=now)
            case _:
                return ()

    def _call(self, task: T, *, seen: bool, at: int, until: int = NEVER) -> tuple[str, Message]:
        """The call comes ahead of its instant, or at the end of the lease that it waits for."""
        visible = until if until != NEVER else task.due - 1
        message = Message(
            item=0,
            version=task.version,
            due=task.due,
            seen=seen,
            receives=0,
            visible=max(at, visible),
        )
        return "call", message

    def _runs(self, world: World, number: int, worker: Worker) -> Iterator[Step]:
        task = worker.known
        for receipt in ("delivered", "failed", "refused"):
            change = self._rules.outcome(task, receipt, world.now)
            writing = Worker(doing="writes", message=worker.message, change=change, outcome=True)
            yield Step(_TOLD[number, f"delivers: {receipt}"], _with(world, number, writing))
        stored, lease = world.task, min(world.now + 1, self._last)
        ours = stored.state == "RUNNING" and stored.token == task.token and not stored.receiver
        if stored.lease < lease and (ours or self._plan.mistake == "no token check"):
            queue, mine = extended(world.queue, worker.message, self._until(world.now))
            longer = world._replace(task=stored._replace(lease=lease), queue=queue)
            after = _with(longer, number, worker._replace(message=mine))
            yield Step(_TOLD[number, "lengthens its lease"], after, must=False)

    def _sends(self, world: World, number: int, worker: Worker) -> Step:
        where, what = worker.out
        if where == "letter":
            letters = tuple(sorted({*world.letters, what}))
            after = world._replace(letters=letters)
        else:
            after = world._replace(queue=sent(world.queue, what))
        gone = Worker(doing="deletes", message=worker.message)
        return Step(_TOLD[number, "sends"], _with(after, number, gone))

    def _deletes(self, world: World, number: int, worker: Worker) -> Iterator[Step]:
        free = _with(world, number, Worker())
        queue = deleted(world.queue, worker.message)
        yield Step(_TOLD[number, "deletes its message"], free._replace(queue=queue))
        if world.left.doubles and queue != world.queue:
            less = world.left._replace(doubles=world.left.doubles - 1)
            kept = left(world.queue, worker.message, self._last)
            after = free._replace(left=less, queue=kept)
            yield Step(_TOLD[number, "deletes its message in vain"], after, must=False)


def _with(world: World, number: int, worker: Worker) -> World:
    workers = list(world.workers)
    workers[number] = worker
    return world._replace(workers=tuple(workers))


def _following(message: Message, out: object) -> Worker:
    return Worker(doing="sends" if out else "deletes", message=message, out=out)
