"""Invariants of a task in every step and in final states, written from the documents, not from the code."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.model.plan import Plan
from tests.model.tasks import NEVER
from tests.model.world import Worker, World
from tests.simulation.transitions import FINAL, TASKS


def i8_only_what_the_table_allows(before: World, after: World) -> str | None:
    was, task = before.task, after.task
    if not was:
        return None if task.state == "PENDING" and task.version == 1 else f"begins as {task.state}"
    if task.version == was.version:
        same = task._replace(lease=NEVER) == was._replace(lease=NEVER)
        return None if same else f"changed within version {task.version}"
    if task.version != was.version + 1:
        return f"goes from version {was.version} to {task.version}"
    return None if task.state in TASKS[was.state] else f"goes from {was.state} to {task.state}"


def i8_out_of_death_by_its_letter_alone(before: World, after: World) -> str | None:
    was, writer = before.task, _moved(before, after)
    if not was or was.state != "DEAD" or writer is None or writer.message.version == was.version:
        return None
    return "leaves DEAD without the letter of that death"


def i9_tokens_rise(before: World, after: World) -> str | None:
    was, task = before.task, after.task
    if not was:
        return None
    claimed = task.version != was.version and task.state == "RUNNING" and not task.receiver
    if task.token != was.token + claimed:
        return f"the token goes from {was.token} to {task.token}"
    return None


def i9_who_was_fenced_off_writes_nothing(before: World, after: World) -> str | None:
    """And nobody takes a task whose lease is running."""
    was, task, writer = before.task, after.task, _moved(before, after)
    if not was or writer is None:
        return None
    token = writer.change.before.token if writer.change else writer.known.token
    if task.version == was.version and (was.state, was.token) != ("RUNNING", token):
        return (
            f"a worker with the token {token} changes the lease of one that is {was.state} under {was.token}"
        )
    if was.state != "RUNNING":
        return None
    over = writer.doing == "writes" and not writer.outcome
    if not over and token != was.token:
        return f"a worker with the token {token} writes over the token {was.token}"
    if over and before.now < was.lease:
        return "a task is taken whose lease is running"
    return None


def i12_never_early(before: World, after: World) -> str | None:
    was, task = before.task, after.task
    begins = was and was.state in ("PENDING", "RETRYING") and task.state == "RUNNING"
    return f"begins at {before.now}, due at {was.due}" if begins and before.now < was.due else None


def i14_what_was_told_stays(before: World, after: World) -> str | None:
    if "cancelled" in before.told and after.task.state != "CANCELLED":
        return f"was told to be CANCELLED and is {after.task.state}"
    if "done" in before.told and after.task.state != "SUCCEEDED":
        return f"was told to be SUCCEEDED and is {after.task.state}"
    return None


def i15_nothing_begins_after_a_cancel(before: World, after: World) -> str | None:
    cancelled = "cancelled" in before.told or (before.task and before.task.state == "CANCELLED")
    begins = after.task.state == "RUNNING" and before.task.version != after.task.version
    return "begins although it was cancelled" if cancelled and begins else None


_OF_A_CHANGE: Final[tuple[tuple[str, Callable[[World, World], str | None]], ...]] = (
    ("I8", i8_only_what_the_table_allows),
    ("I8", i8_out_of_death_by_its_letter_alone),
    ("I9", i9_tokens_rise),
    ("I9", i9_who_was_fenced_off_writes_nothing),
    ("I12", i12_never_early),
    ("I14", i14_what_was_told_stays),
    ("I15", i15_nothing_begins_after_a_cancel),
)


def wrong_steps(plan: Plan, before: World, after: World) -> Iterator[str | None]:
    if after.task is not before.task:
        for name, invariant in _OF_A_CHANGE:
            if wrong := invariant(before, after):
                yield f"{name}: {wrong}"
    yield i10_delivered(before, after)
    yield i11_only_the_audit(plan, before, after)
    yield i13_one_item(after)


def i10_delivered(before: World, after: World) -> str | None:
    """An attempt goes out under a token that its task has or had, and no other worker's."""
    if after.workers is before.workers:
        return None
    sender = _moved(before, after)
    if sender is None or sender.doing != "runs" or sender in after.workers:
        return None
    token = sender.known.token
    if token > before.task.token:
        return f"I10: an attempt goes out with the token {token}, which nobody has"
    if sum(worker.doing == "runs" and worker.known.token == token for worker in before.workers) > 1:
        return f"I10: two workers deliver with the token {token}"
    return None


def i11_only_the_audit(plan: Plan, before: World, after: World) -> str | None:
    """Without vanishing messages, every unfinished task has a call, whichever process died: an audit at most
    repeats it."""
    was, sweeper = before.sweeper, after.sweeper
    if plan.losses or was.doing != "reads" or was.stage != "audit" or not sweeper.calls or after.queue:
        return None
    return "I11: only the audit found it"


def i13_one_item(after: World) -> str | None:
    return "I13: two tasks for one Idempotency-Key" if after.twin else None


def wrong_ends(world: World) -> Iterator[str]:
    """The broken promises of a state in which nothing is under way and nothing more happens by itself."""
    task = world.task
    if not task:
        if "registered" in world.told:
            yield "I14: was told to be registered and is not there"
    elif task.state == "DEAD":
        if task.version not in world.letters:
            yield "I16: the task is dead and there is no letter of it"
    elif task.state not in FINAL:
        yield f"I11 I22: the task is left {task.state}"


def _moved(before: World, after: World) -> Worker | None:
    pairs: Iterator[tuple[Worker, Worker]] = zip(before.workers, after.workers, strict=True)
    return next((was for was, now in pairs if was is not now), None)
