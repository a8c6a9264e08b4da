"""A task as small as it can be, and the project's own rules for it: what they answer is remembered."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from postdate.domain import instants, task_requests, transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.errors import InvalidState
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import RECEIVER, Ack, Destination, Payload, State, Task
from postdate.domain.transitions import Failure, Transition
from postdate.domain.verdicts import Buried, Deferred, Dropped
from tests.model.instants import BEGIN, Instants
from tests.model.plan import LEASE, RETRY, Plan

NEVER = -1
_ID = item_id("task", Slot(minute=instants.minute_of(BEGIN), shard=0), b"0123456789")


class T(NamedTuple):
    """`lease` is NEVER without one; `receiver` says that the receiver has it."""

    state: str
    version: int
    due: int
    moved: int
    attempts: int = 0
    token: int = 0
    lease: int = NEVER
    receiver: bool = False


class Change(NamedTuple):
    """A transition of the model: decided and not yet written."""

    before: T
    after: T
    over_lease: bool = False
    points: bool = False
    postponed: bool = False
    audited: int = NEVER


class Verdict(NamedTuple):
    """Fate of a call that changes no row: dropped, deferred or buried."""

    told: str
    until: int = NEVER


class TaskRules:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.instants = Instants(plan.seconds)
        self._retry = RetryPolicy(
            max_attempts=plan.attempts,
            initial_seconds=RETRY.total_seconds(),
            multiplier=1,
            jitter=False,
        )
        # A plan's answers are its own: the caches live as long as it does.
        self.claim = cache(self._claim)
        self.postpone = cache(self._postpone)
        self.outcome = cache(self._outcome)
        self.cancel = cache(self._cancel)
        self.edit = cache(self._edit)
        self.acknowledge = cache(self._acknowledge)

    def register(self, due: int, now: int) -> T:
        return T(state="PENDING", version=1, due=due, moved=now if self._plan.sweeps else 0)

    def _claim(self, task: T, version: int, due: int, now: int, repeated: bool) -> Change | Verdict:
        at, found = self.instants.at, self._task(task)
        verdict = verdicts.claim(
            found,
            Due(id=_ID, version=version, due_at=at[due]),
            now=at[now],
            lease=LEASE,
            holder="worker",
            repeated=repeated,
            why="called",
        )
        match verdict:
            case Transition():
                return self._change(task, verdict)
            case Deferred():
                until = verdict.not_before
                return Verdict("deferred", NEVER if until is None else self.instants.number(until))
            case Buried():
                return Verdict("buried")
            case Dropped():
                return Verdict("dropped")

    def _postpone(self, change: Change, now: int) -> Change:
        claim = Transition(
            before=self._task(change.before),
            after=self._task(change.after),
            over_lease=change.over_lease,
            audited_from=None if change.audited == NEVER else self.instants.at[change.audited],
        )
        at = self.instants.at[now]
        until = at + RETRY
        return self._change(
            change.before, transitions.postpone(claim, now=at, until=until, why="full", placed=False)
        )

    def _outcome(self, task: T, receipt: str, now: int) -> Change:
        found, at = self._task(task), self.instants.at[now]
        if receipt == "delivered" and self._plan.acknowledged:
            return self._change(task, transitions.accept(found, now=at))
        if receipt == "delivered":
            return self._change(task, transitions.succeed(found, now=at, why="delivered"))
        failure = Failure(why="no", final=receipt == "refused")
        return self._change(task, transitions.fail(found, now=at, failure=failure, draw=0.0))

    def _acknowledge(self, task: T, word: str, now: int) -> Change:
        found, at = self._task(task), self.instants.at[now]
        if word == "done":
            return self._change(task, transitions.succeed(found, now=at, why="completed"))
        failure = Failure(why="no", final=word == "failed for good")
        return self._change(task, transitions.fail(found, now=at, failure=failure, draw=0.0))

    def _cancel(self, task: T, now: int) -> Change | None:
        """None when it may not be, or is cancelled already."""
        return self._asked(task, lambda found: task_requests.cancel(found, now=self.instants.at[now]))

    def _edit(self, task: T, due: int, now: int) -> Change | None:
        at = self.instants.at
        return self._asked(
            task, lambda found: task_requests.edit(found, now=at[now], due_at=at[due], why="changed run_at")
        )

    def _asked(self, task: T, decide: Callable[[Task], Transition | None]) -> Change | None:
        try:
            decided = decide(self._task(task))
        except InvalidState:
            return None
        return None if decided is None else self._change(task, decided)

    def _change(self, before: T, transition: Transition) -> Change:
        since = transition.audited_from if self._plan.sweeps else None
        return Change(
            before=before,
            after=self._small(transition.after),
            over_lease=transition.over_lease,
            points=transition.points,
            postponed=transition.postponed,
            audited=NEVER if since is None else self.instants.number(since),
        )

    def _small(self, task: Task) -> T:
        lease = NEVER if task.lease_until is None else self.instants.number(task.lease_until)
        return T(
            state=task.state.value,
            version=task.version,
            due=self.instants.number(task.due_at),
            moved=self.instants.number(task.moved_at) if self._plan.sweeps else 0,
            attempts=task.attempts,
            token=task.token,
            lease=lease,
            receiver=task.holder == RECEIVER and task.state is State.RUNNING,
        )

    def _task(self, task: T) -> Task:
        at, plan = self.instants.at, self._plan
        return Task(
            id=_ID,
            tenant="acme",
            state=State(task.state),
            version=task.version,
            planned_at=at[task.due],
            due_at=at[task.due],
            created_at=at[0],
            moved_at=at[task.moved],
            destination=Destination(type="webhook", address="https://example.com"),
            payload=Payload(text="{}"),
            retry=self._retry,
            timeout_seconds=int(LEASE.total_seconds()),
            attempts=task.attempts,
            token=task.token,
            lease_until=None if task.lease == NEVER else at[task.lease],
            holder=RECEIVER if task.receiver else "worker",
            ack=Ack.EXPLICIT if plan.acknowledged else Ack.RESPONSE,
            expires_at=None if plan.expires is None else at[plan.expires],
        )
