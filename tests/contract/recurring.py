"""Definitions to store, and their runs."""

from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any, Final

from postdate.domain.catch_up import CatchUp
from postdate.domain.cron import Cron
from postdate.domain.definition import HOME_MINUTE, Definition, Overlap, State
from postdate.domain.recurrence import Runs
from postdate.domain.retry import RetryPolicy
from postdate.domain.schedule import Schedule
from postdate.domain.slots import UNIQUE_BYTES, Slot, item_id
from postdate.domain.task import KIND, Ack, Destination, Payload, Task, Template
from tests.contract.examples import LISTING_SHARDS, PLAN, QUEUE, Examples
from tests.following import follow

RUNS: Final = Runs(shards=PLAN)
_uniques = count(1)


def a_definition(
    examples: Examples, *, cron: str = "* * * * *", listed_under: int | None = None, **fields: Any
) -> Definition:
    unique = next(
        unique
        for unique in (next(_uniques).to_bytes(UNIQUE_BYTES) for _ in range(1000))
        if listed_under in (None, unique[-1] % LISTING_SHARDS)
    )
    id = item_id(KIND, Slot(minute=HOME_MINUTE, shard=unique[-1] % 4), unique)
    usual: dict[str, Any] = {
        "tenant": "acme",
        "schedule": Schedule.checked(cron=Cron.parse(cron), definition_id=id),
        "template": Template(destination=QUEUE, payload=Payload(text='{"order":1}')),
    }
    return Definition(
        id=id,
        state=State.ACTIVE,
        version=1,
        plan=1,
        created_at=examples.now,
        changed_at=examples.now,
        **(usual | fields),
    )


def everything(examples: Examples) -> Definition:
    plain = a_definition(examples)
    return replace(
        plain,
        schedule=Schedule.checked(
            cron=Cron.parse("*/7 9-17 * JAN,jul MON-FRI", "Europe/Prague"),
            definition_id=plain.id,
            start_at=examples.now + timedelta(days=1, milliseconds=1),
            end_at=examples.now + timedelta(days=400),
            max_runs=7,
            jitter_seconds=59,
        ),
        template=Template(
            depth=3,
            destination=Destination(
                type="webhook",
                address="https://example.com/hook?größe=1",
                method="PUT",
                headers=(("X-Order", "7"),),
            ),
            payload=Payload(key="a row of its own"),
            retry=RetryPolicy(max_attempts=20, initial_seconds=0.1, jitter=False),
            timeout_seconds=900,
            ack=Ack.EXPLICIT,
            expires_after=timedelta(seconds=90),
        ),
        overlap=Overlap.QUEUE,
        catch_up=CatchUp.ALL,
        catch_up_window=timedelta(hours=3),
        plan=4,
        runs_before=3,
        name="Rechnung № 7",
        tags=("🐈", "a b"),
        job_key="key",
    )


def runs_of(definition: Definition, number: int) -> list[Task]:
    """The first ones of its chain, each written by the one before it."""
    now = definition.changed_at
    run = RUNS.first(definition, now=now)
    assert run is not None
    runs = [run]
    while len(runs) < number:
        (run,) = follow(RUNS, run, definition, now=run.due_at).rows
        runs.append(run)
    return runs
