"""Connections that the next delivery may and may not use."""

import asyncio
import socket
import threading
import time

import pytest

from postdate.targets.base import Delivered, Failed
from postdate.targets.connection import Connection

OK = Delivered(http_status=200)


def twice(target, deliver, delivery, url, between=lambda: None):
    first = deliver.all(target, delivery(url))
    between()
    return first + deliver.all(target, delivery(url))


KEPT = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=1\r\nok\r\nA\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
]
DROPPED = [
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok-and-more",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: 1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
]


@pytest.mark.parametrize("answer", KEPT)
def test_an_answer_that_ends_where_it_should_leaves_the_connection_open(
    receiver, webhook, deliver, delivery, answer
):
    there = receiver(answer)
    assert all(isinstance(receipt, Delivered) for receipt in twice(webhook(), deliver, delivery, there.url))
    assert (there.connections, len(there.requests)) == (1, 2)


@pytest.mark.parametrize("answer", DROPPED)
def test_an_answer_with_an_unsure_end_costs_the_connection(receiver, webhook, deliver, delivery, answer):
    there = receiver(answer)
    assert twice(webhook(), deliver, delivery, there.url) == [OK, OK]
    assert (there.connections, len(there.requests)) == (2, 2)


def test_a_body_that_comes_a_moment_later_leaves_the_connection_open(receiver, webhook, deliver, delivery):
    def late(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no")
        time.sleep(0.005)
        sock.sendall(b"k\r\n0\r\n\r\n")

    there = receiver(late)
    assert twice(webhook(drain_seconds=1), deliver, delivery, there.url, lambda: time.sleep(0.05)) == [OK, OK]
    assert there.connections == 1


def test_an_answer_nobody_asked_for_is_not_taken_for_the_next_one(receiver, webhook, deliver, delivery):
    sockets = []

    def answer(sock):
        sockets.append(sock)
        sock.sendall(KEPT[0])

    there = receiver(answer)

    def smuggle():
        sockets[0].sendall(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")

    assert twice(webhook(), deliver, delivery, there.url, smuggle) == [OK, OK]
    assert there.connections == 2


def test_a_receiver_that_hung_up_in_between_is_called_anew(receiver, webhook, deliver, delivery):
    sockets = []

    def answer(sock):
        sockets.append(sock)
        sock.sendall(KEPT[0])

    there = receiver(answer)
    hang_up = lambda: sockets[0].shutdown(socket.SHUT_RDWR)  # noqa: E731
    assert twice(webhook(), deliver, delivery, there.url, hang_up) == [OK, OK]
    assert (there.connections, len(there.requests)) == (2, 2)


def test_a_kept_connection_that_ends_without_an_answer_is_tried_once_more_on_a_new_one(
    receiver, webhook, deliver, delivery
):
    requests = []

    def every_second(sock):
        requests.append(sock)
        if len(requests) == 2:
            return False
        sock.sendall(KEPT[0])
        return None

    there = receiver(every_second)
    assert twice(webhook(), deliver, delivery, there.url) == [OK, OK]
    assert (there.connections, len(there.requests)) == (2, 3)
    assert there.headers(1) == there.headers(2)


def test_a_new_connection_that_ends_without_an_answer_is_not_tried_again(
    receiver, webhook, deliver, delivery
):
    there = receiver(lambda sock: False)
    receipts = deliver.all(webhook(), delivery(there.url))
    assert receipts == [Failed(reason="connection closed before an answer", down=True)]
    assert len(there.requests) == 1


@pytest.mark.parametrize("seconds", [21, -1])
def test_a_connection_that_rested_too_long_or_before_the_clock_went_back_is_not_used(
    receiver, webhook, deliver, delivery, seconds
):
    now = [1000.0]
    there = receiver()
    target = webhook(clock=lambda: now[0])

    def pause():
        now[0] += seconds

    assert twice(target, deliver, delivery, there.url, pause) == [OK, OK]
    assert there.connections == 2


def test_the_longest_unused_connection_goes_first_when_there_are_too_many(
    receiver, webhook, deliver, delivery
):
    one, two, three = receiver(), receiver(), receiver()
    target = webhook(idle_max=2)
    for there in (one, two, one, three, one, two):
        deliver.all(target, delivery(there.url))
    assert (one.connections, two.connections, three.connections) == (1, 2, 1)


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 410 Gone\r\n\r\n"])
def test_a_connection_closed_while_the_process_was_frozen_is_noticed_before_the_loop_runs(last_words):
    """The loop would notice one turn later, when the request is already out."""

    async def frozen_and_thawed(server):
        loop = asyncio.get_running_loop()
        place = server.getsockname()
        _, connection = await loop.create_connection(lambda: Connection(("http", "", 0, "")), *place)
        there, _ = server.accept()
        usable = connection.is_usable()
        there.sendall(last_words)
        there.close()
        time.sleep(0.01)
        after = connection.is_usable()
        connection.abort()
        await asyncio.sleep(0)
        return usable, after

    with socket.create_server(("127.0.0.1", 0)) as server:
        assert asyncio.run(frozen_and_thawed(server)) == (True, False)


def test_a_body_that_does_not_come_costs_the_connection_after_a_moment(receiver, webhook, deliver, delivery):
    ended = threading.Event()

    def withhold(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        if sock.recv(1) == b"":
            ended.set()
        return False

    assert deliver.all(webhook(), delivery(receiver(withhold).url)) == [OK]
    assert ended.wait(1)
