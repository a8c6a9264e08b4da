"""Rights that are taken away are missed. `make rights` takes away all of them; five are taken away here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.infra.permissions import ARCHIVE, ERASING_FUNCTION, MACHINE, REPORTS
from tests.rights.__main__ import chosen
from tests.rights.golden import rights, used_by_aws

FIVE: Final = (
    "api | dynamodb:PutItem | table:idempotency",
    "authorize | dynamodb:UpdateItem | table:keys",
    "run-tasks | dynamodb:PartiQLUpdate | table:items",
    "settle | dynamodb:UpdateItem | table:accounts",
    "sweep | dynamodb:BatchWriteItem | table:slots",
)
UNRELATED: Final = "tests/integration/test_whoami.py"
_LETTERS: Final = "letters whose items went on are deleted, or read again, by functions that unit tests call"
_LETTERS_OF_OTHERS: Final = "letters of other tenants, and of parked payments, show themselves again anyway"
_REFUSED: Final = (
    "AWS may leave out the row of a refusal, which is then read: tests/contract/test_ledger_rowless.py"
)
_SEALED: Final = "headers of an older release are sealed for a tenant without a data key"
_BETWEEN: Final = "a count of an erasure crosses functions, which only a deployed stack has"
_FORBIDDEN: Final = "by it S3 tells a missing object from one that may not be read"
_LEFT: Final = "a slot that the walk left is forgotten weeks later: tests/unit/archive"
_LONG: Final = "an execution that has run for long starts the next one: tests/unit/operate"
_MACHINES: Final = "plans of operations and the catch-up after an outage have tests of their own machines"
_POINTERS: Final = "a payment or task that moves far away: tests/unit and the simulation"
# Rights that no integration test uses, without their kinds, and the reason why their function has them.
UNTRIED: Final = {
    **{f"api | sqs:DeleteMessage | queue:{kind}-dlq": _LETTERS for kind in ("tasks", "payments")},
    f"api | lambda:InvokeFunction | {ERASING_FUNCTION}": _BETWEEN,
    **{
        f"erase | sqs:{call} | queue:{kind}-dlq": _LETTERS_OF_OTHERS
        for call, kind in (
            *(("ChangeMessageVisibility", "tasks"), ("ChangeMessageVisibility", "payments")),
            ("DeleteMessage", "payments"),
        )
    },
    "erase | dynamodb:BatchGetItem | table:journal": "an audit of accounts with many payments",
    "erase | dynamodb:GetItem | table:operations": "a report of the reconciliation that was changed meanwhile",
    f"erase | s3:ListBucket | {REPORTS}": _FORBIDDEN,
    "api | dynamodb:BatchGetItem | table:journal": "an audit of accounts with many payments",
    **{f"sweep | dynamodb:BatchGetItem | table:{table}": _POINTERS for table in ("items", "payments")},
    "run-tasks | dynamodb:PutItem | table:data-keys": _SEALED,
    "run-tasks | kms:GenerateDataKey | key:secrets": _SEALED,
    "settle | dynamodb:BatchGetItem | table:accounts": _REFUSED,
    "settle | dynamodb:PutItem | table:payments": _POINTERS,
    "record | events:PutEvents | bus:events": "the bus is tried on the deployed stack: tests/e2e",
    "record | sqs:DeleteMessage | queue:events-dlq": _LETTERS,
    "record | sqs:ReceiveMessage | queue:events-dlq": _LETTERS,
    f"operate | states:StartExecution | {MACHINE}": _LONG,
    "operate | sqs:ChangeMessageVisibility | queue:payments-dlq": _LETTERS,
    "operate | dynamodb:BatchGetItem | table:accounts": _REFUSED,
    "operate | dynamodb:PartiQLInsert | table:items": _POINTERS,
    **{
        f"operate | dynamodb:{call} | table:{table}": _MACHINES
        for call, tables in (
            ("GetItem", ("items", "payloads", "slots")),
            ("PutItem", ("payloads", "payments", "slots")),
            ("Query", ("items", "items/index/by_listing", "payments", "slots")),
        )
        for table in tables
    },
    f"api | s3:ListBucket | {ARCHIVE}": _FORBIDDEN,
    "archive | dynamodb:DeleteItem | table:slots": _LEFT,
    "reconcile | sqs:ChangeMessageVisibility | queue:payments-dlq": _LETTERS,
}
USERS: Final[dict[str, list[str]]] = json.loads(Path("tests/rights/users.json").read_text(encoding="utf-8"))


def test_each_right_is_missed_by_a_test_or_has_its_reason() -> None:
    """A right that is new belongs to `users.json`, which `make rights TRACE=1` writes, or to UNTRIED."""
    names = {str(right) for right in rights() if not used_by_aws(right)}
    untried = {name for name in names if name.rpartition(" | ")[0] in UNTRIED}
    assert names - USERS.keys() - untried == set()
    assert USERS.keys() - names == set()
    assert untried & USERS.keys() == set()
    assert UNTRIED.keys() - {name.rpartition(" | ")[0] for name in untried} == set()


def test_a_test_that_was_named_for_a_right_stays_named_while_it_uses_the_right() -> None:
    """Quicker ones that notice nothing do not push it out."""
    used = [(0.1, "a"), (0.2, "b"), (0.3, "c"), (0.4, "d"), (9.0, "notices")]
    assert chosen(used, ["notices", "gone"]) == ["notices", "a", "b", "c"]


def test_five_rights_that_are_taken_away_are_missed() -> None:
    only = [f"--only={each}" for each in FIVE]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.rights", *only], capture_output=True, text=True, check=False
    )
    assert "5 of 5 rights are missed by a test" in ran.stdout, ran.stdout[-3000:] + ran.stderr[-1000:]
    assert ran.returncode == 0


def test_a_right_is_not_missed_by_a_test_that_does_not_use_it(tmp_path: Path) -> None:
    """The second run of a test fails for want of the right, and for nothing else."""
    users, test = tmp_path / "users.json", f"{UNRELATED}::test_a_bound_key_learns_its_accounts"
    of_sweep = [name for name in USERS if name.startswith("sweep | ")][:2]
    users.write_text(json.dumps({name: [test] for name in of_sweep}), encoding="utf-8")
    options = ["-q", "-p", "tests.rights.plugin", "--rights-taken", str(users), UNRELATED]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options], capture_output=True, text=True, check=False
    )
    assert "0 of 2 rights are missed by a test" in ran.stdout, ran.stdout[-3000:] + ran.stderr[-1000:]
