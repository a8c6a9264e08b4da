"""Behaviour when parts die or are missing, on the running stack."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_tasks import ended


def workers(stack: RunningStack, function: str) -> list[int]:
    """The processes of one function, found by the folder that the engine unpacked it into."""
    mark = f"{stack.place.temporary}/ministack-lambda-postdate-local-{function}-"
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            if mark in command:
                found.append(int(entry.name))
    return found


def test_a_worker_killed_in_the_middle_of_a_delivery(stack: RunningStack, receiver: Receiver) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/hang-once"}
    task_id = (
        stack.client().post("/api/v1/tasks", {"delay_seconds": 0, "target": target}).expect(201)["task_id"]
    )
    assert len(receiver.wait_for(task_id)) == 1
    for pid in workers(stack, "run-tasks"):
        os.kill(pid, signal.SIGKILL)

    first, second = receiver.wait_for(task_id, 2, seconds=90)
    assert (first.headers["postdate-token"], second.headers["postdate-token"]) == ("1", "2")
    task = ended(stack, task_id)
    assert (task["status"], task["attempts"]) == ("SUCCEEDED", 2)
    assert [line["reason"] for line in task["history"]][2] == "its worker died"


def test_a_function_without_its_grant_is_denied(stack: RunningStack) -> None:
    """The roles of the template are enforced: taken away, a grant is missed."""
    iam, aws = stack.aws("iam"), stack.aws("lambda")
    role = aws.get_function_configuration(FunctionName="postdate-local-api")["Role"].rpartition("/")[2]
    (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    path = "/api/v1/tasks/task_0wgzhr03ss5tsre836dt2dqk"
    assert stack.client().get(path).status == 404
    statements = [each for each in document["Statement"] if "dynamodb:GetItem" not in str(each["Action"])]
    assert len(statements) < len(document["Statement"])
    put = {"RoleName": role, "PolicyName": policy}
    try:
        iam.put_role_policy(**put, PolicyDocument=_text(document | {"Statement": statements}))
        assert stack.client().get(path).status == 500
        assert "AccessDenied" in _logged(stack, "postdate-local-api")
    finally:
        iam.put_role_policy(**put, PolicyDocument=_text(document))
    assert stack.client().get(path).status == 404


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document)


def _logged(stack: RunningStack, function: str) -> str:
    events = stack.aws("logs").filter_log_events(logGroupName=f"/aws/lambda/{function}")["events"]
    return "\n".join(event["message"] for event in events)
