"""The documentation against what it speaks of."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from postdate.domain import (
    definition,
    money,
    operation,
    operation_moves,
    payment,
    settlement,
    task,
    task_requests,
    transitions,
    verdicts,
)
from postdate.domain.retry import RetryPolicy
from postdate.targets.eventbridge import EventBridgeTarget
from postdate.targets.sns import SnsTarget
from postdate.targets.sqs import SqsTarget

PAGES: Final = [
    *map(Path, ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(Path("docs").rglob("*.md")),
]
# Decisions and changes tell of the code as it was.
LIVING: Final = [page for page in PAGES if page.name != "CHANGELOG.md" and "decisions" not in page.parts]
_PLACED: Final = re.compile(
    r"((?:`\w+`(?:,| and)?\s)+)in\s(?:\[[^\]]+\]\((\S+\.py)\)|`([\w/]+/\w+\.py)`)", re.MULTILINE
)
TEXTS: Final = {page: page.read_text(encoding="utf-8") for page in PAGES}
README: Final = TEXTS[Path("README.md")]
SOURCE: Final = "\n".join(
    path.read_text(encoding="utf-8").lower()
    for folder in ("functions", "shared", "infra", "cli")
    for path in sorted(Path(folder).rglob("*.py"))
)
# The states of each kind, and the modules with its transitions. The first module has the table ALLOWED.
LIVES: Final = {
    "A task": (task.State, (transitions, task_requests, verdicts)),
    "A recurring task": (definition.State, (definition,)),
    "A payment": (payment.State, (money, settlement)),
    "An operation": (operation.State, (operation_moves,)),
}


def section(page: str, heading: str) -> str:
    _, found, behind = TEXTS[Path(page)].partition(f"\n## {heading}\n")
    assert found, f"{page} has no section {heading}"
    return behind.partition("\n## ")[0]


def life(of: str) -> str:
    return section("docs/states.md", of)


def arrows(of: str) -> list[tuple[str, str]]:
    (diagram,) = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", life(of), re.DOTALL)
    return re.findall(r"^\s+(\S+) --> (\S+?)(?:: .+)?$", diagram, re.MULTILINE)


def code(text: str) -> set[str]:
    """Text between single backticks, outside of blocks."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", TEXTS[page], re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("of", LIVES)
def test_the_arrows_of_the_diagram_are_the_table_of_transitions(of: str) -> None:
    _, (rules, *_) = LIVES[of]
    drawn = [arrow for arrow in arrows(of) if "[*]" not in arrow]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {
        (before.value, after.value) for before, afters in rules.ALLOWED.items() for after in afters
    }


@pytest.mark.parametrize("of", LIVES)
def test_the_diagram_begins_at_registration_and_ends_where_nothing_follows(of: str) -> None:
    states, (rules, *_) = LIVES[of]
    assert [arrow for arrow in arrows(of) if arrow[0] == "[*]"] == [("[*]", next(iter(states)).value)]
    assert {before for before, after in arrows(of) if after == "[*]"} == {
        state.value for state, afters in rules.ALLOWED.items() if not afters
    }


@pytest.mark.parametrize("of", LIVES)
def test_every_state_is_explained(of: str) -> None:
    states, _ = LIVES[of]
    explained = re.findall(r"^\| ([A-Z]+) \|", life(of), re.MULTILINE)
    assert explained == [state.value for state in states]


@pytest.mark.parametrize("of", LIVES)
def test_each_arrow_is_made_by_a_function_and_a_rule_of_ours(of: str) -> None:
    _, rules = LIVES[of]
    table = life(of).partition("### Who makes which arrow")[2]
    makers = re.findall(r"^\| [a-z].*? \| (`.+?) \| (`.+?) \|$", table, re.MULTILINE)
    assert makers
    assert {
        name for functions, _ in makers for name in code(functions) if not Path("functions", name).is_dir()
    } == set()
    assert {
        name
        for _, named in makers
        for name in code(named)
        if not any(callable(getattr(each, name, None)) for each in rules)
    } == set()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]):
        assert not target.startswith(("http", "/")), f"{target} leaves the project"
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        assert path.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(Path(path.resolve().relative_to(Path.cwd())))


@pytest.mark.parametrize("page", LIVING, ids=str)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = {name for name in code(TEXTS[page]) if re.fullmatch(r"[\w./*<>-]+/[\w*]+\.py", name)}
    assert [name for name in named if not any(Path().glob(re.sub("<.+?>", "*", name)))] == []


@pytest.mark.parametrize("page", LIVING, ids=str)
def test_names_stand_in_the_file_that_a_page_says(page: Path) -> None:
    """Written as `name` in `path`, or with a link to the file."""
    for names, link, path in _PLACED.findall(TEXTS[page]):
        text = (page.parent / link if link else Path(path)).read_text(encoding="utf-8")
        assert {name for name in code(names) if not re.search(rf"\b{name}\b", text)} == set()


