"""Clients generated from the served description register a payment, a task, a cron and a job."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

BIN: Final = Path(sys.executable).parent
ACCOUNTS: Final = ("generated-payer", "generated-payee")


@pytest.fixture(scope="module", autouse=True)
def _accounts(stack: RunningStack) -> None:
    admin = stack.client(stack.admin_key)
    for name in ACCOUNTS:
        admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
        path = f"/api/v1/accounts/{name}/deposits"
        admin.post(path, {"amount": 100}, idempotency_key=name).expect(201)


@pytest.fixture
def description(stack: RunningStack, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(stack.client("").get("/openapi.json").expect(200)))
    return path


def run(*command: object, **environment: str) -> str:
    ran = subprocess.run(
        [str(part) for part in command], env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def registered(stack: RunningStack, script: str, place: Path) -> None:
    """Runs the script with the generated code of `place`, and finds what it registered."""
    told = run(
        *(sys.executable, ROOT / "tests/documents" / script, stack.api_url, stack.api_key, *ACCOUNTS),
        stack.destination_queue_url,
        PYTHONPATH=f"{place}:{ROOT}",
    )
    payment, task, plan, job = json.loads(told)
    client = stack.client()
    assert client.get(f"/api/v1/payments/{payment}").expect(200)["amount"] == 7
    assert client.get(f"/api/v1/tasks/{task}").expect(200)["payload"] == {"n": 1}
    found = client.get(f"/api/v1/tasks/{plan}").expect(200)
    assert (found["cron"], found["timezone"]) == ("0 6 * * *", "Europe/Rome")
    found = client.get(f"/v1/jobs/{job}").expect(200)
    assert found["status"] == "PENDING"
    assert found["target"] == {"type": "sqs", "queueUrl": stack.destination_queue_url}
    for id in (task, plan, job):
        client.delete(f"/api/v1/tasks/{id}").expect(200)


def test_the_client_of_openapi_python_client_registers(
    stack: RunningStack, description: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"post_hooks": []}))
    run(
        *(BIN / "openapi-python-client", "generate", "--path", description, "--config", settings),
        *("--meta", "none", "--output-path", tmp_path / "generated", "--fail-on-warning"),
    )
    registered(stack, "generated_client.py", tmp_path)


def test_the_models_of_datamodel_code_generator_register(
    stack: RunningStack, description: Path, tmp_path: Path
) -> None:
    run(
        *(BIN / "datamodel-codegen", "--input", description, "--input-file-type", "openapi"),
        *("--output", tmp_path / "models.py", "--output-model-type", "pydantic_v2.BaseModel"),
        *("--target-python-version", "3.11", "--formatters", "builtin"),
    )
    registered(stack, "generated_models.py", tmp_path)
