"""The example of a receiver, called by our own deliveries and held against the public library."""

import base64
import json
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from cli.local.listening import Answering, listening
from examples.worker import worker as example
from examples.worker.api import Api
from examples.worker.signature import NotSigned, verify
from examples.worker.store import Seen, Store
from examples.worker.worker import Worker, server
from postdate.domain.task import Destination
from postdate.targets.base import Delivered, Delivery, Failed, Receipt
from postdate.targets.connections import Connections
from postdate.targets.guard import parse
from postdate.targets.loop import BackgroundLoop
from postdate.targets.resolver import Resolver
from postdate.targets.webhook import WebhookTarget

OURS = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEXT = "whsec_" + base64.b64encode(b"n" * 25).decode()
OTHER = "whsec_" + base64.b64encode(b"x" * 24).decode()


@pytest.fixture
def told() -> Iterator[tuple[str, list[tuple[str, Any]], dict[str, int]]]:
    """An API that notes what it is told; `answers` says how, by the last step of the path."""
    heard: list[tuple[str, Any]] = []
    answers: dict[str, int] = {}

    class Handler(Answering):
        def called(self) -> None:
            heard.append((self.path, json.loads(self.body())))
            self.answer(answers.get(self.path.rpartition("/")[2], 200))

    with listening(Handler) as url:
        yield url, heard, answers


@pytest.fixture
def worker(tmp_path: Path, told: Any) -> Worker:
    return Worker(
        secrets=(OURS,),
        store=Store(tmp_path / "worker.sqlite"),
        api=Api(url=told[0], key="pd_key"),
        heartbeat_seconds=0.05,
        long_seconds=0.2,
    )


@contextmanager
def running(worker: Worker) -> Iterator[str]:
    with server(worker, 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
            thread.join()


@pytest.fixture
def deliver(worker: Worker) -> Iterator[Callable[..., Receipt]]:
    """Makes an attempt with the code of all attempts."""
    target = WebhookTarget(
        endpoint=lambda url: parse(url, True),
        resolver=Resolver(),
        connections=Connections(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)),
        loop=BackgroundLoop(),
        now=lambda: datetime.now(UTC),
    )
    with running(worker) as url:

        def send(path: str = "/work", **fields: Any) -> Receipt:
            inbox: SimpleQueue[Receipt] = SimpleQueue()
            attempt = replace(
                delivery(), destination=Destination(type="webhook", address=url + path), **fields
            )
            target.start([attempt], lambda _, receipt: inbox.put(receipt))
            return inbox.get(timeout=5)

        yield send
    target.close()


def delivery() -> Delivery:
    return Delivery(
        run_id="run_1",
        task_id="rtask_1",
        tenant="demo",
        attempt=1,
        token=1,
        planned_at=datetime(2026, 11, 18, 10, 5, tzinfo=UTC),
        timeout_seconds=5,
        destination=Destination(type="webhook", address=""),
        payload=b'{"order":4711}',
        signing_secrets=(OURS,),
    )


def wait_until(done: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 5
    while not done():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def signed(secret: str, *, body: str = '{"n":1}', id: str = "run_1", ago: int = 0) -> dict[str, str]:
    at = datetime.now(UTC) - timedelta(seconds=ago)
    return {
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body),
    }


def without(name: str) -> dict[str, str]:
    return {known: value for known, value in signed(OURS).items() if known != name}


def also_signed_otherwise() -> dict[str, str]:
    return signed(OURS) | {"webhook-signature": f"v1,AAAA v2,BBBB {signed(OURS)['webhook-signature']}"}


@pytest.mark.parametrize(
    ("made", "is_ours"),
    [
        (lambda: signed(OURS), True),
        (lambda: signed(NEXT), True),
        (lambda: signed(OURS, ago=240), True),
        (also_signed_otherwise, True),
        (lambda: signed(OTHER), False),
        (lambda: signed(OURS, body='{"n":2}'), False),
        (lambda: signed(OURS, ago=330), False),
        (lambda: signed(OURS, ago=-330), False),
        (lambda: signed(OURS) | {"webhook-id": "run_2"}, False),
        (lambda: signed(OURS) | {"webhook-signature": "v1,"}, False),
        (lambda: signed(OURS) | {"webhook-timestamp": "soon"}, False),
        (lambda: without("webhook-signature"), False),
        (lambda: without("webhook-timestamp"), False),
        (lambda: without("webhook-id"), False),
    ],
)
def test_the_worker_believes_whom_the_public_library_believes(
    made: Callable[[], dict[str, str]], is_ours: bool
) -> None:
    headers = made()
    by_the_library = False
    for secret in (OURS, NEXT):
        with suppress(WebhookVerificationError):
            Webhook(secret).verify(b'{"n":1}', headers)
            by_the_library = True
    by_the_worker = False
    with suppress(NotSigned):
        verify((OURS, NEXT), headers, b'{"n":1}', now=time.time())
        by_the_worker = True
    assert (by_the_worker, by_the_library) == (is_ours, is_ours)