def test_the_make_targets_that_documents_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", Path("Makefile").read_text(), re.MULTILINE))
    named = {
        name for text in TEXTS.values() for name in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)
    }
    assert named <= targets
    assert {"up", "down", "test", "check", "bench", "deploy"} <= named


def test_the_readmes_files_and_folders_exist() -> None:
    rows = re.findall(r"^\| ((?:`[^`]+/?`(?:, )?)+) \|", README, re.MULTILINE)
    rooms = [room for row in rows for room in code(row)]
    assert len(rooms) > 5
    assert [room for room in rooms if not Path(room).is_dir()] == []
    (tiers,) = re.findall(r"^\| `tests/` \| (.+) \|$", README, re.MULTILINE)
    assert {name for name in code(tiers) if not Path("tests", name).is_dir()} == set()


def test_every_function_is_named_in_the_architecture() -> None:
    functions = {path.parent.name for path in Path("functions").glob("*/handler.py")}
    assert functions <= code(TEXTS[Path("docs/architecture.md")])
    assert functions <= code(README)


def test_every_test_that_a_page_calls_a_witness_exists() -> None:
    tests = {
        name
        for path in Path("tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    witnesses = {name for text in TEXTS.values() for name in code(text) if name.startswith("test_")}
    assert len(witnesses) > 20
    assert witnesses - tests == set()


@pytest.mark.parametrize("heading", ["What holds", "What holds for money"])
def test_every_promise_has_a_witness(heading: str) -> None:
    told = section("docs/guarantees.md", heading).strip().split("\n\n")
    assert len(told) > 8
    assert [promise for promise in told if "Shown by: `test_" not in promise.replace("by:\n", "by: ")] == []


def test_the_table_of_retries_is_the_curve_of_the_default_policy() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (.*?) \| (.*?) \| (.*?) \|$", TEXTS[Path("docs/retries.md")], re.MULTILINE
    )
    policy, began, elapsed = RetryPolicy(), datetime(2026, 11, 18, tzinfo=UTC), timedelta(0)
    assert [int(row[0]) for row in rows] == list(range(1, policy.max_attempts + 1))
    for number, mean, longest, since in rows[1:]:
        waits = []
        for draw in (0.5, 1.0):
            at = policy.next_attempt_at(attempts=int(number) - 1, now=began, draw=draw)
            assert at is not None
            waits.append(at - began)
        elapsed += waits[0]
        assert [mean, longest, since] == [_roughly(wait) for wait in (*waits, elapsed)]


def test_the_final_failures_of_queues_topics_and_buses_are_those_of_the_targets() -> None:
    told = section("docs/retries.md", "Final failures")
    rows = re.findall(r"^\| \w+ \(`(\w+)`\) \| (.+) \|$", told, re.MULTILINE)
    targets = (SqsTarget, SnsTarget, EventBridgeTarget)
    assert {name: code(text) for name, text in rows} == {each.name: each.final for each in targets}


def _roughly(time: timedelta) -> str:
    seconds = time.total_seconds()
    if seconds < 120:
        return f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def test_the_glossarys_words_are_the_codes_words() -> None:
    words = [word.lower() for word, *_ in glossary()]
    assert len(words) > 60
    assert len(words) == len(set(words))
    assert [word for word in words if not re.search(re.sub("[ -]", "[ _]?", word), SOURCE)] == []


def test_each_word_of_the_glossary_has_an_example() -> None:
    assert [word for word, meaning, example in glossary() if not (meaning and example)] == []


def glossary() -> list[list[str]]:
    """The word, its meaning and its example, of each row."""
    rows = re.findall(r"^\| \*\*(.+) \|$", TEXTS[Path("docs/glossary.md")], re.MULTILINE)
    cells = [[cell.strip("* ") for cell in row.split(" | ")] for row in rows]
    assert {len(row) for row in cells} == {3}
    return cells


def test_every_decision_is_in_the_index_and_says_its_number() -> None:
    decisions = sorted(path.name for path in Path("docs/decisions").glob("[0-9]*.md"))
    index = TEXTS[Path("docs/decisions/README.md")]
    assert re.findall(r"\((\d{4}-.+?\.md)\)", index) == decisions
    assert all(TEXTS[Path("docs/decisions", name)].startswith(f"# {int(name[:4])}. ") for name in decisions)


def test_the_changes_know_the_version() -> None:
    (version,) = re.findall(r'^version = "(.+)"$', Path("pyproject.toml").read_text(), re.MULTILINE)
    assert re.findall(r"^## (\S+?),", TEXTS[Path("CHANGELOG.md")], re.MULTILINE)[0] == version
