"""The commands of the runbook, run against the local stack in the place of prod."""

import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from chaos.game.runbook import asked_of_aws
from tests.e2e.conftest import RunningStack
from tests.e2e.test_machines import failures, outcome
from tests.unit.test_runbook import OF_AWS

_NO_RULES: Final = (
    "The engine has no rules that mute alarms: nothing on the local stack tells anybody of an alarm."
)
# The local engine lacks these, and why. Only the models of AWS's services check them, in tests/unit/test_runbook.py.
NOT_HERE: Final = {
    "delete-alarm-mute-rule": _NO_RULES,
    "describe-query-definitions": "The engine has no saved queries: it has no Logs Insights.",
    "list-alarm-mute-rules": _NO_RULES,
    "request-service-quota-increase": "The engine has no quotas.",
    "start-message-move-task": "The engine moves no messages by itself: `postdate redrive` is tried there instead.",
}
HERE: Final = [command for command in OF_AWS if command.split()[2] not in NOT_HERE]
STARTS: Final = [command for command in HERE if command.split()[2] == "start-execution"]
# The executions of these commands.
_begun: Final[dict[str, str]] = {}


def given(stack: RunningStack, name: str) -> str:
    """The value of a variable that an operator sets before the command."""
    if name == "ACCOUNT":
        return str(stack.aws("sts").get_caller_identity()["Account"])
    if name == "AWS_REGION":
        return str(stack.aws("sqs").meta.region_name)
    if name == "INSTANT":
        return (datetime.now(UTC) - timedelta(minutes=3)).isoformat()
    if name == "MAPPING":
        found = stack.aws("lambda").list_event_source_mappings(FunctionName="postdate-local-settle")
        return str(found["EventSourceMappings"][0]["UUID"])
    queue = name.removesuffix("_QUEUE_URL").removesuffix("_URL").lower().replace("_", "-")
    return str(stack.aws("sqs").get_queue_url(QueueName=f"postdate-local-{queue}")["QueueUrl"])


def answered(stack: RunningStack, command: str) -> dict[str, Any]:
    text = re.sub(r"\$(\w+)", lambda found: given(stack, found[1]), command)
    local = text.replace("postdate-prod-", "postdate-local-").replace("/postdate/prod/", "/postdate/local/")
    service, method, asked = asked_of_aws(shlex.split(local))
    answer: dict[str, Any] = getattr(stack.aws(service), method)(**asked)
    return answer


@pytest.mark.parametrize("command", HERE)
def test_a_command_of_the_runbook_is_answered(stack: RunningStack, command: str) -> None:
    answer = answered(stack, command)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    if command in STARTS:
        _begun[command] = answer["executionArn"]


@pytest.mark.parametrize("command", STARTS)
def test_a_machine_that_a_command_starts_ends_well(stack: RunningStack, command: str) -> None:
    """The execution ran while the other commands were tried."""
    execution = _begun.get(command) or answered(stack, command)["executionArn"]
    status, states, _ = outcome(stack, execution)
    assert (status, failures(stack, execution)) == ("SUCCEEDED", []), states


def test_a_command_is_left_out_only_while_the_runbook_has_it() -> None:
    """A command that is no longer in the runbook needs no reason."""
    assert NOT_HERE.keys() <= {command.split()[2] for command in OF_AWS}
