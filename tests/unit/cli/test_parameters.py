"""The document of parameters as people write it. `GOLDEN=write` writes the schema and the page anew."""

import json
import os
from pathlib import Path

import pytest

from cli.failure import Failure
from cli.parameters import checked, described, page, schema
from infra.constructs.parameter_store import SCHEMA
from postdate.domain.parameters import DEFAULTS, Parameters, read

PAGE = Path("docs/parameters.md")


def written(path: Path, text: str) -> str:
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    return path.read_text()


def test_the_schema_that_appconfig_checks_with_is_made_from_the_description() -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    assert written(SCHEMA, text) == text
    assert len(text) < 32_000, "the most that AppConfig takes"


def test_the_page_is_made_from_the_description() -> None:
    assert written(PAGE, page()) == page()


def test_an_empty_document_means_the_defaults() -> None:
    assert read(checked("{}")) == DEFAULTS == Parameters()


def test_each_parameter_may_have_its_bounds_and_nothing_beyond_them() -> None:
    for name, rules in described():
        section, field = name.split(".")
        for good in (rules["least"], rules["most"]):
            assert (
                getattr(getattr(read(checked(json.dumps({section: {field: good}}))), section), field) == good
            )
        for bad in (rules["least"] - 1, rules["most"] + 1, "1", True, 1.5, None):
            with pytest.raises(Failure, match=f"line 1: {name}: "):
                checked(json.dumps({section: {field: bad}}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n "registering": {\n  "batch_max": 101\n }\n}', "line 3: registering.batch_max: "),
        (
            '{\n "registering": {\n  "batch": 1\n }\n}',
            "line 3: registering.batch: there is no such parameter",
        ),
        ('{\n\n "limits": {}}', "line 3: limits: there is no such parameter"),
        ('{"registering": 1}', "line 1: registering: "),
        ("[]", "line 1: the document: "),
        (
            '{\n"registering": {"batch_max": 1,\n"batch_max": 2}}',
            "line 3: registering.batch_max: the name stands twice",
        ),
        ('{\n"registering": {,}}', "line 2: "),
        ("", "line 1: "),
    ],
)
def test_a_bad_document_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(Failure) as refused:
        checked(text)
    assert str(refused.value).startswith(told)


def test_every_error_is_told() -> None:
    text = '{"registering": {\n"batch_max": 0,\n"days_ahead_max": 400,\n"x": 1}}'
    with pytest.raises(Failure) as refused:
        checked(text)
    assert [line.partition(":")[0] for line in str(refused.value).split("\n")] == [
        "line 2",
        "line 3",
        "line 4",
    ]
