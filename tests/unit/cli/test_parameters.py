"""The document of parameters as people write it. `GOLDEN=write` writes the schema and the page anew."""

import json
import os
from pathlib import Path

import pytest

from cli.failure import Failure
from cli.parameters import checked, described, page, schema
from postdate.domain.parameters import DEFAULTS, Parameters, read

PAGE = Path("docs/parameters.md")
# Named here, for an import of `infra.constructs` starts the CDK. A test of tests/infra compares it with the template.
SCHEMA = Path("infra/parameters.schema.json")


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


INTEGERS = {name: rules for name, rules in described() if rules["kind"] == "integer"}


def with_value(name: str, value: object) -> str:
    for part in reversed(name.split(".")):
        value = {part: value}
    return json.dumps(value)


@pytest.mark.parametrize("name", INTEGERS)
def test_a_number_may_have_its_bounds_and_nothing_beyond_them(name: str) -> None:
    rules = INTEGERS[name]
    for good in (rules["least"], rules["most"]):
        found: object = read(checked(with_value(name, good)))
        for part in name.split("."):
            found = getattr(found, part)
        assert found == good
    for bad in (rules["least"] - 1, rules["most"] + 1, "1", True, 1.5, None):
        with pytest.raises(Failure, match=f"line 1: {name}: "):
            checked(with_value(name, bad))


def test_every_function_reads_a_document_that_the_command_accepts() -> None:
    document = {
        "flags": {"long_waits": {"percent": 10, "on": ["acme"], "off": ["umbrella"]}},
        "experiments": {"task_retries": {"percent": 50, "by": "item", "b": {"first_pause_percent": 200}}},
    }
    assert read(checked(json.dumps(document))).experiments.task_retries.by == "item"


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
        ('{"flags": {\n"long_waits": {"on": ["Acme!"]}}}', "line 2: flags.long_waits.on.0: "),
        ('{"flags": {\n"long_waits": {"on": "acme"}}}', "line 2: flags.long_waits.on: "),
        ('{"experiments": {"task_retries":\n{"by": "all"}}}', "line 2: experiments.task_retries.by: "),
        (json.dumps({"flags": {"long_waits": {"on": ["a"] * 201}}}), "line 1: flags.long_waits.on: "),
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
