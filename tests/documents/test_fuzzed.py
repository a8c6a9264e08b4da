"""A fuzzer asks the deployed API as the API's own description allows, and against it, with the keys of two tenants.

No answer may be a 5xx, none may differ from its description, and no tenant may reach what another one made.
`CONFIGURATION` and `CHECKS_LEFT_OUT` name everything that the fuzzer would report and that is right, with the reasons.
The seed is fixed, but ids and instants in answers are not, so two runs differ by a few requests.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from cli import tenants
from cli.local import aws
from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

FUZZER: Final = Path(sys.executable).with_name("schemathesis")
SEED: Final = 1
WORKERS: Final = 4
SECONDS_MAX: Final = 150
# Each operation is asked with its examples, with the edges of its schema, at random, and along its links.
PHASES: Final = "examples,coverage,fuzzing,stateful"
# DELETE cancels a task or a payment, which stays readable as CANCELLED; the fuzzer expects 404 after a DELETE.
CHECKS_LEFT_OUT: Final = "use_after_free"
# The internal route takes its own token, with which nothing can be made that a link would lead to.
PHASES_INTERNAL: Final = "examples,coverage,fuzzing"
CONFIGURATION: Final = """
hooks = "tests.documents.fuzzed"
request-timeout = 30.0
generation.max-examples = 3

[phases.coverage]
# One unknown method an operation: the table of routes, not the operation, answers all of them.
unexpected-methods = ["PUT"]

[phases.stateful]
max-steps = 20
generation.max-examples = 50

[auth.wfc]
path = "{keys}"
user = "demo"
peers = ["demo", "other"]

# A schema cannot say which instants are ahead, which names are zones, which hosts may be called, and which fields
# belong together in a cron. The API may refuse what the schema allows, but with no other status than these.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "412", "413", "422"]

# A batch is answered 200, and each wrong item of it with a problem of its own.
[[operations]]
include-operation-id = ["openAccounts", "registerTasks", "schedulePayments"]
[operations.checks.negative_data_rejection]
expected-statuses = ["200", "4xx"]
"""


def key(name: str, header: str, value: str) -> dict[str, object]:
    return {"name": name, "fixedHeaders": [{"name": header, "value": value}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fuzzed:
    """Two tenants for the fuzzer alone: it rotates signing secrets, pauses flow keys and revokes keys. `kept` are the
    ids of the keys that it asks with."""

    admin: str
    other: str
    accounts: tuple[str, ...] = ("fuzzed-payer", "fuzzed-payee")

    @property
    def kept(self) -> list[str]:
        return [text.split("_")[1] for text in (self.admin, self.other)]


@pytest.fixture(scope="module")
def fuzzed(stack: RunningStack) -> Fuzzed:
    table, keys = stack.tables["tenants"], stack.key_table
    queue = stack.destination_queue_url
    with aws.speaking_to(stack.place):
        own = tenants.tenant(
            table, "fuzzed", vault=stack.vault, destinations=[(tenants.SQS, queue)], default_queue=queue
        )
        other = tenants.tenant(table, "fuzzed-other", vault=stack.vault)
        made = Fuzzed(
            admin=tenants.key(keys, own.id, tenants.SCOPES), other=tenants.key(keys, other.id, tenants.USUAL)
        )
    admin = stack.client(made.admin)
    for name in made.accounts:
        admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
        path = f"/api/v1/accounts/{name}/deposits"
        admin.post(path, {"amount": 1_000_000_000}, idempotency_key=name).expect(201)
    return made


def fuzz(
    stack: RunningStack,
    fuzzed: Fuzzed,
    place: Path,
    keys: list[dict[str, object]],
    *only: str,
    phases: str = PHASES,
) -> str:
    """Returns the fuzzer's report; fails if the fuzzer found anything. What the fuzzer keeps stays in `place`."""
    (place / "keys.json").write_text(json.dumps({"auth": keys}))
    (place / "schemathesis.toml").write_text(CONFIGURATION.format(keys=place / "keys.json"))
    told = subprocess.run(
        [
            *(FUZZER, "--no-color", "--config-file", place / "schemathesis.toml", "run"),
            *(f"{stack.api_url}/openapi.json", "--url", stack.api_url, "--checks", "all", "--phases", phases),
            *("--exclude-checks", CHECKS_LEFT_OUT, "--continue-on-failure"),
            *("--seed", str(SEED), "--workers", str(WORKERS), *only),
        ],
        cwd=place,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "FUZZED_ACCOUNTS": json.dumps(fuzzed.accounts),
            "FUZZED_KEYS_KEPT": json.dumps(fuzzed.kept),
            "FUZZED_QUEUE_URL": stack.destination_queue_url,
        },
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    (place / "told").write_text(told.stdout)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_a_fuzzer_with_two_tenants_keys_gets_no_5xx_and_only_described_answers(
    stack: RunningStack, fuzzed: Fuzzed, tmp_path: Path
) -> None:
    keys = [
        key("demo", "Authorization", f"Bearer {fuzzed.admin}"),
        key("other", "Authorization", f"Bearer {fuzzed.other}"),
    ]
    described = stack.client("").get("/openapi.json").expect(200)["paths"]
    operations = sum(len(methods) for methods in described.values())
    # The fuzzer has read the description already and does not ask for it again.
    assert f"Tested: {operations - 1}" in fuzz(stack, fuzzed, tmp_path, keys)


def test_a_fuzzer_with_the_internal_token_finds_nothing_on_the_internal_route(
    stack: RunningStack, fuzzed: Fuzzed, tmp_path: Path
) -> None:
    keys = [
        key("demo", "X-Internal-Auth", stack.internal_token),
        key("other", "X-Internal-Auth", f"{stack.internal_token}x"),
    ]
    fuzz(stack, fuzzed, tmp_path, keys, "--include-operation-id", "executePayment", phases=PHASES_INTERNAL)
