"""A destination refuses calls for good until there are dead letters, and another one is down."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import Ground, until
from chaos.game.receiver import receiving
from cli.client import Client

_REFUSES: Final = 422
_CALLED: Final = ("CLOSED", "RECOVERING")
_LETTERS: Final = "/api/v1/ops/dlq/tasks?group=failure"


def refusing(ground: Ground, draws: Random) -> Iterator[Line]:
    """Dead tasks have dead letters, and are redriven when the destination is well again."""
    path = f"/refuses-{draws.randrange(1_000_000)}"
    url, count, since = ground.receiver.url + path, draws.randint(30, 60), datetime.now(UTC)
    ground.receiver.answers[path] = _REFUSES
    with ground.client() as client, ground.operator() as operator:
        ids = work.tasks(client, url, count, retry={"max_attempts": 1})
        yield fault(f"calls refused with {_REFUSES}", count)
        grouped = until(lambda: _group(operator, url, count))
        yield seen(
            grouped, f"{grouped.get('count', 0)} dead letters of one failure: {grouped.get('failure')}"
        )
        yield told("dead_letters_tasks", ground.fires("dead_letters_tasks", since=since))
        del ground.receiver.answers[path]
        ran = ground.runbook.run(
            *("dead_letters_tasks", ".venv/bin/postdate redrive"),
            key=ground.on_call,
            variables={"DESTINATION": url},
        )
        well = until(lambda: work.all_are(client, ids, "SUCCEEDED"), within=15)
        empty = until(lambda: not _group(operator, url, 1), within=15)
        twice = set(ground.receiver.count(ids).values()) == {2}
    line = ran.strip().partition("\n")[0]
    yield put_right(well and twice and empty, f"each called once more, no letter left: {line}")


def _group(operator: Client, url: str, least: int) -> dict[str, Any]:
    """The group of dead letters of this address, once it has so many."""
    groups = operator.get(_LETTERS).expect(200)["groups"]
    found = [each for each in groups if url in (each["destination"] or "")]
    return found[0] if found and found[0]["count"] >= least else {}


def down(ground: Ground, draws: Random) -> Iterator[Line]:
    """The breaker opens and tasks wait; the first call that succeeds lets them go out."""
    count, since = draws.randint(12, 24), datetime.now(UTC)
    retry = {"max_attempts": 50, "initial_seconds": 0.1, "multiplier": 1, "max_seconds": 1}
    # A breaker is one of a host, so this one needs a host of its own.
    with receiving() as receiver, ground.client() as client:
        receiver.answers["/"] = 503
        host = receiver.url.removeprefix("http://")
        ids = work.tasks(client, f"{receiver.url}/", count, retry=retry)
        yield fault("calls answered with 503", count)
        held = until(lambda: _held(client, host))
        yield seen(held, f"the destination is {held.get('state')}, {held.get('waiting')} calls waiting")
        yield told("destination_down", ground.fires("destination_down", since=since))
        ground.runbook.run("destination_down", "aws logs filter-log-events")
        del receiver.answers["/"]
        ground.runbook.run(
            *("destination_down", ".venv/bin/postdate destinations probe"),
            key=ground.on_call,
            variables={"DESTINATION_ID": held.get("id", "")},
        )
        well = until(lambda: work.all_are(client, ids, "SUCCEEDED"))
        closed = until(lambda: not _held(client, host))
    yield put_right(well and closed, f"{count} tasks SUCCEEDED after a probe")


def _held(client: Client, host: str) -> dict[str, Any]:
    """The destination while no call, or only one, goes there."""
    found = client.get("/api/v1/destinations").expect(200)["destinations"]
    held = [each for each in found if host in each["address"] and each["state"] not in _CALLED]
    return held[0] if held else {}


DRILLS: Final = (
    Drill(name="refusing destination", play=refusing),
    Drill(name="destination down", play=down),
)
