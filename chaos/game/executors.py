"""Executors are killed in the middle of their deliveries."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import Ground, until

_RETURNS_WITHIN_SECONDS: Final = 90


def killed(ground: Ground, draws: Random) -> Iterator[Line]:
    """The next worker of each delivery finds a lease whose holder is gone. Nothing is left to an operator but to look
    for the cause."""
    since = datetime.now(UTC)
    with ground.client() as client:
        ids = work.tasks(client, f"{ground.receiver.url}/hang-once", draws.randint(4, 6))
    until(lambda: min(ground.receiver.count(ids).values()) >= 1)
    pids = ground.workers("run-tasks")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    yield fault(f"processes of run-tasks killed with {len(ids)} calls in hand", len(pids))
    until(lambda: min(ground.receiver.count(ids).values()) >= 2, within=_RETURNS_WITHIN_SECONDS)
    with ground.client() as client:
        until(lambda: work.all_are(client, ids, "SUCCEEDED"))
        found = [client.get(f"{work.TASKS}/{id}").expect(200) for id in ids]
    died = [any(line.get("reason") == "its worker died" for line in each["history"]) for each in found]
    yield seen(all(died), f"{sum(died)} of {len(ids)} histories say that a worker died")
    yield told("workers_die", ground.fires("workers_die", since=since))
    ground.runbook.run("leases_expire", "aws logs filter-log-events")
    again = ground.receiver.count(ids)
    ended = {each["status"] for each in found}
    yield put_right(
        ended == {"SUCCEEDED"} and set(again.values()) == {2},
        f"{len(ids)} tasks {', '.join(sorted(ended))} after {max(again.values())} arrivals each",
    )


DRILL: Final = Drill(name="killed executors", play=killed, beside=True)
