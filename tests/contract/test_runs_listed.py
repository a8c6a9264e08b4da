"""A definition's runs, from either end."""

from dataclasses import replace
from datetime import timedelta

from postdate.domain.definition import HOME_MINUTE
from postdate.domain.recurs import Recurs
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import KIND, Task
from postdate.stores.rows import item_key
from postdate.stores.tasks import Listing, Tasks, Written
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples, claim, die
from tests.listing import ids_listed, walked


def runs(examples: Examples, definition: str, number: int, *, tenant: str = "acme") -> list[Task]:
    found = []
    for place in range(number):
        due_at = examples.now + timedelta(minutes=place)
        recurs = Recurs(definition=definition, plan=1, at=due_at, number=place + 1)
        found.append(examples.task(due_at=due_at, tenant=tenant, recurs=recurs))
    return found


def test_all_runs_of_a_tenant_are_in_one_list_and_nothing_else_is(tasks: Tasks, examples: Examples) -> None:
    tenant = f"runs{examples.now:%Y%m%d%H}"
    plans = [item_id(KIND, Slot(minute=HOME_MINUTE, shard=0), bytes([each] * 10)) for each in (1, 2)]
    ours = [run for plan in plans for run in runs(examples, plan, 3, tenant=tenant)]
    delivered = runs(examples, "sub_1", 2, tenant=tenant)
    once = examples.task(tenant=tenant)
    tasks.add([*ours, *delivered, once, *runs(examples, plans[0], 2, tenant="other")])
    in_order = [run.id for run in sorted(ours, key=lambda run: (run.planned_at, run.id))]
    assert ids_listed(tasks, tenant, runs=True) == in_order
    assert walked(tasks, tenant, runs=True, limit=2, newest_first=True) == in_order[::-1]
    later = examples.now + timedelta(minutes=1)
    assert ids_listed(tasks, tenant, runs=True, since=later) == in_order[2:]
    assert ids_listed(tasks, tenant) == [once.id]


def test_a_run_that_an_earlier_release_wrote_is_listed_when_it_died(
    on_aws: OnAws, examples: Examples
) -> None:
    """The release before gave runs no place in the lists of a tenant."""
    tenant, tasks = f"earlier{examples.now:%Y%m%d%H}", on_aws.tasks
    plan = item_id(KIND, Slot(minute=HOME_MINUTE, shard=0), bytes([3] * 10))
    (run,) = runs(examples, plan, 1, tenant=tenant)
    tasks.add([run])
    on_aws.dynamodb.update_item(
        TableName=on_aws.names["items"],
        Key=item_key(run.id),
        UpdateExpression="REMOVE #place, tenant_listing",
        ExpressionAttributeNames={"#place": "place"},
    )
    assert ids_listed(tasks, tenant, runs=True) == []
    claimed = claim(run)
    assert tasks.commit([claimed]) == [Written.DONE]
    assert tasks.commit([die(claimed.after)]) == [Written.DONE]
    assert ids_listed(tasks, tenant, runs=True, listing=Listing.DEAD) == [run.id]
    assert ids_listed(tasks, tenant, runs=True) == [run.id]


def test_steps_of_an_operation_are_stored_and_in_no_list(tasks: Tasks, examples: Examples) -> None:
    definition = f"task_o{examples.now:%Y%m%d%H}"
    (run,) = runs(examples, definition, 1, tenant="operates")
    step = replace(run, id=run.id.replace("task_", "op_"))
    tasks.add([step])
    assert tasks.get(step.id) == step
    assert tasks.get_many([step.id]) == {step.id: step}
    assert tasks.runs_listed("operates", definition, after="", limit=10) == []
    assert ids_listed(tasks, "operates", limit=10) == []


def test_the_newest_runs_are_listed_first_page_after_page(tasks: Tasks, examples: Examples) -> None:
    a, b = (f"task_{name}{examples.now:%Y%m%d%H}" for name in "ab")
    ours = runs(examples, a, 7)
    tasks.add([*ours, *runs(examples, b, 3), *runs(examples, a, 3, tenant="other")])
    tasks.add([examples.task()])
    found: list[str] = []
    for _ in range(10):
        page = tasks.runs_back("acme", a, before=found[-1] if found else "", limit=3)
        assert len(page) <= 3
        found += page
    assert found == [task.id for task in reversed(ours)]
    assert tasks.runs_listed("acme", a, after="", limit=100) == found[::-1]
