"""A real socket each: what is tested is how the receiver behaves towards one."""

import http.client
from collections.abc import Iterator
from queue import Queue
from urllib.parse import urlsplit

import pytest

from chaos.receiver import Receiver, receiving
from chaos.seen import Arrival

acknowledged: Queue[Arrival] = Queue()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving(acknowledged.put) as running:
        yield running


def call(receiver: Receiver, path: str, attempt: int = 1, timeout: float = 5) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(receiver.url).netloc, timeout=timeout)
    headers = {
        "Postdate-Task-Id": "task_1",
        "webhook-id": "run_1",
        "Idempotency-Key": "run_1",
        "Postdate-Token": str(attempt),
        "Postdate-Attempt": str(attempt),
        "Postdate-Planned-At": "2026-11-18T10:05:00.000Z",
    }
    try:
        connection.request("POST", path, body=b"{}", headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def test_it_misbehaves_for_as_many_attempts_as_the_path_says(receiver: Receiver) -> None:
    assert [call(receiver, "/500/1", attempt).status for attempt in (1, 2)] == [500, 204]
    assert receiver.tempers == {"500": 1, "fine": 1}
    assert [(arrival.run, arrival.token) for arrival in receiver.arrivals] == [("run_1", 1), ("run_1", 2)]


def test_it_asks_for_time(receiver: Receiver) -> None:
    answer = call(receiver, "/429/1")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "2")


def test_it_takes_all_and_resets_the_connection(receiver: Receiver) -> None:
    with pytest.raises(ConnectionResetError):
        call(receiver, "/reset/1")
    assert len(receiver.arrivals) == 1


def test_it_says_nothing_to_who_waits(receiver: Receiver) -> None:
    with pytest.raises(TimeoutError):
        call(receiver, "/hang/1", timeout=0.2)
    assert len(receiver.arrivals) == 1


def test_an_accepted_run_is_handed_on_for_its_acknowledgement(receiver: Receiver) -> None:
    assert call(receiver, "/word/99").status == 202
    assert acknowledged.get(timeout=5).run == "run_1"
