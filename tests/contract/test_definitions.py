"""Definitions come back from their store as they went in, change only from what they were, and are no tasks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import definition as plans
from postdate.domain import instants
from postdate.domain.definition import Definition, Reached, State
from postdate.domain.errors import Unavailable
from postdate.domain.task import LIFETIME, Payload
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Listing, Tasks, Written
from tests.boundary import Boundary, done_but_500, lost, refused
from tests.contract.conftest import RETENTION, OnAws
from tests.contract.examples import Examples
from tests.contract.recurring import a_definition, everything
from tests.listing import ids_listed, walked

SDK_TRIES = 5
REACHED = Reached(runs=3, not_over=("run_a", "run_b"))


def paused(definition: Definition) -> Definition:
    after = plans.pause(
        definition, now=definition.changed_at + timedelta(seconds=5), reached=REACHED, reason="release — 7"
    )
    assert after is not None
    return after


def cancelled(definition: Definition) -> Definition:
    after = plans.cancel(definition, now=definition.changed_at + timedelta(seconds=5))
    assert after is not None
    return after


def test_a_definition_is_read_back_as_it_was_written(definitions: Definitions, examples: Examples) -> None:
    plain, full = a_definition(examples), everything(examples)
    assert [definitions.add(each) for each in (plain, full)] == [Written.DONE, Written.DONE]
    assert definitions.get(plain.id) == plain
    assert definitions.get(full.id) == full
    assert definitions.get_many([full.id, plain.id, full.id]) == {plain.id: plain, full.id: full}
    payload = Payload(ref="s3://b/acme/a")
    refers = replace(plain, version=2, template=replace(plain.template, payload=payload))
    assert definitions.change(plain, refers) is Written.DONE
    assert definitions.get(plain.id) == refers


def test_a_definition_is_read_back_the_same_after_each_change_of_its_life(
    definitions: Definitions, examples: Examples
) -> None:
    definition = everything(examples)
    definitions.add(definition)
    now = examples.now + timedelta(minutes=1)
    for after in (
        held := paused(definition),
        resumed := plans.resume(held, now=now, reached=Reached(runs=5)),
        changed := plans.change(resumed, now=now, reached=Reached(runs=6), name=None, tags=()),
        finished := plans.finish(changed, now=now, reached=Reached(runs=7)),
        cancelled(finished),
    ):
        assert after is not None
        assert definitions.change(definition, after) == Written.DONE
        definition = after
        assert definitions.get(definition.id) == definition
    assert definition.state is State.CANCELLED


def test_the_second_of_two_changes_from_one_version_is_refused(
    definitions: Definitions, examples: Examples
) -> None:
    definition = a_definition(examples)
    definitions.add(definition)
    assert definitions.change(definition, paused(definition)) == Written.DONE
    assert definitions.change(definition, cancelled(definition)) == Written.CONFLICT
    assert definitions.get(definition.id) == paused(definition)


def test_a_change_of_what_was_never_stored_is_refused(definitions: Definitions, examples: Examples) -> None:
    definition = a_definition(examples)
    assert definitions.change(definition, paused(definition)) == Written.CONFLICT
    assert definitions.get(definition.id) is None


def test_a_definition_or_a_change_that_is_stored_already_counts_as_done(
    definitions: Definitions, examples: Examples
) -> None:
    definition = everything(examples)
    assert [definitions.add(definition) for _ in range(2)] == [Written.DONE] * 2
    assert [definitions.change(definition, paused(definition)) for _ in range(2)] == [Written.DONE] * 2


def test_another_definition_under_the_same_id_is_refused_and_changes_nothing(
    definitions: Definitions, examples: Examples
) -> None:
    definition = a_definition(examples)
    template = replace(definition.template, payload=Payload(text='{"order":2}'))
    definitions.add(definition)
    assert definitions.add(replace(definition, template=template)) == Written.CONFLICT
    assert definitions.get(definition.id) == definition


@pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])
@pytest.mark.parametrize("times", [1, SDK_TRIES])
@pytest.mark.usefixtures("refusal")
def test_a_write_whose_answer_was_lost_is_known_as_ones_own(
    on_aws: OnAws, boundary: Boundary, examples: Examples, fault: object, times: int
) -> None:
    definition = everything(examples)
    boundary.fail("BatchExecuteStatement", *[fault] * times)  # type: ignore[list-item]
    written = on_aws.definitions.add(definition)
    assert written == (Written.DONE if times == 1 else Written.UNAVAILABLE)
    assert on_aws.definitions.add(definition) == Written.DONE
    boundary.fail("BatchExecuteStatement", *[fault] * times)  # type: ignore[list-item]
    written = on_aws.definitions.change(definition, paused(definition))
    assert written == (Written.DONE if times == 1 else Written.UNAVAILABLE)
    assert on_aws.definitions.change(definition, paused(definition)) == Written.DONE
    assert on_aws.definitions.get(definition.id) == paused(definition)


def test_a_throttled_write_is_unavailable(on_aws: OnAws, boundary: Boundary, examples: Examples) -> None:
    definition = a_definition(examples)
    boundary.fail("BatchExecuteStatement", *[refused("ThrottlingException")] * SDK_TRIES)
    assert on_aws.definitions.add(definition) == Written.UNAVAILABLE
    on_aws.definitions.add(definition)
    boundary.fail("BatchExecuteStatement", lost)
    boundary.fail("GetItem", *[refused("ThrottlingException")] * SDK_TRIES)
    assert on_aws.definitions.add(definition) == Written.UNAVAILABLE


@pytest.mark.parametrize("id", ["", "task_", "task_nonsense", "x" * 3000])
def test_an_id_that_is_none_of_ours_names_no_definition(
    definitions: Definitions, examples: Examples, id: str
) -> None:
    definition = a_definition(examples)
    definitions.add(definition)
    assert definitions.get(id) is None
    assert definitions.get_many([id, definition.id]) == {definition.id: definition}


def test_a_definition_is_no_task_and_a_task_no_definition(
    tasks: Tasks, definitions: Definitions, examples: Examples
) -> None:
    task, definition = examples.task(), a_definition(examples)
    tasks.add([task])
    definitions.add(definition)
    assert tasks.get(definition.id) is None
    assert tasks.get_many([definition.id, task.id]) == {task.id: task}
    assert definitions.get(task.id) is None
    assert definitions.get_many([task.id, definition.id]) == {definition.id: definition}


def test_definitions_are_listed_with_their_tenants_tasks_and_before_them(
    tasks: Tasks, definitions: Definitions, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    mine = [a_definition(examples, tenant=tenant, listed_under=place % 2) for place in range(4)]
    once = examples.tasks(3, tenant=tenant)
    for each in [*mine, a_definition(examples, tenant=f"{tenant}-2")]:
        definitions.add(each)
    tasks.add(once)
    expected = [*sorted(each.id for each in mine), *sorted(task.id for task in once)]
    assert ids_listed(tasks, tenant, limit=100) == expected
    assert walked(tasks, tenant, limit=2) == expected
    assert walked(tasks, tenant, limit=2, newest_first=True) == expected[::-1]
    assert walked(tasks, tenant, limit=2, since=instants.from_milliseconds(1)) == expected[4:]


def test_a_cancelled_definition_is_listed_among_what_is_cancelled(
    tasks: Tasks, definitions: Definitions, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    first, second = sorted(
        (a_definition(examples, tenant=tenant) for _ in range(2)), key=lambda each: each.id
    )
    for each in (first, second):
        definitions.add(each)
    assert ids_listed(tasks, tenant, listing=Listing.CANCELLED) == []
    definitions.change(second, cancelled(second))
    assert ids_listed(tasks, tenant, listing=Listing.CANCELLED) == [second.id]
    assert ids_listed(tasks, tenant) == [first.id, second.id]


def test_a_definition_is_read_as_it_is_now(on_aws: OnAws, boundary: Boundary, examples: Examples) -> None:
    definition = a_definition(examples)
    on_aws.definitions.get(definition.id)
    on_aws.definitions.get_many([definition.id])
    (read,), (many,) = boundary.asked("GetItem"), boundary.asked("BatchGetItem")
    assert read["ConsistentRead"]
    assert [each["ConsistentRead"] for each in many["RequestItems"].values()] == [True]


def test_a_definition_that_only_newer_code_can_read_hides_no_other_and_does_not_count_as_missing(
    on_aws: OnAws, examples: Examples
) -> None:
    known, newer = a_definition(examples), a_definition(examples)
    for each in (known, newer):
        on_aws.definitions.add(each)
    set_status(on_aws, newer, "HIBERNATING")
    assert on_aws.definitions.get_many([known.id, newer.id]) == {known.id: known}
    with pytest.raises(Unavailable):
        on_aws.definitions.get(newer.id)


def set_status(on_aws: OnAws, definition: Definition, status: str) -> None:
    on_aws.dynamodb.update_item(
        TableName=on_aws.names["items"],
        Key=key(definition),
        UpdateExpression="SET #status = :status",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":status": {"S": status}},
    )


def key(definition: Definition) -> dict[str, dict[str, str]]:
    return {"slot": {"S": definition.home.key}, "id": {"S": definition.id}}


def expires(on_aws: OnAws, definition: Definition) -> int | None:
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["items"], Key=key(definition))["Item"]
    return int(row["expires_at"]["N"]) if "expires_at" in row else None


def test_a_definition_is_kept_until_some_time_after_its_end(on_aws: OnAws, examples: Examples) -> None:
    definition = a_definition(examples)
    on_aws.definitions.add(definition)
    finished = plans.finish(definition, now=examples.now, reached=REACHED)
    changed = plans.change(finished, now=examples.now, reached=REACHED)
    held, ended = paused(changed), cancelled(paused(changed))
    told = [expires(on_aws, definition)]
    for before, after in ((definition, finished), (finished, changed), (changed, held), (held, ended)):
        assert on_aws.definitions.change(before, after) == Written.DONE
        told.append(expires(on_aws, definition))
    kept = [
        int((finished.changed_at + RETENTION + LIFETIME).timestamp()),
        int((ended.changed_at + RETENTION).timestamp()),
    ]
    assert told == [None, kept[0], None, None, kept[1]]
