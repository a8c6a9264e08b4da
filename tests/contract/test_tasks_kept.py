"""A task comes back from its store as it went in."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain.errors import NotFound
from postdate.domain.item import Phase
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Destination, HistoryLine, Payload, State, Task
from postdate.domain.transitions import HISTORY_LINES_MAX
from postdate.stores.tasks import Tasks, Written
from tests.boundary import Boundary
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples, claim, retry, succeed


def everything(examples: Examples) -> Task:
    return examples.task(
        destination=Destination(
            type="webhook",
            address="https://example.com/hook?größe=1",
            method="PUT",
            headers=(("X-Order", "7"), ("Authorization", "Bearer a:b c")),
        ),
        payload=Payload(text='{"name":"Žofie 🐈 \\u0000","n":1e3}'),
        retry=RetryPolicy(
            max_attempts=20, initial_seconds=0.1, multiplier=1.5, max_seconds=86_400.0, jitter=False
        ),
        timeout_seconds=900,
        name="Rechnung № 7 'für' \"Ölaf\"",
        tags=("🐈", "a b", "größe"),
        job_key="key:1/ü",
        depth=4,
    )


def test_a_new_task_is_read_back_as_it_was_written(tasks: Tasks, examples: Examples) -> None:
    bus = Destination(type="eventbridge", address="postdate-destination-a", detail_type="Größe fällig")
    written = [examples.task(), everything(examples), examples.task(destination=bus)]
    assert tasks.add(written) == [Written.DONE] * 3
    for task in written:
        assert tasks.get(task.id) == task


@pytest.mark.parametrize("payload", [Payload(key="a row of its own"), Payload(ref="s3://b/acme/a")], ids=repr)
def test_a_task_is_read_back_the_same_after_each_change_of_its_life(
    tasks: Tasks, examples: Examples, payload: Payload
) -> None:
    task = replace(everything(examples), payload=payload)
    tasks.add([task])
    for change in (claim, lambda task: retry(task, after=timedelta(hours=2)), claim, succeed):
        transition = change(task)
        assert tasks.commit([transition]) == [Written.DONE]
        task = transition.after
        assert tasks.get(task.id) == task
    assert task.state is State.SUCCEEDED
    assert (task.attempts, task.lease_until, task.error) == (2, None, None)


def test_a_long_history_with_any_text_in_it_is_kept_whole(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    lines = tuple(
        HistoryLine(
            version=number,
            at=examples.now,
            to=State.RUNNING if number % 2 else State.RETRYING,
            why=f"Grund {number}: 🐈 x\ny" if number % 2 else "told \x1fby a receiver\x1f 12 x",
            attempt=number,
            worker=f"worker {number}" if number % 2 else None,
            lease_until=examples.now + timedelta(milliseconds=40_001) if number % 2 else None,
        )
        for number in range(2, HISTORY_LINES_MAX + 1)
    )
    task = replace(task, history=(*task.history, *lines, HistoryLine(
        version=HISTORY_LINES_MAX + 1, at=examples.now, to=State.DEAD, why="", attempt=0
    )))  # fmt: skip
    tasks.add([task])
    assert tasks.get(task.id) == task


def test_the_second_of_two_tasks_with_one_id_is_refused_and_changes_nothing(
    tasks: Tasks, examples: Examples
) -> None:
    first, other = examples.task(), examples.task()
    second = replace(first, payload=Payload(text='{"order":2}'))
    assert tasks.add([first]) == [Written.DONE]
    assert tasks.add([second, other]) == [Written.CONFLICT, Written.DONE]
    assert tasks.get(first.id) == first
    assert tasks.get(other.id) == other


def test_a_task_that_was_never_stored_is_not_found(tasks: Tasks, examples: Examples) -> None:
    unknown = examples.task()
    assert tasks.get(unknown.id) is None
    assert tasks.get_many([unknown.id]) == {}
    assert tasks.get_many([]) == {}
    assert tasks.add([]) == []


@pytest.mark.parametrize("id", ["", "task_", "task_nonsense", "task_0000000000000000000000ui", "x" * 3000])
def test_an_id_that_is_none_of_ours_is_not_found(tasks: Tasks, examples: Examples, id: str) -> None:
    task = examples.task()
    tasks.add([task])
    with pytest.raises(NotFound):
        tasks.get(id)
    assert tasks.get_many([id, task.id]) == {task.id: task}


def test_many_are_read_at_once_however_many_and_however_often_named(tasks: Tasks, examples: Examples) -> None:
    stored = examples.tasks(130)
    assert tasks.add(stored) == [Written.DONE] * 130
    asked = [task.id for task in [*stored[:5], *stored, *stored[:5], examples.task()]]
    assert tasks.get_many(asked) == {task.id: task for task in stored}
    assert tasks.get_many(iter(asked[:2])) == {task.id: task for task in stored[:2]}


def test_a_task_is_read_as_it_is_now_wherever_that_decides(
    on_aws: OnAws, boundary: Boundary, examples: Examples
) -> None:
    """The engine is never behind, so what is asked of it has to say so."""
    task = examples.task()
    on_aws.tasks.get(task.id)
    on_aws.tasks.get_many([task.id])
    list(on_aws.timetable.due_in(task.home))
    (read,), (many,) = (boundary.asked(name) for name in ("GetItem", "BatchGetItem"))
    queries = boundary.asked("Query")
    assert [each["TableName"] for each in queries] == [on_aws.names["items"], on_aws.names["payments"]]
    assert [each["ConsistentRead"] for each in (read, *queries)] == [True] * 3
    assert [each["ConsistentRead"] for each in many["RequestItems"].values()] == [True]


def test_a_row_that_only_newer_code_can_read_hides_no_other_and_is_called(
    on_aws: OnAws, examples: Examples
) -> None:
    known, newer = examples.tasks(2, shard=0)
    on_aws.tasks.add([known, newer])
    on_aws.dynamodb.update_item(
        TableName=on_aws.names["items"],
        Key={"slot": {"S": newer.home.key}, "id": {"S": newer.id}},
        UpdateExpression="SET #status = :status",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":status": {"S": "HIBERNATING"}},
    )
    assert on_aws.tasks.get_many([known.id, newer.id]) == {known.id: known}
    found = {entry.due.id: entry.phase for entry in on_aws.timetable.due_in(known.home)}
    assert found == {known.id: Phase.WAITS, newer.id: Phase.WAITS}


def test_a_small_payload_fits_its_tasks_row_and_a_large_one_does_not(
    tasks: Tasks, examples: Examples
) -> None:
    assert tasks.fits(examples.task(payload=Payload(text="x" * 100)))
    assert not tasks.fits(examples.task(payload=Payload(text="x" * 1000)))
    assert not tasks.fits(examples.task(payload=Payload(text="🐈" * 250)))
