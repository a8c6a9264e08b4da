import json
from collections import Counter
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from chaos.faults import Faults
from chaos.timeline import EVERY, RESUME, Fault, timeline
from chaos.workers import AWAKE_SECONDS, Workers
from cli.local.place import Place
from postdate.domain.due import Due
from postdate.runtime.queue import received
from tests.unit.doubles import a_task

PLACE = Place(port=1, directory=Path("/nowhere"))


class Queues:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send_message(self, **message: Any) -> None:
        self.sent.append(message)


class Functions:
    """One mapping, and whether it was enabled each time."""

    def __init__(self) -> None:
        self.enabled: list[bool] = []

    def list_event_source_mappings(self, **_: Any) -> dict[str, Any]:
        return {"EventSourceMappings": [{"UUID": "sweep"}]}

    def update_event_source_mapping(self, *, UUID: str, Enabled: bool) -> None:  # noqa: N803
        self.enabled.append(Enabled)


def faults(*near: Due) -> tuple[Faults, Queues, Functions]:
    queues, functions = Queues(), Functions()
    made = Faults(
        workers=Workers(PLACE, lambda mark: []),
        sqs=queues,
        functions=functions,
        queues={"tasks": "t", "payments": "p", "ticks": "k"},
        draws=Random(1),
        tenant="demo",
        at_work=lambda function: True,
        near=lambda queue: list(near) if queue == "tasks" else [],
    )
    return made, queues, functions


@pytest.mark.parametrize("seed", range(20))
def test_a_minute_has_every_kind_of_fault_and_ends_with_the_sweep_going_on(seed: int) -> None:
    coming = timeline(seed, 60)
    kinds = Counter(fault.what for fault in coming)
    assert kinds.keys() == {*EVERY, RESUME}
    assert kinds[RESUME] == kinds["stop the sweep"]
    assert all(0 < fault.at <= 60 for fault in coming)
    sweeps = [fault.what for fault in coming if fault.what in ("stop the sweep", RESUME)]
    assert sweeps == ["stop the sweep", RESUME] * kinds[RESUME]


def test_a_seed_says_when_which_fault_comes() -> None:
    assert timeline(7, 120) == timeline(7, 120)
    assert timeline(7, 120) != timeline(8, 120)


def test_a_duplicate_is_the_call_of_a_known_item() -> None:
    task = a_task()
    made, queues, _ = faults(Due.of(task))
    made.work([Fault(0, "duplicate tasks"), Fault(0, "duplicate payments")], Event())
    (message,) = queues.sent
    record = {
        "body": message["MessageBody"],
        "messageId": "1",
        "receiptHandle": "1",
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    assert received(record).packet.dues == (Due.of(task),)
    assert message["QueueUrl"] == "t"
    assert made.done == {"duplicate tasks": 1}


def test_a_doubled_sweep_is_several_ticks_at_once() -> None:
    made, queues, _ = faults()
    made.work([Fault(0, "double the sweep")], Event())
    kinds = Counter(json.loads(message["MessageBody"])["kind"] for message in queues.sent)
    assert kinds["tick"] >= 2
    assert made.done["double the sweep"] == len(queues.sent)


def test_the_sweep_is_not_left_stopped() -> None:
    made, _, functions = faults()
    made.work([Fault(0, "stop the sweep")], Event())
    assert functions.enabled == [False, True]
    assert made.done == {"stop the sweep": 1}


def test_a_kill_that_did_not_happen_is_not_counted() -> None:
    made, _, _ = faults()
    made.work([Fault(0, "kill api"), Fault(0, "kill sweep")], Event())
    assert not made.done.total()


def test_those_that_worked_last_are_killed_first_and_those_that_just_began_not_at_all() -> None:
    clock, used = [0.0], {1: 10, 2: 10, 3: 10}
    workers = Workers(PLACE, lambda mark: list(used), now=lambda: clock[0], used=lambda pid: used[pid])
    workers.look()
    clock[0] = AWAKE_SECONDS + 1.0
    used |= {2: 11, 4: 1}
    assert workers.awake("api")[0] == 2
    assert set(workers.awake("api")) == {1, 2, 3}
    clock[0] += 1
    used[3] = 11
    assert workers.awake("api")[:2] == [3, 2]


def test_a_number_that_is_given_away_again_is_another_worker() -> None:
    clock, alive = [0.0], [1]
    workers = Workers(PLACE, lambda mark: list(alive), now=lambda: clock[0], used=lambda pid: 1)
    workers.look()
    alive.clear()
    workers.look()
    alive.append(1)
    clock[0] = AWAKE_SECONDS + 1.0
    assert workers.awake("api") == []
