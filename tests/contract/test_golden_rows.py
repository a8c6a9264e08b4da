"""Rows of each release are read as they were meant, and a change of what is written is noticed.

After a change of rows that is meant, `GOLDEN=write` writes the file of the release to come anew. Files of releases that
are out stay as they are.
"""

import json
import os
from itertools import count

import pytest

from postdate.domain.retry import RetryPolicy
from postdate.stores.template_values import ROW_RETRY, retry_of
from tests.boundary import Boundary
from tests.contract import golden_rows
from tests.contract.conftest import OnAws, stores_on

_prefixes = count(1)
RELEASES = sorted(path.stem for path in golden_rows.FOLDER.glob("*.json"))


@pytest.fixture
def empty(on_aws: OnAws, boundary: Boundary) -> OnAws:
    return stores_on(on_aws.dynamodb, on_aws.sqs, prefix=f"golden-{next(_prefixes)}")


def test_this_release_writes_its_golden_rows(empty: OnAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)
    golden_rows.write(empty)
    found = {"rows": golden_rows.rows(empty), "read": golden_rows.read(empty)}
    file = golden_rows.file_of(golden_rows.RELEASE)
    if os.environ.get("GOLDEN") == "write":
        file.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    assert found == json.loads(file.read_text())


@pytest.mark.parametrize("release", RELEASES)
def test_the_rows_of_a_release_are_read_as_they_were_meant(empty: OnAws, release: str) -> None:
    """A field that came later has its default."""
    golden = json.loads(golden_rows.file_of(release).read_text())
    golden_rows.put(empty, golden["rows"])
    assert _known(golden_rows.read(empty), golden["read"]) == golden["read"]


def test_every_table_has_golden_rows() -> None:
    golden = json.loads(golden_rows.file_of(golden_rows.RELEASE).read_text())
    assert [name for name, rows in golden["rows"].items() if not rows] == []


def test_a_row_names_the_default_of_each_field_that_it_leaves_out() -> None:
    """A field of a retry policy that comes later needs a default of the row's own."""
    assert ROW_RETRY.keys() == RetryPolicy.__dataclass_fields__.keys()
    assert retry_of(None) == RetryPolicy(
        max_attempts=5, initial_seconds=5.0, multiplier=2.0, max_seconds=900.0, jitter=True
    )
    assert RetryPolicy() != retry_of(None)


def _known(found: object, expected: object) -> object:
    """The values read, without the fields that did not exist when the row was written."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return {name: _known(found.get(name), each) for name, each in expected.items()}
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [_known(one, other) for one, other in zip(found, expected, strict=True)]
    return found
