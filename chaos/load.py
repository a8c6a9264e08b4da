"""The clients: each asks at its own modest pace, changes and cancels what is its own, and notes what it was told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from threading import Event
from typing import Any, Final

from chaos import forms
from chaos.asking import Asked, ask
from chaos.forms import Places
from chaos.notes import Notes, Promised, Wanted
from chaos.plan import ACCOUNTS
from cli.client import Client
from postdate.domain import instants

TASKS: Final = "/api/v1/tasks"
PAYMENTS: Final = "/api/v1/payments"
SCHEDULE: Final = f"{PAYMENTS}/schedule"
PAUSE_SECONDS: Final = (0.2, 1.0)
NEWEST: Final = 12
STEPS: Final = {
    "a task to a webhook": 6, "a task to SQS": 3, "an acknowledged task": 2, "a payment": 6,
    "a cancel": 3, "a change": 4, "a deposit": 1,
}  # fmt: skip


def path_of(promised: Promised) -> str:
    return f"{PAYMENTS if promised.is_payment else TASKS}/{promised.id}"


@dataclass(kw_only=True, slots=True)
class Caller:
    """One client on one thread. It begins with a webhook of the `first` temper, so that each is met early. `is_waiting`
    says that a call of its is under way."""

    name: str
    client: Client
    admin: Client
    draws: Random
    places: Places
    first: str
    notes: Notes = field(default_factory=Notes)
    is_waiting: bool = False
    _over: Event = field(default_factory=Event)
    _number: int = 0

    def work(self) -> None:
        self.step("a task to a webhook")
        while datetime.now(UTC) < self.places.ends_at:
            self.step(*self.draws.choices(list(STEPS), list(STEPS.values())))
            if self._over.wait(self.draws.uniform(*PAUSE_SECONDS)):
                return

    def stop(self) -> None:
        self._over.set()

    def step(self, what: str) -> None:
        match what:
            case "a cancel":
                self._cancel()
            case "a change":
                self._change()
            case "a deposit":
                self._deposit()
            case _:
                self._register(what)

    def _register(self, what: str) -> None:
        due_at = forms.instant(self.draws, self.places, datetime.now(UTC))
        key = self._key()
        if what == "a payment":
            form = forms.payment(self.draws) | {"scheduled_time": due_at.isoformat(), "description": key}
            path = SCHEDULE
        else:
            form = self._task(what) | {"run_at": due_at.isoformat(), "name": key}
            path = TASKS
        asked = self._ask(what, lambda: self.client.post(path, form, idempotency_key=key))
        if asked.status == 201:
            self.notes.promised.append(promised(key, path, form, asked.body))
        elif asked.answer is None:
            self.notes.wanted.append(Wanted(key=key, path=path, form=form))

    def _task(self, what: str) -> dict[str, Any]:
        match what:
            case "a task to SQS":
                return forms.to_a_queue(self.draws, self.places)
            case "an acknowledged task":
                return forms.acknowledged(self.places)
            case _:
                temper = forms.temper(self.draws) if self.notes.promised else self.first
                return forms.to_a_webhook(temper, self.places)

    def _cancel(self) -> None:
        if chosen := self._one_of_the_newest():
            path = path_of(chosen) + ("/cancel" if chosen.is_payment else "")
            asked = self._ask("a cancel", lambda: self.client.delete(path))
            if asked.status == 200:
                chosen.version, chosen.status = asked.body["version"], asked.body["status"]
                chosen.cancelled = True

    def _change(self) -> None:
        """To another instant, sooner or later; sometimes of the amount instead."""
        if not (chosen := self._one_of_the_newest()):
            return
        due_at = forms.instant(self.draws, self.places, datetime.now(UTC))
        form: dict[str, Any] = {"scheduled_time" if chosen.is_payment else "run_at": due_at.isoformat()}
        if chosen.is_payment and self.draws.random() < 0.3:
            form = {"amount": self.draws.choice((5, 70, 300))}
        asked = self._ask("a change", lambda: self.client.patch(path_of(chosen), form))
        changed(chosen, asked, None if "amount" in form else instants.milliseconds(due_at))

    def _deposit(self) -> None:
        path, form = f"/api/v1/accounts/{self.draws.choice(ACCOUNTS)}/deposits", {"amount": 100}
        key = self._key()
        asked = self._ask("a deposit", lambda: self.admin.post(path, form, idempotency_key=key))
        if asked.status == 201:
            self.notes.deposited += form["amount"]
        elif asked.answer is None:
            self.notes.wanted.append(Wanted(key=key, path=path, form=form))

    def _one_of_the_newest(self) -> Promised | None:
        open_ones = [each for each in self.notes.promised[-NEWEST:] if not each.cancelled]
        return self.draws.choice(open_ones) if open_ones else None

    def _ask(self, what: str, send: Callable[[], Any]) -> Asked:
        self.is_waiting = True
        try:
            return ask(what, send, self.notes, sleep=self._over.wait)
        finally:
            self.is_waiting = False

    def _key(self) -> str:
        self._number += 1
        return f"{self.name}-{self._number}"


def promised(key: str, path: str, form: dict[str, Any], answer: dict[str, Any]) -> Promised:
    told = answer["scheduled_time"] if path == SCHEDULE else answer["run_at"]
    return Promised(
        key=key,
        path=path,
        form=form,
        id=answer["payment_id"] if path == SCHEDULE else answer["task_id"],
        earliest_ms=milliseconds(told),
        version=answer["version"],
        status=answer["status"],
    )


def changed(promised: Promised, asked: Asked, due_ms: int | None) -> None:
    """`due_ms` is the instant that was asked for, if it was one."""
    if asked.status == 200:
        promised.version, promised.status = asked.body["version"], asked.body["status"]
        if due_ms is not None:
            promised.earliest_ms = due_ms
    elif asked.unknown and due_ms is not None:
        promised.earliest_ms = min(promised.earliest_ms, due_ms)


def milliseconds(text: str) -> int:
    return instants.milliseconds(datetime.fromisoformat(text))


def ahead(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
