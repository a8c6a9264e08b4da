import base64
import gzip
import os
import socket
import struct
import time
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from postdate.targets.base import Delivered, Failed
from postdate.targets.resolver import Resolver
from tests.unit.targets.names import answer

SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()


def status(code, headers=b"", body=b""):
    return b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (code, headers, len(body), body)


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def test_the_receiver_gets_the_payload_and_every_header_of_the_contract(receiver, deliver):
    there = receiver()
    receipt = deliver(there.url, signing_secrets=(SECRET,), headers=(("Authorization", "Bearer x"),))
    assert receipt == Delivered(http_status=200)
    assert there.requests[0][0].startswith(b"POST /hook?a=1 HTTP/1.1\r\n")
    assert there.body() == b'{"n":1}'
    headers = there.headers()
    signature = headers.pop("webhook-signature")
    assert headers == {
        "Host": f"127.0.0.1:{there.port}",
        "Content-Length": "7",
        "User-Agent": "Postdate/1",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Idempotency-Key": "run-1",
        "Postdate-Task-Id": "task-1",
        "Postdate-Run-Id": "run-1",
        "Postdate-Depth": "1",
        "Postdate-Attempt": "2",
        "Postdate-Token": "7",
        "Postdate-Planned-At": "2026-11-18T10:05:00.250Z",
        "webhook-id": "run-1",
        "webhook-timestamp": "1794996300",
        "Authorization": "Bearer x",
    }
    at = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
    assert signature == Webhook(SECRET).sign("run-1", at, '{"n":1}')


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_method_is_the_tasks(receiver, deliver, method):
    there = receiver()
    deliver(there.url, method=method)
    assert there.requests[0][0].startswith(method.encode() + b" /")


@pytest.mark.parametrize("method", ["GET", "DELETE", "CONNECT", "POST /x HTTP/1.1\r\nHost: evil\r\n\r\nPOST"])
def test_a_method_without_a_body_or_worse_is_never_sent(receiver, deliver, method):
    there = receiver()
    receipt = deliver(there.url, method=method)
    assert not receipt.retry
    assert there.connections == 0


def test_a_task_without_a_payload_sends_null(receiver, deliver):
    there = receiver()
    deliver(there.url, payload=b"")
    assert there.body() == b"null"


def test_a_payload_larger_than_the_socket_takes_arrives_whole(receiver, deliver):
    there = receiver()
    payload = b'"' + os.urandom(128 * 1024).hex().encode() + b'"'
    assert deliver(there.url, payload=payload) == Delivered(http_status=200)
    assert there.body() == payload


@pytest.mark.parametrize(
    ("answer", "receipt"),
    [
        (status(204), Delivered(http_status=204)),
        (status(410), Failed(reason="http 410", retry=False, http_status=410)),
        (status(422), Failed(reason="http 422", retry=False, http_status=422)),
        (
            status(500, b"POSTDATE-Retry: never\r\n"),
            Failed(reason="http 500", retry=False, http_status=500, down=True),
        ),
        (
            status(429, b"Retry-After: 7\r\n"),
            Failed(reason="http 429", http_status=429, retry_after_seconds=7),
        ),
        (
            status(503, b"retry-after: Wed, 18 Nov 2026 10:05:10 GMT\r\n"),
            Failed(reason="http 503", http_status=503, retry_after_seconds=9.75, down=True),
        ),
        (status(500, body=b"secret stack trace"), Failed(reason="http 500", http_status=500, down=True)),
        (b"HTTP/1.0 200 OK\n\n", Delivered(http_status=200)),
        (b"HTTP/1.1 200\r\n\r\n", Delivered(http_status=200)),
        (
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\n" + status(201),
            Delivered(http_status=201),
        ),
        (b"HTTP/1.1 101 Switching\r\n\r\n", Failed(reason="http 101", http_status=101)),
        (b"HTTP/2 200 OK\r\n\r\n", Failed(reason="the answer is not HTTP", down=True)),
        (b"HTTP/1.1 2000 OK\r\n\r\n", Failed(reason="the answer is not HTTP", down=True)),
        (b"HTTP/1.1 099 X\r\n\r\n", Failed(reason="the answer is not HTTP", down=True)),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Failed(reason="the answer is not HTTP", down=True)),
        (b"\r\n\r\n", Failed(reason="the answer is not HTTP", down=True)),
    ],
)
def test_the_receipt_follows_from_the_answer(receiver, deliver, answer, receipt):
    def once(sock):
        sock.sendall(answer)
        return False

    assert deliver(receiver(once).url) == receipt


def test_a_redirect_is_not_followed(receiver, deliver):
    inside = receiver()
    outside = receiver(status(302, b"Location: http://127.0.0.1:%d/\r\n" % inside.port))
    assert deliver(outside.url) == Failed(reason="redirect refused", http_status=302)
    assert inside.connections == 0


def test_no_proxy_of_the_environment_is_asked(receiver, deliver, monkeypatch):
    proxy, there = receiver(), receiver()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "")
    assert deliver(there.url) == Delivered(http_status=200)
    assert proxy.connections == 0


def test_a_line_break_in_a_header_is_never_sent(receiver, deliver):
    there = receiver()
    for header in [("X-Evil", "a\r\nHost: b"), ("X-Evil: a\r\nHost", "b"), ("Host", "b"), ("X", "\u010a")]:
        assert deliver(there.url, headers=(header,)) == Failed(
            reason="header not allowed", retry=False, heard=False
        )
    assert there.connections == 0


