"""Who may know whom: read from the source, so that an import inside a function counts too."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOTS: Final = {
    "postdate": Path("shared/postdate"),
    **{name: Path(name) for name in ("functions", "cli", "infra")},
}
OURS: Final = tuple(ROOTS)
# A room may use itself and what is named here.
MAY_USE: Final = {
    "postdate.domain": (),
    "postdate.stores": ("postdate.domain", "postdate.runtime", "postdate.targets"),
    "postdate.targets": ("postdate.domain", "postdate.runtime", "postdate.stores"),
    "postdate.runtime": ("postdate.domain", "postdate.stores", "postdate.targets"),
    "functions.api": ("postdate",),
    "functions.authorize": ("postdate",),
    "functions.run_tasks": ("postdate",),
    "functions.settle": ("postdate",),
    "functions.sweep": ("postdate",),
    "infra": ("postdate.runtime.settings",),
    "cli": ("postdate",),
}
# What only some rooms know of the world outside.
KNOWN_ONLY_TO: Final = {
    "pynamodb": ("postdate.stores",),
    "pydantic": ("functions", "cli"),
    "pydantic_core": ("functions", "cli"),
    "aws_lambda_powertools": ("functions", "postdate.runtime"),
    "boto3": ("postdate.runtime", "cli"),
    "botocore": (
        "postdate.runtime",
        "postdate.stores",
        "postdate.targets",
        "functions.run_tasks.handler",
        "cli",
    ),
    "aws_cdk": ("infra",),
    "constructs": ("infra",),
    "croniter": (),
    "ministack": ("cli.local.engine",),
}
WORLD: Final = frozenset(
    {
        *(
            "asyncio",
            "importlib",
            "io",
            "logging",
            "os",
            "pathlib",
            "platform",
            "random",
            "secrets",
            "socket",
        ),
        *("subprocess", "sys", "threading", "time", "urllib", "uuid"),
    }
)
CLOCKS: Final = frozenset({"monotonic", "now", "perf_counter", "time", "time_ns", "today", "utcnow"})


def modules() -> Iterator[tuple[str, ast.Module]]:
    for name, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            yield ".".join((name, *parts)), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports say the whole name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, *rooms: str) -> bool:
    return any(f"{module}.".startswith(f"{room}.") for room in rooms)


MODULES: Final = dict(modules())
IMPORTS: Final = [(module, name) for module, tree in MODULES.items() for name in imported(tree)]


def test_every_module_is_in_a_room() -> None:
    packages = {"postdate", "functions"}
    assert {module for module in MODULES if not within(module, *MAY_USE)} == packages


@pytest.mark.parametrize("room", MAY_USE)
def test_a_room_uses_only_rooms_below_it(room: str) -> None:
    used = {name for module, name in IMPORTS if within(module, room) and within(name, *OURS)}
    assert {name for name in used if not within(name, room, *MAY_USE[room])} == set()


@pytest.mark.parametrize("library", KNOWN_ONLY_TO)
def test_a_library_is_known_only_where_it_belongs(library: str) -> None:
    users = {module for module, name in IMPORTS if within(name, library)}
    assert {module for module in users if not within(module, *KNOWN_ONLY_TO[library])} == set()


def test_every_library_has_its_place() -> None:
    outside = {name.partition(".")[0] for _, name in IMPORTS} - set(OURS) - sys.stdlib_module_names
    assert outside <= set(KNOWN_ONLY_TO)


def test_the_domain_knows_nothing_of_the_world() -> None:
    known = {name.partition(".")[0] for module, name in IMPORTS if within(module, "postdate.domain")}
    assert known & WORLD == set()


def test_the_domain_reads_no_clock() -> None:
    reads = [
        f"{module}:{node.lineno}"
        for module, tree in MODULES.items()
        if within(module, "postdate.domain")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS
    ]
    assert reads == []


def test_only_the_command_line_prints() -> None:
    prints = {
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {module for module in prints if not within(module, "cli")} == set()
