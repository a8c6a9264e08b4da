"""deploy: lateness of payments that become due while code or a parameter changes, and while no worker runs yet.

All payments are registered beforehand. The code of every function is uploaded again as it is: its workers finish what
they hold, and each further message needs a new one.
"""

import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import boto3

from bench.bed import Bed
from bench.figures import ratio
from bench.payment_steady import steady_beforehand, timers_p99
from bench.plan import Plan
from bench.report import Line
from cli.local import aws
from cli.local.own import FUNCTION
from cli.parameter_store import ParameterStore
from cli.progress import step
from infra.environments import LOCAL

RATE: Final = 50
SECONDS_MIN: Final = 12
_SECONDS: Final = 1 / 3
# The change comes so long after the first instant, or before it.
_AFTER_SECONDS: Final = 4.0
_BEFORE_SECONDS: Final = 2.5
_PARAMETER: Final = {"registering": {"batch_max": 99}}
_WORKERS: Final = "settle"
NOTHING: Final = "nothing changes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """`at_seconds` is from the first instant; `bring` changes something, `back` undoes it after the stream."""

    what: str
    at_seconds: float
    bring: Callable[[], None]
    back: Callable[[], None] = lambda: None


def deploy(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The floor of the first line, without a change, is the p99 of bare timers; that of the others is its p99."""
    seconds = max(SECONDS_MIN, plan.seconds * _SECONDS)
    floor = timers_p99(bed, RATE)
    for change in changes():
        try:
            line = steady_beforehand(bed, RATE, seconds, partial(_at, change))
        finally:
            change.back()
        yield changed(line, change.what, floor)
        floor = floor if change.what != NOTHING else line.get("p99_ms", floor)


def changes() -> tuple[Change, ...]:
    return (
        Change(what=NOTHING, at_seconds=0.0, bring=lambda: None),
        Change(what="the code of all functions is updated", at_seconds=_AFTER_SECONDS, bring=_all_code),
        Change(what="a parameter changes", at_seconds=_AFTER_SECONDS, bring=_parameter, back=_no_parameter),
        Change(what="no worker runs at first", at_seconds=-_BEFORE_SECONDS, bring=_no_workers),
    )


def changed(line: Line, what: str, floor_ms: float) -> Line:
    late = line.get("p99_ms")
    return line | {
        "case": "deploy",
        "what": f"{line['what']}, {what}",
        "floor": floor_ms,
        "ratio": None if late is None else ratio(late, floor_ms),
    }


def _at(change: Change, first_ms: float) -> None:
    time.sleep(max(0.0, first_ms / 1000 + change.at_seconds - time.time()))
    with step(change.what):
        change.bring()


def _all_code() -> None:
    client: Any = boto3.client("lambda")
    pages = client.get_paginator("list_functions").paginate()
    names = [each["FunctionName"] for page in pages for each in page["Functions"]]
    for name in sorted(names):
        if name.startswith(FUNCTION.format("")):
            _upload(client, name)


def _no_workers() -> None:
    _upload(boto3.client("lambda"), FUNCTION.format(_WORKERS))


def _upload(client: Any, name: str) -> None:
    """The code that the function has, once more."""
    place = urlsplit(client.get_function(FunctionName=name)["Code"]["Location"])
    connection = http.client.HTTPConnection(place.netloc, timeout=10)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        code = connection.getresponse().read()
    finally:
        connection.close()
    client.update_function_code(FunctionName=name, ZipFile=code)


def _parameter() -> None:
    _store().deploy(_PARAMETER, why="the benchmark", at_once=True)


def _no_parameter() -> None:
    _store().deploy({}, why="the benchmark is over", at_once=True)


def _store() -> ParameterStore:
    return ParameterStore(LOCAL, aws.client)
