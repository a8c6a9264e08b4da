"""A run from its stack's start to its end: load and faults at the same time, quiet, and what became of it all."""

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from random import Random
from threading import Event
from typing import Final

from chaos import bed as beds
from chaos import forms, report
from chaos.bed import TENANT, Bed
from chaos.ending import ask_again, look, wait
from chaos.faults import Faults
from chaos.forms import Places
from chaos.game import run as game
from chaos.load import TASKS, Caller, ahead, milliseconds
from chaos.notes import Recurring, together
from chaos.plan import ACCOUNTS, CLIENTS, DEPOSIT, QUIET_WITHIN_SECONDS, Plan
from chaos.receiver import Receiver, receiving
from chaos.report import Line
from chaos.timeline import timeline
from chaos.words import Words
from chaos.workers import Workers
from cli.local.processes import Process
from cli.progress import say, step
from postdate.domain import instants
from postdate.domain.due import Due

_TOLD_EVERY_SECONDS: Final = 10
_NEAR_MS: Final = 8_000
_IN_HAND_MS: Final = 1_000
_MINUTE_MS: Final = 60_000


def run(plan: Plan) -> Generator[Line, None, None]:
    """Each line as soon as it is known. The stack goes when the last one is taken, or the caller stops taking."""
    yield {"case": "plan", "what": f"{plan.minutes} min, seed {plan.seed}"}
    with beds.made() as bed:
        words = Words(bed.stack.api_url, bed.stack.api_key, seed=plan.seed)
        with receiving(words.acknowledge) as receiver:
            yield from _chaos(bed, plan, receiver, words)
        if plan.game_minutes:
            yield from game.played(bed, game.Plan(minutes=plan.game_minutes, seed=plan.seed))


def _chaos(bed: Bed, plan: Plan, receiver: Receiver, words: Words) -> Generator[Line, None, None]:
    ends_at = ahead(plan.seconds)
    places = Places(receiver_url=receiver.url, queue_url=bed.stack.destination_queue_url, ends_at=ends_at)
    with ExitStack() as opened:
        recurring = _every_minute(bed, places)
        callers = [_caller(bed, plan, places, number, opened) for number in range(CLIENTS)]
        faults = _faults(bed, plan, callers, receiver)
        with step(f"load and faults for {plan.minutes} min (seed {plan.seed})"):
            _work(callers, faults, plan)
        notes = together(caller.notes for caller in callers)
        with step("waiting until all is quiet"):
            ask_again(bed, notes)
            waited = wait(bed, QUIET_WITHIN_SECONDS)
        notes = together([notes, words.close()])
        notes.deposited += DEPOSIT * len(ACCOUNTS)
    with step("asking again and reading everything"):
        seen = look(bed, notes, recurring=recurring, arrivals=list(receiver.arrivals), words=words.completed)
    yield from report.load(notes)
    yield from report.faults(faults.done, receiver.tempers)
    yield from report.hits(seen)
    yield from report.lateness(seen)
    yield {"case": "quiet", "what": "after the faults", "max_ms": float(round(1000 * waited))}
    yield from report.checked(seen)


def _every_minute(bed: Bed, places: Places) -> list[Recurring]:
    """Registered before the faults begin, so what was planned is known."""
    with bed.client() as client:
        told = [client.post(TASKS, form).expect(201) for form in forms.every_minute(places)]
    last = instants.milliseconds(places.last_run_at)
    return [
        Recurring(
            id=each["task_id"],
            planned_ms=tuple(range(milliseconds(each["next_run_at"]), last + 1, _MINUTE_MS)),
        )
        for each in told
    ]


def _caller(bed: Bed, plan: Plan, places: Places, number: int, opened: ExitStack) -> Caller:
    return Caller(
        name=f"client-{number}",
        client=opened.enter_context(closing(bed.client())),
        admin=opened.enter_context(closing(bed.admin())),
        draws=Random(f"{plan.seed} {number}"),  # noqa: S311 (no secret)
        places=places,
        first=forms.MOODY[number % len(forms.MOODY)],
    )


def _faults(bed: Bed, plan: Plan, callers: Sequence[Caller], receiver: Receiver) -> Faults:
    engine = Process.noted(bed.stack.pid)
    return Faults(
        workers=Workers(bed.place, lambda mark: engine.group(marked=mark)),
        sqs=bed.sqs,
        functions=bed.functions,
        queues=bed.queues,
        draws=Random(plan.seed),  # noqa: S311 (no secret)
        tenant=TENANT,
        at_work=_at_work(callers, receiver),
        near=partial(_near, callers, _NEAR_MS),
    )


def _at_work(callers: Sequence[Caller], receiver: Receiver) -> Callable[[str], bool]:
    """The API while a client waits for it; `run_tasks` while a receiver keeps it waiting; `settle` while something is
    to begin within a second, for then a worker has it and waits."""

    def at_work(function: str) -> bool:
        match function:
            case "api":
                return any(caller.is_waiting for caller in callers)
            case "run-tasks":
                return receiver.held > 0
            case "settle":
                soon = _near(callers, _IN_HAND_MS, "payments")
                return any(due.due_at > datetime.now(UTC) for due in soon)
            case _:
                return True

    return at_work


def _near(callers: Sequence[Caller], within_ms: int, queue: str) -> list[Due]:
    """The newest calls of what is due now, give or take."""
    now_ms = time.time() * 1000
    return [
        Due(id=each.id, version=each.version, due_at=instants.from_milliseconds(each.earliest_ms))
        for caller in callers
        for each in list(caller.notes.promised)
        if abs(each.earliest_ms - now_ms) < within_ms and each.is_payment == (queue == "payments")
    ]


def _work(callers: Sequence[Caller], faults: Faults, plan: Plan) -> None:
    """Runs one client; an exception in one ends the run of all."""
    over = Event()
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        begun: list[Future[None]] = [pool.submit(caller.work) for caller in callers]
        begun.append(pool.submit(faults.work, timeline(plan.seed, plan.seconds), over))
        try:
            _tell_until_done(begun, callers, faults)
        finally:
            over.set()
            for caller in callers:
                caller.stop()


def _tell_until_done(begun: Sequence[Future[None]], callers: Sequence[Caller], faults: Faults) -> None:
    told = began = time.monotonic()
    while not all(each.done() for each in begun):
        time.sleep(0.2)
        for each in begun:
            if each.done():
                each.result()
        if time.monotonic() > told + _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            notes = together(caller.notes for caller in callers)
            say(
                f"  {told - began:4.0f} s  {len(notes.promised)} accepted, {notes.unknown.total()} tries unanswered, "
                f"{faults.done.total()} faults"
            )
    for each in begun:
        each.result()
