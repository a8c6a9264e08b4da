"""Allowed imports between packages: read from the source, so that an import inside a function counts too."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOTS: Final = {
    "postdate": Path("shared/postdate"),
    **{name: Path(name) for name in ("functions", "cli", "infra", "bench", "chaos", "smoke")},
}
OURS: Final = tuple(ROOTS)
# A room may use itself and the rooms named here. A module belongs to the room with the longest matching name.
MAY_USE: Final = {
    "postdate.domain": (),
    "postdate.stores": ("postdate.domain", "postdate.runtime"),
    "postdate.recovery": ("postdate.domain", "postdate.runtime", "postdate.stores"),
    "postdate.use_cases": ("postdate.domain", "postdate.runtime", "postdate.stores"),
    "postdate.targets": ("postdate.domain",),
    "postdate.runtime": ("postdate.domain",),
    "functions.api": ("postdate",),
    "functions.archive": ("postdate",),
    "functions.authorize": ("postdate",),
    "functions.erase": ("postdate",),
    "functions.record": ("postdate",),
    "functions.operate": ("postdate",),
    "functions.reconcile": ("postdate",),
    "functions.run_tasks": ("postdate",),
    "functions.settle": ("postdate",),
    "functions.sweep": ("postdate",),
    "infra": (
        *("postdate.runtime.settings", "postdate.runtime.metric", "postdate.targets"),
        *("postdate.domain.slots", "postdate.domain.due", "postdate.domain.retry"),
    ),
    "cli": ("postdate", "infra.environment", "infra.environments", "infra.watch"),
    "cli.commands": (
        *("cli", "bench", "chaos", "smoke"),
        *("infra.capacity", "infra.environment", "infra.environments", "postdate.targets"),
    ),
    "bench": ("cli", "infra.environments", "postdate"),
    "chaos": ("bench", "cli", "infra.environments", "postdate"),
    "smoke": ("cli", "infra.environment", "postdate"),
}
# The libraries that only some rooms may know.
KNOWN_ONLY_TO: Final = {
    "pynamodb": ("postdate.stores",),
    "idna": ("postdate.targets",),
    "pydantic": ("functions", "cli"),
    "pydantic_core": ("functions",),
    "typing_extensions": ("functions",),
    "aws_lambda_powertools": ("functions", "postdate.runtime"),
    "boto3": ("postdate.runtime", "cli", "bench"),
    "botocore": (
        "postdate.runtime",
        "postdate.stores",
        "postdate.targets",
        "cli",
        "bench",
        "chaos.game",
        "smoke",
    ),
    "aws_cdk": ("infra",),
    "constructs": ("infra",),
    "croniter": ("postdate.domain",),
    "cryptography": ("postdate.stores",),
    "jwt": ("postdate.runtime",),
    "ministack": (
        *("cli.local.engine", "cli.local.cloudwatch", "cli.local.scanning", "cli.local.streams"),
        "cli.local.retiring",
        "cli.local.throttling",
    ),
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


@cache
def modules() -> dict[str, ast.Module]:
    """Parsed when the first test asks: a process that runs none of these tests parses nothing."""
    return dict(_modules())


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for name, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            yield ".".join((name, *parts)), ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports() -> list[tuple[str, str]]:
    """Each import: the module that has it, and the imported name."""
    return [(module, name) for module, tree in modules().items() for name in imported(tree)]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports say the whole name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, *rooms: str) -> bool:
    return any(f"{module}.".startswith(f"{room}.") for room in rooms)


def test_every_module_is_in_a_room() -> None:
    packages = {"postdate", "functions"}
    assert {module for module in modules() if not room_of(module)} == packages


@cache
def room_of(module: str) -> str:
    return max((room for room in MAY_USE if within(module, room)), key=len, default="")


@cache
def used_by(room: str) -> set[str]:
    return {name for module, name in imports() if room_of(module) == room and within(name, *OURS)}


@pytest.mark.parametrize("room", MAY_USE)
def test_a_room_uses_only_rooms_below_it(room: str) -> None:
    assert {name for name in used_by(room) if not within(name, room, *MAY_USE[room])} == set()


@pytest.mark.parametrize(("room", "other"), [(room, other) for room in MAY_USE for other in MAY_USE[room]])
def test_every_allowed_import_exists(room: str, other: str) -> None:
    assert any(within(name, other) for name in used_by(room))


@pytest.mark.parametrize(
    ("library", "room"), [(name, room) for name, rooms in KNOWN_ONLY_TO.items() for room in rooms]
)
def test_every_room_that_may_know_a_library_uses_it(library: str, room: str) -> None:
    assert any(within(module, room) and within(name, library) for module, name in imports())


@pytest.mark.parametrize("library", KNOWN_ONLY_TO)
def test_a_library_is_known_only_where_it_belongs(library: str) -> None:
    users = {module for module, name in imports() if within(name, library)}
    assert {module for module in users if not within(module, *KNOWN_ONLY_TO[library])} == set()


def test_every_library_has_its_place() -> None:
    outside = {name.partition(".")[0] for _, name in imports()} - set(OURS) - sys.stdlib_module_names
    assert outside <= set(KNOWN_ONLY_TO)


def test_the_domain_knows_nothing_of_the_world() -> None:
    known = {name.partition(".")[0] for module, name in imports() if within(module, "postdate.domain")}
    assert known & WORLD == set()


def test_the_domain_reads_no_clock() -> None:
    reads = [
        f"{module}:{node.lineno}"
        for module, tree in modules().items()
        if within(module, "postdate.domain")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS
    ]
    assert reads == []


def test_only_the_command_line_prints() -> None:
    prints = {
        module
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {module for module in prints if not within(module, "cli", "bench", "chaos")} == set()