def test_a_receiver_that_drips_its_head_costs_the_timeout_and_no_more(receiver, deliver):
    def drip(sock):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000:
            sock.sendall(bytes([byte]))
            time.sleep(0.005)

    began = time.monotonic()
    assert deliver(receiver(drip).url, timeout_seconds=0.15) == Failed(reason="timed out", down=True)
    assert time.monotonic() - began < 0.9


def test_a_receiver_that_drips_its_body_does_not_hold_the_receipt_up(receiver, webhook, deliver, delivery):
    def drip(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for _ in range(100):
            sock.sendall(b"x")
            time.sleep(0.01)

    target = webhook(drain_seconds=5)
    began = time.monotonic()
    receipts = deliver.all(target, delivery(receiver(drip).url, timeout_seconds=0.3))
    assert receipts == [Delivered(http_status=200)]
    assert time.monotonic() - began < 0.3


def test_a_receiver_that_never_answers_times_out(receiver, deliver):
    assert deliver(receiver(lambda sock: None).url, timeout_seconds=0.05) == Failed(
        reason="timed out", down=True
    )


def test_a_receiver_that_never_reads_times_out(deliver):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert deliver(url, payload=b"x" * 20_000_000, timeout_seconds=0.1) == Failed(
            reason="timed out", down=True
        )


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n"]
)
def test_no_more_than_16_kb_of_a_huge_body_is_read(receiver, webhook, deliver, delivery, head):
    took = []

    def flood(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        sock.settimeout(2)
        sock.sendall(head + b"\r\n")
        try:
            while sum(took) < 50_000_000:
                took.append(sock.send(b"x" * 65536))
        except OSError:
            pass
        return False

    there = receiver(flood)
    assert deliver(there.url) == Delivered(http_status=200)
    there.close()
    assert sum(took) < 8_000_000  # what the kernel's own buffers took, not we


def test_a_head_longer_than_16_kb_is_no_answer(receiver, deliver):
    there = receiver(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000)
    assert deliver(there.url) == Failed(reason="the answer is too long", down=True)


def test_endless_interim_answers_are_no_answer(receiver, deliver):
    there = receiver(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
    assert deliver(there.url) == Failed(reason="the answer is too long", down=True)


def test_a_gzip_bomb_stays_packed(receiver, webhook, deliver, delivery):
    bomb = gzip.compress(b"\0" * 10_000_000)
    assert len(bomb) < 16_000
    there = receiver(status(200, b"Content-Encoding: gzip\r\n", bomb))
    target = webhook()
    for _ in range(2):
        assert deliver.all(target, delivery(there.url)) == [Delivered(http_status=200)]
        time.sleep(0.02)  # for its body
    assert there.connections == 1


def test_a_reset_after_the_request_was_read_is_retried_by_the_policy_only(receiver, deliver):
    there = receiver(reset)
    assert deliver(there.url) == Failed(reason="connection closed before an answer", down=True)
    assert len(there.requests) == 1


def test_a_close_in_the_middle_of_the_head_is_no_answer(receiver, deliver):
    def half(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-")
        return False

    assert deliver(receiver(half).url) == Failed(reason="the answer ended early", down=True)


def test_a_port_where_nobody_listens_refuses(deliver):
    assert deliver(f"http://127.0.0.1:{closed_port()}/") == Failed(reason="connection refused", down=True)


def test_a_connection_that_does_not_come_about_times_out(webhook, deliver, delivery):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        place = server.getsockname()
        waiting = [socket.socket() for _ in range(2)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(place)
        target = webhook(connect_seconds_max=0.05)
        receipts = deliver.all(target, delivery(f"http://127.0.0.1:{place[1]}/"))
        for one in waiting:
            one.close()
    assert receipts == [Failed(reason="connect timed out", down=True)]


@pytest.mark.parametrize(
    "url", ["https://169.254.169.254/", "https://[64:ff9b::a9fe:a9fe]/", "https://127.1/"]
)
def test_the_guard_stands_at_the_attempt_too(deliver, url):
    receipt = deliver(url)
    assert receipt == Failed(
        reason="destination not allowed: the host is numeric: only names are allowed",
        retry=False,
        heard=False,
    )


def test_a_name_that_now_points_inside_is_refused_but_may_be_mended(webhook, deliver, delivery):
    resolver = Resolver(lambda host, port, **options: answer("93.184.215.14", "10.0.0.1"))
    receipts = deliver.all(webhook(resolver=resolver), delivery("https://hooks.example.com/"))
    assert receipts == [Failed(reason="destination not allowed: private address", down=True)]


def test_a_fault_of_our_own_is_a_receipt_and_quotes_nothing(webhook, deliver, delivery, caplog):
    def endpoint(url):
        raise RuntimeError("secret")

    assert deliver.all(webhook(endpoint=endpoint), delivery("https://a.example/")) == [
        Failed(reason="internal error", heard=False)
    ]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text.replace('raise RuntimeError("secret")', "")


def test_one_bad_delivery_spoils_none_of_its_neighbours(receiver, webhook, deliver, delivery):
    good, bad = receiver(), receiver(reset)
    urls = [good.url, bad.url, "https://127.1/", good.url, f"http://127.0.0.1:{closed_port()}/", good.url]
    receipts = deliver.all(webhook(), *(delivery(url) for url in urls))
    assert [isinstance(receipt, Delivered) for receipt in receipts] == [True, False, False, True, False, True]


def test_deliveries_go_side_by_side(receiver, webhook, deliver, delivery):
    def slow(sock):
        time.sleep(0.1)
        sock.sendall(status(200))

    there = receiver(slow)
    began = time.monotonic()
    receipts = deliver.all(webhook(), *(delivery(there.url) for _ in range(25)))
    assert receipts == [Delivered(http_status=200)] * 25
    assert time.monotonic() - began < 2
