"""A fuzzer asks the deployed API as the API's own description allows, and against it, with the keys of two tenants.

No answer may be a 5xx, none may differ from its description, and no tenant may reach what another one made.
`CONFIGURATION` and `CHECKS_LEFT_OUT` name everything that the fuzzer would report and that is right, with the reasons.
The seed is fixed, but ids and instants in answers are not, so two runs differ by a few requests.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
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


# Refusals of a kind of key depend on the operation and hardly on the values.
PHASES_OF_KINDS: Final = "examples,coverage"


def key(name: str, *headers: tuple[str, str]) -> dict[str, object]:
    return {"name": name, "fixedHeaders": [{"name": header, "value": value} for header, value in headers]}


def bearer(text: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {text}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fuzzed:
    """Two tenants for the fuzzer alone: it rotates signing secrets, pauses flow keys and revokes keys. `kept` are the
    ids of the keys that it asks with."""

    admin: str
    other: str
    accounts: tuple[str, ...] = ("fuzzed-payer", "fuzzed-payee")
    spared: tuple[str, ...] = ()

    @property
    def kept(self) -> list[str]:
        return [text.split("_")[1] for text in (self.admin, self.other, *self.spared)]


def made(stack: RunningStack, name: str) -> Fuzzed:
    """A tenant of this name with two accounts, and another one beside it."""
    table, keys = stack.tables["tenants"], stack.key_table
    queue = stack.destination_queue_url
    with aws.speaking_to(stack.place):
        own = tenants.tenant(
            table, name, vault=stack.vault, destinations=[(tenants.SQS, queue)], default_queue=queue
        )
        other = tenants.tenant(table, f"{name}-other", vault=stack.vault)
        found = Fuzzed(
            admin=tenants.key(keys, own.id, tenants.SCOPES), other=tenants.key(keys, other.id, tenants.USUAL)
        )
    admin = stack.client(found.admin)
    for account in found.accounts:
        admin.post("/api/v1/accounts", {"account_id": account}).expect(201)
        path = f"/api/v1/accounts/{account}/deposits"
        admin.post(path, {"amount": 1_000_000_000}, idempotency_key=account).expect(201)
    return found


@pytest.fixture(scope="module")
def fuzzed(stack: RunningStack) -> Fuzzed:
    return made(stack, "fuzzed")


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


def all_tested(stack: RunningStack) -> str:
    described = stack.client("").get("/openapi.json").expect(200)["paths"]
    operations = sum(len(methods) for methods in described.values())
    # The fuzzer has read the description already and does not ask for it again.
    return f"Tested: {operations - 1}"


def test_a_fuzzer_with_two_tenants_keys_gets_no_5xx_and_only_described_answers(
    stack: RunningStack, fuzzed: Fuzzed, tmp_path: Path
) -> None:
    keys = [
        key("demo", bearer(fuzzed.admin)),
        key("other", bearer(fuzzed.other)),
    ]
    assert all_tested(stack) in fuzz(stack, fuzzed, tmp_path, keys)


def test_a_fuzzer_with_the_internal_token_finds_nothing_on_the_internal_route(
    stack: RunningStack, fuzzed: Fuzzed, tmp_path: Path
) -> None:
    keys = [
        key("demo", ("X-Internal-Auth", stack.internal_token)),
        key("other", ("X-Internal-Auth", f"{stack.internal_token}x")),
    ]
    fuzz(stack, fuzzed, tmp_path, keys, "--include-operation-id", "executePayment", phases=PHASES_INTERNAL)


# Restrictions of a key that has every scope of a tenant.
RESTRICTED: Final[dict[str, dict[str, object]]] = {
    "reads": {"read_only": True},
    "pays-from-none": {"account_ids": ["fuzzed-payee"], "amount_max": 1},
    "one-action": {"actions": ["getLimits"]},
}
LISTS: Final = ("payments", "tasks", "keys", "subscriptions", "flow_keys", "operations")


def stock(stack: RunningStack, fuzzed: Fuzzed) -> dict[str, object]:
    """The tenant's things, and what its payer has. Nothing else than the fuzzer changes them."""
    admin = stack.client(fuzzed.admin)
    found = {
        name: admin.get(f"/api/v1/{name.replace('_', '-')}?limit=100").expect(200)[name] for name in LISTS
    }
    # Each request of a key is a use of it.
    for each in found["keys"]:
        each.pop("last_used_at")
    payer = admin.get(f"/api/v1/accounts/{fuzzed.accounts[0]}").expect(200)
    return found | {"payer": (payer["balance"], payer["reserved"])}


@pytest.mark.parametrize("kind", RESTRICTED)
def test_a_fuzzer_with_a_restricted_key_changes_nothing_beyond_its_rights(
    stack: RunningStack, tmp_path: Path, kind: str
) -> None:
    tenant = made(stack, f"fuzzed-{kind}")
    form = {"name": kind, "scopes": sorted(tenants.SCOPES), **RESTRICTED[kind]}
    restricted = stack.client(tenant.admin).post("/api/v1/keys", form).expect(201)["key"]
    before = stock(stack, tenant)
    keys = [key("demo", bearer(restricted)), key("other", bearer(tenant.other))]
    asking = replace(tenant, admin=restricted, spared=(tenant.admin,))
    assert all_tested(stack) in fuzz(stack, asking, tmp_path, keys, phases=PHASES_OF_KINDS)
    after = stock(stack, tenant)
    if kind == "pays-from-none":
        assert after["payer"] == before["payer"]
    else:
        assert after == before


def test_a_fuzzer_with_an_operators_key_gets_no_5xx_and_only_described_answers(
    stack: RunningStack, tmp_path: Path
) -> None:
    """Acting for a tenant. The keys of tenants reach nothing of what it makes there."""
    tenant = made(stack, "fuzzed-operated")
    with aws.speaking_to(stack.place):
        operator = tenants.operator_key(stack.key_table, tenants.SCOPES)
    keys = [
        key("demo", bearer(operator), ("Postdate-Tenant", "fuzzed-operated")),
        key("other", bearer(tenant.other)),
    ]
    asking = replace(tenant, admin=operator)
    assert all_tested(stack) in fuzz(stack, asking, tmp_path, keys, phases=PHASES_OF_KINDS)
    switches = stack.client(stack.operator_key).get("/api/v1/ops/switches").expect(200)["switches"]
    assert [each["name"] for each in switches if not each["on"]] == []
