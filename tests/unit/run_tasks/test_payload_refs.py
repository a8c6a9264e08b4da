"""Payloads that tenants keep themselves: read at each attempt, by nobody who keeps others waiting."""

from dataclasses import replace

import pytest

from postdate.domain.breaker import Breaker, failed
from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.domain.task import Ack, Destination, Payload, State
from postdate.stores.objects import MISSING
from postdate.targets.base import Delivered
from tests.unit.doubles import HOOK, MINUTE, SECOND, START, a_task, message
from tests.unit.run_tasks.plans import RUNS, a_definition

QUEUE = Destination(type="sqs", address="https://sqs.us-east-1.amazonaws.com/1/q.fifo")


def referring(number=1, name="a", **fields):
    return a_task(number, payload=Payload(ref=f"s3://objects/demo/{name}"), **fields)


def delivered(running):
    return [delivery.payload for _, delivery in running.target.started]


def test_an_object_of_the_tenant_is_delivered_byte_for_byte(running):
    task = referring()
    running.objects.kept["demo/a"] = '{ "n": 1e2, "größe": "\\u0000" }\n'.encode()
    running.stores(task)
    assert running.run(message(task)).succeeded == 1
    assert delivered(running) == [running.objects.kept["demo/a"]]


def test_it_is_read_at_each_attempt_as_it_is_then(running):
    task = referring()
    running.stores(task)
    tally = running.run(message(task))
    waits = running.stored(task)
    assert (waits.state, waits.error, tally.retried) == (State.RETRYING, MISSING.why, 1)
    running.objects.kept["demo/a"] = b"2"
    running.run(running.arrival())
    assert (running.stored(task).state, delivered(running)) == (State.SUCCEEDED, [b"2"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"x" * (PAYLOAD_BYTES_MAX + 1), "the payload is larger than 256 KB"),
        (b"{", "the payload is not JSON in UTF-8"),
        (b"", "the payload is not JSON in UTF-8"),
        (b"NaN", "the payload is not JSON in UTF-8"),
        (b'"\xff"', "the payload is not JSON in UTF-8"),
        (b"[" * 100_000, "the payload is not JSON in UTF-8"),
    ],
    ids=["large", "broken", "empty", "NaN", "latin-1", "deep"],
)
def test_an_object_that_another_attempt_would_find_unusable_again_is_final(running, body, why):
    task = referring()
    running.objects.kept["demo/a"] = body
    running.stores(task)
    running.run(message(task))
    dead = running.stored(task)
    assert (dead.state, dead.error, delivered(running)) == (State.DEAD, why, [])


@pytest.mark.parametrize(
    "ref", ["s3://objects/other/a", "s3://elsewhere/demo/a", "s3://objects/demo/../other/a"]
)
def test_an_object_outside_the_tenants_prefix_is_not_asked_for(running, ref):
    """A row that was written without the check of the API."""
    task = a_task(payload=Payload(ref=ref))
    running.objects.kept |= {"other/a": b"1", "demo/a": b"1", "demo/../other/a": b"1"}
    running.stores(task)
    running.run(message(task))
    dead = running.stored(task)
    assert (dead.state, dead.error) == (State.DEAD, "the payload is not inside the tenant's prefix")


def test_reading_keeps_nobody_else_waiting(running):
    slow, fine = referring(1), a_task(2)
    running.objects.kept["demo/a"] = b"1"
    running.stores(slow, fine)
    running.readers.holds = True
    running.target.script[fine.id].append(
        lambda delivery, report: (running.readers.let_go(), report(delivery, Delivered(http_status=200)))
    )
    running.run(message(slow, fine))
    assert [delivery.run_id for _, delivery in running.target.started] == [fine.id, slow.id]


def test_runs_of_one_task_go_together_in_their_order(running):
    definition = a_definition()
    running.definitions.add(replace(definition, template=replace(definition.template, destination=QUEUE)))
    payload = Payload(ref="s3://objects/demo/a")
    runs = [
        replace(
            RUNS.out_of_turn(definition, name=name, due_at=START, now=START - SECOND, why="triggered"),
            destination=QUEUE,
            payload=payload,
        )
        for name in "abc"
    ]
    running.objects.kept["demo/a"] = b"1"
    running.stores(*runs)
    running.run(message(*runs))
    assert [delivery.run_id for _, delivery in running.queue_target.started] == [run.id for run in runs]
    assert running.readers.jobs == 1


def test_a_reader_that_breaks_fails_its_run_and_no_other(running):
    broken, fine = referring(1, "broken"), referring(2)
    running.objects.kept["demo/a"] = b"1"
    running.objects.breaks_at = "demo/broken"
    running.stores(broken, fine)
    tally = running.run(message(broken, fine))
    assert (tally.succeeded, tally.retried, running.stored(broken).error) == (1, 1, "internal error")


def test_an_explicit_acknowledgement_waits_for_a_delivery(running):
    task = referring(ack=Ack.EXPLICIT)
    running.stores(task)
    running.run(message(task))
    assert running.stored(task).state is State.RETRYING


def test_a_payload_that_is_missing_says_nothing_about_its_destination(running):
    """The one call that was let out to see whether a host is back has not seen it."""
    task = referring()
    where = ("demo", "webhook:hooks.example.com")
    down = failed(Breaker(), 10, now=START - 5 * MINUTE)
    assert running.flow.change_breaker(where, Breaker(), down)
    running.stores(task)
    running.run(message(task))
    assert (running.stored(task).state, task.destination) == (State.RETRYING, HOOK)
    assert running.flow.breakers([where])[where].failures == down.failures
