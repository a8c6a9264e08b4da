"""Cases of `postdate smoke` that the local engine can answer; the others need an account of AWS."""

import json
from collections.abc import Iterable

import pytest

from cli.local import aws
from infra.environments import LOCAL
from smoke.run import CASES, Result, results
from tests.e2e.conftest import RunningStack

# The local engine takes reads beside writes, leaves no key unread, simulates no policies, calls no topic, and has no
# alarm in the template that could take parameters back.
LOCALLY = ("refusal-and-its-row", "insert-of-a-row-that-exists", "rollback", "burst")


def ran(stack: RunningStack, only: Iterable[str], *, patience_seconds: float = 60) -> dict[str, Result]:
    with aws.speaking_to(stack.place):
        found = results(
            LOCAL,
            stack.aws,
            api_url=stack.api_url,
            tasks=150,
            patience_seconds=patience_seconds,
            only=only,
        )
        return {each.case: each for each in found}


def test_the_cases_hold_and_leave_nothing(stack: RunningStack) -> None:
    found = ran(stack, LOCALLY)
    assert {name: each.observed for name, each in found.items() if not each.ok} == {}
    assert "150 tasks" in found["burst"].observed
    tables = stack.aws("dynamodb").list_tables()["TableNames"]
    queues = stack.aws("sqs").list_queues().get("QueueUrls", [])
    assert [name for name in (*tables, *queues) if "smoke" in name] == []


@pytest.mark.parametrize("case", sorted(set(CASES) - set(LOCALLY)))
def test_a_case_that_does_not_hold_says_what_it_observed(stack: RunningStack, case: str) -> None:
    (result,) = ran(stack, [case], patience_seconds=0).values()
    assert not result.ok, json.dumps(result)
    assert result.observed
