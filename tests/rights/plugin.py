"""A plugin of pytest: each call that a function makes is held to the rights of its role, in this process.

`--rights-trace FILE` notes which tests use which rights. `--rights-taken FILE` takes away one right after the other and
runs tests that use it, until one fails; `--rights-only` names the rights, by parts of their names.
"""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol
from botocore import handlers

from tests import boundary
from tests.rights.golden import Right, rights
from tests.rights.guard import Guard

FUNCTIONS: Final = (
    *(
        "api",
        "archive",
        "authorize",
        "erase",
        "operate",
        "reconcile",
        "record",
        "run_tasks",
        "settle",
        "sweep",
    ),
)
SECONDS_MAX: Final = 60
TESTS_MAX: Final = 10


GUARD: Final = Guard()


def _guarded(role: str, handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    def called(*given: Any, **named: Any) -> Any:
        with GUARD.acting(role):
            return handler(*given, **named)

    return called


def _inherited(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def started(thread: threading.Thread) -> None:
        role, run = GUARD.role, thread.run

        def inside() -> None:
            with GUARD.acting(role):
                run()

        if role:
            thread.run = inside  # type: ignore[method-assign]
        start(thread)

    return started


def _unguarded(made: Callable[[str], Any]) -> Callable[[str], Any]:
    """The test's own look at a row is no call of the function."""

    @wraps(made)
    def client(endpoint: str) -> Any:
        found = made(endpoint)
        found.meta.events.unregister("provide-client-params", GUARD)
        return found

    return client


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rights-trace")
    parser.addoption("--rights-taken")
    parser.addoption("--rights-report")
    parser.addoption("--rights-only", action="append", default=[])


def _install() -> None:
    """Comes before any test is imported: tests hold the handlers by their names."""
    handlers.BUILTIN_HANDLERS.append(("provide-client-params", GUARD))
    for name in FUNCTIONS:
        module = import_module(f"functions.{name}.handler")
        vars(module)["handler"] = _guarded(name.replace("_", "-"), module.handler)
    threading.Thread.start = _inherited(threading.Thread.start)  # type: ignore[method-assign]
    boundary._client = _unguarded(boundary._client)  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    GUARD.used = set()
    return (yield)  # type: ignore[return-value]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if call.when == "call" and report.passed:
        note = {
            "test": item.nodeid,
            "seconds": round(call.duration, 3),
            "rights": sorted(map(str, GUARD.used)),
            "beyond": sorted(GUARD.beyond),
        }
        if path := item.config.getoption("rights_trace"):
            worker = os.environ.get("PYTEST_XDIST_WORKER", "")
            with Path(f"{path}{worker}").open("a", encoding="utf-8") as file:
                file.write(json.dumps(note) + "\n")
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    path = session.config.getoption("rights_taken")
    if not path:
        return None
    only = session.config.getoption("rights_only")
    items = {item.nodeid: item for item in session.items}
    users = json.loads(Path(path).read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for right in rights():
        tests = [each for each in users.get(str(right), ()) if each in items]
        if tests and (not only or any(part in str(right) for part in only)):
            found[str(right)] = _noticed_by(right, [items[each] for each in tests[:TESTS_MAX]])
            print(f"{found[str(right)] or 'NOT NOTICED'}: {right}", flush=True)
    unnoticed = [right for right, test in found.items() if not test]
    print(f"{len(found) - len(unnoticed)} of {len(found)} rights are missed by a test")
    if report := session.config.getoption("rights_report"):
        Path(report).write_text(json.dumps(found, indent=1), encoding="utf-8")
    session.testsfailed = len(unnoticed)
    session.testscollected = len(found)
    return True


def _noticed_by(right: Right, items: list[pytest.Item]) -> str:
    """The first of these tests that passes with every right and fails without this one."""
    return next((item.nodeid for item in items if _passes(item) and not _passed(item, right)), "")


_PASSING: Final[dict[str, bool]] = {}


def _passes(item: pytest.Item) -> bool:
    """True if the test passes here a second time, with every right; each test is asked once."""
    if item.nodeid not in _PASSING:
        _PASSING[item.nodeid] = _passed(item, None)
    return _PASSING[item.nodeid]


def _passed(item: pytest.Item, taken: Right | None) -> bool:
    item._initrequest()  # type: ignore[attr-defined]
    GUARD.taken = taken
    try:
        with _limited():
            # Only fixtures of the session stay: an item that is its own next one would run again without its fixtures.
            reports = runtestprotocol(item, nextitem=item.session, log=False)  # type: ignore[arg-type]
    finally:
        GUARD.taken = None
    return not any(report.failed for report in reports)


@contextmanager
def _limited() -> Iterator[None]:
    """A test that only waits fails too."""

    def over(*_: object) -> None:
        raise TimeoutError("the test waits for what does not come")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(SECONDS_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


_install()
