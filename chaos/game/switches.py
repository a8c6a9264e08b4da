"""Each switch is turned off and on again: what it stops stands still within two seconds, waits, and goes on."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import TENANT, Ground, until
from cli.client import Answer, Client
from postdate.domain.switch import API_WRITES, SETTLEMENT

# The promise of decision 105.
_STOPS_WITHIN: Final = timedelta(seconds=2)
_EVERY_MS: Final = 50
_BEFORE_SECONDS, _WHILE_SECONDS, _AFTER_SECONDS = 2, 5, 1
# A call that was put off comes again after 2 s.
_HELD_SECONDS: Final = 1.5
_ENTRY: Final = "Money must stop at once"
_OVERVIEW: Final = "/api/v1/ops/overview"
_CATCHES_UP_WITHIN_SECONDS: Final = 60


def settlement(ground: Ground, draws: Random) -> Iterator[Line]:
    """A stream of payments, 20 a second, while an operator stops and releases all money."""
    with ground.client() as client, ground.operator() as operator:
        payer, payee = (f"{name}-{draws.randrange(1_000_000)}" for name in ("payer", "payee"))
        seconds = _BEFORE_SECONDS + _WHILE_SECONDS + _AFTER_SECONDS
        count = seconds * 1000 // _EVERY_MS
        work.accounts(client, payer, payee, count)
        since, first = datetime.now(UTC), work.later(3)
        dues = [first + timedelta(milliseconds=_EVERY_MS * number) for number in range(count)]
        work.payments(client, payer, payee, dues)
        work.sleep_until(first + timedelta(seconds=_BEFORE_SECONDS))
        with _on_again(operator, SETTLEMENT):
            ground.runbook.run(_ENTRY, _command("off settlement"), key=ground.stack.operator_key)
            yield from _stops(client, operator, payer, dues)
            ground.runbook.run(_ENTRY, _command("on settlement"), key=ground.stack.operator_key)
        until(lambda: _ended(work.paid(client, payer)), within=_CATCHES_UP_WITHIN_SECONDS)
        yield told("payments_late_fast", ground.fires("payments_late_fast", since=since))
        yield put_right(*_all_made(client, payer, payee, count))


def _stops(client: Client, operator: Client, payer: str, dues: list[datetime]) -> Iterator[Line]:
    off_at = work.instant(_shown(operator, SETTLEMENT)["off_at"])
    yield fault("switch settlement turned off in a stream of payments", len(dues))
    work.sleep_until(off_at + timedelta(seconds=_WHILE_SECONDS))
    made = [each for each in work.paid(client, payer) if each["status"] == "COMPLETED"]
    waiting = sum(due < datetime.now(UTC) for due in dues) - len(made)
    last = max((work.instant(each["executed_at"]) for each in made), default=dues[0])
    stopped = (last - off_at).total_seconds()
    yield seen(
        made and waiting > 0 and last <= off_at + _STOPS_WITHIN,
        f"the last payment {stopped:.3f} s after the switch, {len(made)} made, {waiting} due wait",
        max_ms=1000 * stopped,
    )


def _all_made(client: Client, payer: str, payee: str, count: int) -> tuple[bool, str]:
    found = work.paid(client, payer)
    done = [each for each in found if each["status"] == "COMPLETED"]
    early = [
        each for each in done if work.instant(each["executed_at"]) < work.instant(each["scheduled_time"])
    ]
    balance = client.get(f"/api/v1/accounts/{payee}").expect(200)["balance"]
    sound = client.get("/api/v1/audit").expect(200)["ok"]
    right = len(done) == balance == count and not early and sound
    return right, f"{len(done)} of {count} COMPLETED, {len(early)} early, payee has {balance}, audit {sound}"


def _ended(found: list[dict[str, Any]]) -> bool:
    return all(each["status"] == "COMPLETED" for each in found)


def _shown(operator: Client, name: str) -> dict[str, Any]:
    """The switch as the overview shows it."""
    found = operator.get(_OVERVIEW).expect(200)["switches"]
    return next((each for each in found if each["name"] == name), {})


def _command(action: str) -> str:
    return f".venv/bin/postdate switches {action}"


def writes(ground: Ground, draws: Random) -> Iterator[Line]:
    """Writes are answered 503 `read_only`, reads as ever."""
    form = {"delay_seconds": 0, "target": {"type": "webhook", "url": f"{ground.receiver.url}/"}}
    with ground.client() as client, ground.operator() as operator:
        with _on_again(operator, API_WRITES):
            _turn(operator, API_WRITES, on=False)
            began = time.monotonic()
            yield fault("switch api_writes turned off", 1)
            refused = until(lambda: _code(client.post(work.TASKS, form)) == "read_only", within=5, every=0.05)
            after = time.monotonic() - began
            codes = {_code(client.post(work.TASKS, form)) for _ in range(draws.randint(5, 10))}
            reads = {client.get(path).status for path in (work.TASKS, work.PAYMENTS, "/api/v1/limits")}
            shown = _shown(operator, API_WRITES)
            in_time = refused and after <= _STOPS_WITHIN.total_seconds()
            yield seen(
                in_time and shown and codes == {"read_only"} and reads == {200},
                f"writes answered {', '.join(codes)} after {after:.2f} s, reads {reads}, shown in the overview",
                max_ms=1000 * after,
            )
        again = until(lambda: client.post(work.TASKS, form).status == 201, within=5)
        yield put_right(again, "writes are accepted again")


def tenant(ground: Ground, draws: Random) -> Iterator[Line]:
    """Tasks of the tenant wait."""
    yield from _stopped(ground, draws, f"tenant:{TENANT}")


def target(ground: Ground, draws: Random) -> Iterator[Line]:
    """Tasks to webhooks wait."""
    yield from _stopped(ground, draws, "target:webhook")


def _stopped(ground: Ground, draws: Random, name: str) -> Iterator[Line]:
    url = f"{ground.receiver.url}/"
    with ground.client() as client, ground.operator() as operator:
        with _on_again(operator, name):
            _turn(operator, name, on=False)
            time.sleep(_STOPS_WITHIN.total_seconds())
            ids = work.tasks(client, url, draws.randint(5, 20))
            yield fault(f"switch {name} turned off", len(ids))
            time.sleep(_HELD_SECONDS)
            arrived = sum(ground.receiver.count(ids).values())
            attempts = sum(client.get(f"{work.TASKS}/{id}").expect(200)["attempts"] for id in ids)
            yield seen(
                _shown(operator, name) and not arrived and not attempts,
                f"{arrived} of {len(ids)} due tasks called, {attempts} attempts counted, shown in the overview",
            )
        well = until(lambda: work.all_are(client, ids, "SUCCEEDED"))
        yield put_right(
            well and set(ground.receiver.count(ids).values()) == {1}, f"{len(ids)} tasks called once each"
        )


@contextmanager
def _on_again(operator: Client, name: str) -> Iterator[None]:
    """Turns the switch on at the end, whatever breaks off the drill."""
    try:
        yield
    finally:
        _turn(operator, name, on=True)


def _turn(operator: Client, name: str, *, on: bool) -> None:
    form = {"on": on, "reason": "a game day"}
    path = f"/api/v1/ops/switches/{name}"
    operator.send("PUT", path, json.dumps(form).encode()).expect(200)


def _code(answer: Answer) -> str:
    return str(answer.body.get("code", answer.status)) if isinstance(answer.body, dict) else ""


DRILLS: Final = (
    Drill(name="switch settlement", play=settlement),
    Drill(name="switch api_writes", play=writes),
    Drill(name="switch tenant", play=tenant),
    Drill(name="switch target", play=target),
)
