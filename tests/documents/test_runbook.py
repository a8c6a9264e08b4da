"""The commands of the runbook, run against the local stack in the place of prod."""

import re
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from chaos.game.runbook import asked_of_aws
from cli.local import aws
from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack
from tests.e2e.test_machines import failures, outcome
from tests.unit.test_runbook import OF_AWS, SETS, VARIABLES

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
# `aws` of the shell that sets the variables.
_SHELL: Final = 'aws() { "$PYTHON" -m tests.documents.aws "$@"; }'
# The executions of these commands.
_begun: Final[dict[str, str]] = {}


@pytest.fixture(scope="module")
def variables(stack: RunningStack) -> dict[str, str]:
    """The runbook's variables, set by its own lines in a shell whose `aws` speaks to the stack, and the beginning of an
    outage and the function of an alarm, which a person sets."""
    shown = "\n".join(f'echo "${name}"' for name in VARIABLES)
    ran = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", "\n".join([_SHELL, *map(local, SETS), shown])],
        cwd=ROOT,
        env=aws.environment(stack.place) | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    instant = datetime.now(UTC) - timedelta(minutes=3)
    return {
        "AWS_REGION": aws.REGION,
        "FUNCTION": "api",
        "INSTANT": instant.isoformat(),
        **dict(zip(VARIABLES, ran.stdout.splitlines(), strict=True)),
    }


def local(command: str) -> str:
    return command.replace("postdate-prod-", "postdate-local-").replace("/postdate/prod/", "/postdate/local/")


def answered(stack: RunningStack, variables: dict[str, str], command: str) -> dict[str, Any]:
    text = re.sub(r"\$(\w+)", lambda found: variables[found[1]], command)
    service, method, asked = asked_of_aws(shlex.split(local(text)))
    answer: dict[str, Any] = getattr(stack.aws(service), method)(**asked)
    return answer


def test_the_variables_name_the_parts_of_the_stack(stack: RunningStack, variables: dict[str, str]) -> None:
    sqs, arns = stack.aws("sqs"), {}
    for name in [each for each in VARIABLES if each.endswith(("_URL", "_ARN")) and each != "API_URL"]:
        queue = re.sub("_QUEUE|_URL|_ARN", "", name).lower().replace("_", "-")
        url = sqs.get_queue_url(QueueName=f"postdate-local-{queue}")["QueueUrl"]
        arns[queue] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        assert variables[name] == (url if name.endswith("_URL") else arns[queue])
    assert len(arns) >= 6
    mapping = stack.aws("lambda").get_event_source_mapping(UUID=variables["MAPPING"])
    assert mapping["EventSourceArn"] == arns["payments"]
    assert variables["API_URL"].startswith("http")
    assert 0 < time.time() - int(variables["SINCE"]) / 1000 < 2 * 3600


@pytest.mark.parametrize("command", HERE)
def test_a_command_of_the_runbook_is_answered(
    stack: RunningStack, variables: dict[str, str], command: str
) -> None:
    answer = answered(stack, variables, command)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    if command in STARTS:
        _begun[command] = answer["executionArn"]


@pytest.mark.parametrize("command", STARTS)
def test_a_machine_that_a_command_starts_ends_well(
    stack: RunningStack, variables: dict[str, str], command: str
) -> None:
    """The execution ran while the other commands were tried."""
    execution = _begun.get(command) or answered(stack, variables, command)["executionArn"]
    status, states, _ = outcome(stack, execution)
    assert (status, failures(stack, execution)) == ("SUCCEEDED", []), states


def test_a_command_is_left_out_only_while_the_runbook_has_it() -> None:
    """A command that is no longer in the runbook needs no reason."""
    assert NOT_HERE.keys() <= {command.split()[2] for command in OF_AWS}
