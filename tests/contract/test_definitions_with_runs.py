"""A change of a definition and the end of its run to come are one: both are written, or neither is."""

from dataclasses import replace

import pytest

from postdate.domain import definition as plans
from postdate.domain import transitions
from postdate.domain.definition import Definition, Reached
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Tasks, Written
from tests.boundary import Boundary, done_but_500, lost, refused
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples, claim
from tests.contract.recurring import a_definition, runs_of

SDK_TRIES = 5
REACHED = Reached(runs=3, not_over=("run_a", "run_b"))


@pytest.fixture
def definition(definitions: Definitions, examples: Examples) -> Definition:
    found = a_definition(examples)
    assert definitions.add(found) is Written.DONE
    return found


@pytest.fixture
def run(tasks: Tasks, definition: Definition) -> Task:
    (found,) = runs_of(definition, 1)
    assert tasks.add([found]) == [Written.DONE]
    return found


def paused(definition: Definition) -> Definition:
    after = plans.pause(definition, now=definition.changed_at, reached=REACHED, reason=None)
    assert after is not None
    return after


def skipped(run: Task) -> Transition:
    return transitions.skip(run, now=run.created_at, why="paused")


def test_both_are_written(tasks: Tasks, definitions: Definitions, definition: Definition, run: Task) -> None:
    assert definitions.change(definition, paused(definition), skipped(run)) is Written.DONE
    assert definitions.get(definition.id) == paused(definition)
    assert tasks.get(run.id) == skipped(run).after
    assert definitions.change(definition, paused(definition), skipped(run)) is Written.DONE


def test_neither_is_written_once_the_run_has_begun(
    tasks: Tasks, definitions: Definitions, definition: Definition, run: Task
) -> None:
    tasks.commit([claim(run)])
    assert definitions.change(definition, paused(definition), skipped(run)) is Written.CONFLICT
    assert (definitions.get(definition.id), tasks.get(run.id)) == (definition, claim(run).after)


def test_neither_is_written_once_the_definition_has_changed(
    tasks: Tasks, definitions: Definitions, definition: Definition, run: Task
) -> None:
    changed = plans.change(definition, now=definition.changed_at, reached=REACHED)
    definitions.change(definition, changed)
    assert definitions.change(definition, paused(definition), skipped(run)) is Written.CONFLICT
    assert (definitions.get(definition.id), tasks.get(run.id)) == (changed, run)


@pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])
@pytest.mark.parametrize("times", [1, SDK_TRIES])
def test_a_write_whose_answer_was_lost_is_known_as_ones_own(
    on_aws: OnAws, boundary: Boundary, examples: Examples, fault: object, times: int
) -> None:
    definition = a_definition(examples)
    (run,) = runs_of(definition, 1)
    on_aws.definitions.add(definition)
    on_aws.tasks.add([run])
    boundary.fail("ExecuteTransaction", *[fault] * times)  # type: ignore[list-item]
    written = on_aws.definitions.change(definition, paused(definition), skipped(run))
    assert written is (Written.DONE if times == 1 else Written.UNAVAILABLE)
    assert on_aws.definitions.change(definition, paused(definition), skipped(run)) is Written.DONE
    assert on_aws.tasks.get(run.id) == skipped(run).after


def test_a_conflict_with_another_transaction_is_no_answer(
    on_aws: OnAws, boundary: Boundary, examples: Examples
) -> None:
    definition = a_definition(examples)
    (run,) = runs_of(definition, 1)
    on_aws.definitions.add(definition)
    on_aws.tasks.add([run])
    boundary.fail("ExecuteTransaction", *[refused("ThrottlingException")] * SDK_TRIES)
    assert on_aws.definitions.change(definition, paused(definition), skipped(run)) is Written.UNAVAILABLE


def test_how_far_its_chains_have_come_is_kept(definitions: Definitions, definition: Definition) -> None:
    definitions.change(definition, paused(definition))
    kept = definitions.get(definition.id)
    assert kept is not None
    assert (kept.runs_before, kept.before) == (REACHED.runs, REACHED.not_over)
    resumed = plans.resume(kept, now=kept.changed_at, reached=Reached(runs=3))
    assert resumed is not None
    definitions.change(kept, resumed)
    assert definitions.get(definition.id) == replace(resumed, before=())
