"""A state that is added later must be named wherever states are told apart: nothing may decide about it by default."""

import ast
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from postdate.domain import payment, task

SOURCES: Final = sorted(path for folder in ("shared", "functions") for path in Path(folder).rglob("*.py"))


def names_states(match: ast.Match) -> bool:
    named = (
        node.value
        for case in match.cases
        for node in ast.walk(case.pattern)
        if isinstance(node, ast.MatchValue)
    )
    return any(
        isinstance(value, ast.Attribute)
        and isinstance(value.value, ast.Name | ast.Attribute)
        and ast.unparse(value.value).rpartition(".")[2].endswith("State")
        for value in named
    )


def is_wildcard(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def refuses_what_is_left(case: ast.match_case) -> bool:
    (first, *others) = case.body
    return not others and ast.unparse(first).startswith("assert_never(")


def matches_on_states() -> Iterator[tuple[str, ast.Match]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Match) and names_states(node):
                yield f"{path}:{node.lineno}", node


def test_every_match_on_a_state_names_every_state() -> None:
    """`assert_never` is the type checker's promise; it refuses the code when a state is missing."""
    found = dict(matches_on_states())
    assert len(found) >= 4
    assert [
        place
        for place, match in found.items()
        if any(is_wildcard(case) and not refuses_what_is_left(case) for case in match.cases)
    ] == []


def with_a_new_state(module: ModuleType, directory: Path) -> Any:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    added = source.replace("class State(StrEnum):\n", 'class State(StrEnum):\n    NEW = "NEW"\n', 1)
    assert added != source
    changed = directory / "changed.py"
    changed.write_text(added, encoding="utf-8")
    spec = spec_from_file_location(module.__name__, changed)
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize(
    ("module", "ask"),
    [
        (task, lambda changed: changed.State.NEW.phase),
        (payment, lambda changed: changed.phase(changed.State.NEW, retries=False)),
        (payment, lambda changed: changed.State.NEW.is_final),
    ],
    ids=["a task's phase", "a payment's phase", "a payment's end"],
)
def test_a_state_that_nobody_named_has_no_phase_and_no_end(
    module: ModuleType, ask: Callable[[Any], object], tmp_path: Path
) -> None:
    changed = with_a_new_state(module, tmp_path)
    with pytest.raises(AssertionError, match="Expected code to be unreachable"):
        ask(changed)
