"""A worker of the local engine whose code is replaced ends its invocation first."""

import io
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from typing import Any, Final

import pytest
from ministack.core import lambda_runtime

from cli.local.retiring import retiring

HANDLER: Final = """
import time

def handler(event, context):
    time.sleep(event["seconds"])
    return "done"
"""
END: Final = lambda_runtime.kill_workers


@pytest.fixture
def worker() -> Iterator[Any]:
    made = lambda_runtime.Worker("retired", _config(), _code())
    assert made.invoke({"seconds": 0}, "warm")["status"] == "ok"
    process = made._proc
    yield made
    END([made])
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()


def test_a_busy_worker_ends_its_invocation_and_then_itself(worker: Any) -> None:
    process, answers = worker._proc, []
    call = threading.Thread(target=lambda: answers.append(worker.invoke({"seconds": 0.5}, "busy")))
    call.start()
    _wait_for(lambda: bool(worker._lock.locked()))
    retiring(END)([worker])
    call.join()
    assert [(each["status"], each["result"]) for each in answers] == [("ok", "done")]
    _wait_for(lambda: process.poll() is not None)


def test_an_idle_worker_ends_at_once(worker: Any) -> None:
    process = worker._proc
    retiring(END)([worker, None])
    assert process.poll() is not None


def _config() -> dict[str, Any]:
    runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
    arn = "arn:aws:lambda:us-east-1:000000000000:function:retired"
    return {
        "FunctionName": "retired",
        "FunctionArn": arn,
        "Runtime": runtime,
        "Handler": "it.handler",
        "Timeout": 10,
    }


def _code() -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("it.py", HANDLER)
    return whole.getvalue()


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
