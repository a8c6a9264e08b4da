"""The second engine: what is fetched for it, and what it is known to differ in."""

import hashlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import engines
from tests.dynamodb_local import build
from tests.dynamodb_local.differences import DIFFERENCES

_TESTS = Path(__file__).parents[1]


def test_each_difference_names_a_test_and_a_reason() -> None:
    for name, difference in DIFFERENCES.items():
        path, _, function = name.partition("::")
        written = (_TESTS / path).read_text()
        assert not function or f"def {function.partition('[')[0]}(" in written
        assert len(difference.reason.split()) > 5


def test_everything_that_maven_fetches_has_a_fixed_version() -> None:
    tree = ElementTree.parse(_TESTS / "dynamodb_local" / "pom.xml")  # noqa: S314 - our own
    fetched = [*tree.findall(".//dependency"), *tree.findall(".//plugin")]
    versions = [each.findtext("version") or "" for each in fetched]
    assert len(versions) == 2
    assert all(version.replace(".", "").isdecimal() for version in versions)


def test_nothing_is_fetched_that_telemetry_is_sent_with() -> None:
    names = [line.split()[1] for line in build.HASHES.read_text().splitlines()]
    assert "DynamoDBLocal-2.6.1.jar" in names
    assert not [name for name in names if name.startswith(("pinpoint", "cognitoidentity"))]


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ({}, "Not on the PATH: java, javac, mvn."),
        ({"java": "", "javac": "javac 17.0.15"}, "Not on the PATH: mvn."),
        ({"java": "", "javac": "javac 11.0.2", "mvn": ""}, "The JDK on the PATH is another: javac 11.0.2."),
        ({"java": "", "javac": "javac 1.8.0_412", "mvn": ""}, "is another: javac 1.8.0_412."),
    ],
)
def test_a_machine_without_the_tools_is_told_what_it_lacks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tools: dict[str, str],
    told: str,
) -> None:
    for name, answer in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.main() == 2
    needed, why = capsys.readouterr().err.splitlines()
    assert needed.startswith("ENGINE=dynamodb-local needs Java 17 or newer, as a JDK, and Maven")
    assert why.endswith(told)


def test_an_engine_that_is_not_built_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "BUILT", tmp_path)
    with pytest.raises(RuntimeError, match="make test ENGINE=dynamodb-local"), engines.dynamodb_local():
        pass


@pytest.mark.parametrize("change", ["none", "changed", "missing", "too many"])
def test_a_file_that_is_not_the_one_that_was_reviewed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("a.jar", "b.jar"):
        (jars / name).write_text(name)
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in jars.iterdir()]
    (tmp_path / "jars.sha256").write_text("\n".join(lines))
    monkeypatch.setattr(build, "HASHES", tmp_path / "jars.sha256")
    match change:
        case "changed":
            (jars / "b.jar").write_text("another")
        case "missing":
            (jars / "b.jar").unlink()
        case "too many":
            (jars / "c.jar").write_text("more")
    expected = {"none": [], "too many": ["c.jar"]}
    assert build.differing(jars) == expected.get(change, ["b.jar"])