def test_a_run_that_comes_twice_is_done_once(deliver: Any, worker: Worker) -> None:
    assert deliver() == Delivered(http_status=204)
    assert deliver(token=2, attempt=2) == Delivered(http_status=204)
    assert worker.store.orders() == [("run_1", '{"order": 4711}')]


def test_an_attempt_that_was_overtaken_is_refused(deliver: Any, worker: Worker) -> None:
    assert worker.store.begin("run_1", 5) is Seen.NEW
    late = deliver(token=4)
    assert isinstance(late, Failed)
    assert late.http_status == 409
    assert worker.store.orders() == []


def test_a_request_that_can_never_succeed_is_not_tried_again(deliver: Any) -> None:
    for payload in (b"[1]", b""):
        refused = deliver(payload=payload)
        assert (refused.http_status, refused.retry) == (422, False)
    refused = deliver(payload=b'"' + b"x" * example.BODY_BYTES_MAX + b'"')
    assert (refused.http_status, refused.retry) == (413, False)


def test_a_receiver_that_is_not_believed_may_try_again(deliver: Any, worker: Worker) -> None:
    for secrets in ((OTHER,), ()):
        refused = deliver(signing_secrets=secrets)
        assert (refused.http_status, refused.retry) == (401, True)
    assert worker.store.orders() == []


def test_work_that_breaks_off_leaves_nothing_behind(
    deliver: Any, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = example.work

    def broken(payload: dict[str, Any], key: str, connection: sqlite3.Connection) -> None:
        honest(payload, key, connection)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(example, "work", broken)
    refused = deliver()
    assert (refused.http_status, refused.retry, refused.retry_after_seconds) == (503, True, 5)
    assert worker.store.orders() == []
    monkeypatch.setattr(example, "work", honest)
    assert deliver(token=2) == Delivered(http_status=204)
    assert len(worker.store.orders()) == 1


def test_long_work_is_kept_alive_and_completed_under_the_runs_own_id(
    deliver: Any, worker: Worker, told: Any
) -> None:
    assert deliver("/long-work", token=3) == Delivered(http_status=202)
    wait_until(lambda: bool(told[1]) and told[1][-1][0].endswith("/complete"))
    paths = [path for path, _ in told[1]]
    assert paths.count("/api/v1/runs/run_1/complete") == 1
    assert paths.count("/api/v1/runs/run_1/heartbeat") >= 2
    assert {body["token"] for _, body in told[1]} == {3}
    assert len(worker.store.orders()) == 1


def test_long_work_that_was_done_before_is_only_completed(deliver: Any, worker: Worker, told: Any) -> None:
    assert deliver() == Delivered(http_status=204)
    assert deliver("/long-work", token=2) == Delivered(http_status=202)
    wait_until(lambda: told[1] == [("/api/v1/runs/run_1/complete", {"token": 2})])
    assert len(worker.store.orders()) == 1


def test_a_receiver_that_lost_a_run_does_not_do_its_work(deliver: Any, worker: Worker, told: Any) -> None:
    told[2]["heartbeat"] = 409
    deliver("/long-work")
    wait_until(lambda: bool(told[1]))
    time.sleep(2 * worker.long_seconds)
    assert worker.store.orders() == []
    assert [path.rpartition("/")[2] for path, _ in told[1]] == ["heartbeat"]


def test_of_two_who_work_at_once_one_leaves_its_work(deliver: Any, worker: Worker, told: Any) -> None:
    deliver("/long-work", token=1)
    deliver("/long-work", token=2)
    wait_until(lambda: any(path.endswith("complete") and body["token"] == 2 for path, body in told[1]))
    time.sleep(worker.long_seconds)
    assert len(worker.store.orders()) == 1


def test_another_path_is_none(deliver: Any) -> None:
    assert deliver("/elsewhere").http_status == 404


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ="])
def test_a_secret_that_is_too_short_is_an_error_of_the_receiver(secret: str) -> None:
    with pytest.raises(ValueError, match="24 bytes"):
        verify((OURS, secret), signed(OURS), b'{"n":1}', now=time.time())


def test_a_timestamp_of_thousands_of_digits_is_not_signed() -> None:
    with pytest.raises(NotSigned):
        verify((OURS,), signed(OURS) | {"webhook-timestamp": "9" * 5_000}, b'{"n":1}', now=time.time())
