"""A name server that answers differently each time gains nothing: one question an attempt, every answer checked."""

import socket
import threading

import pytest

from postdate.targets.base import Delivered, Failed
from postdate.targets.guard import check_url
from postdate.targets.resolver import Resolver


class Rebinding:
    """Public when the guard asks, private for whoever asks after it."""

    def __init__(self, *answers):
        self.answers = answers
        self.asked = 0

    def __call__(self, host, port, **options):
        self.asked += 1
        address = self.answers[min(self.asked, len(self.answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))]


@pytest.fixture
def elsewhere(monkeypatch):
    """Where connections are opened to, none of which comes about; and no other way to a resolver."""
    tried = []

    async def create_connection(loop, protocol, host, port, **options):
        tried.append((host, port, options["server_hostname"]))
        raise ConnectionRefusedError

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.create_connection", create_connection)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: pytest.fail(f"asked for {args}"))
    return tried


def test_the_connection_goes_to_the_address_that_was_checked_and_the_name_is_asked_once(
    webhook, deliver, delivery, elsewhere
):
    lookup = Rebinding("93.184.215.14", "169.254.169.254")
    resolver = Resolver(lookup)
    target = webhook(
        check=lambda url, wait: check_url(url, loopback_allowed=False, resolve=resolver, wait_seconds=wait)
    )
    receipts = deliver.all(target, delivery("https://hooks.example.com:8443/"))
    assert receipts == [Failed(reason="connection refused", down=True)]
    assert elsewhere == [("93.184.215.14", 8443, "hooks.example.com")]
    assert lookup.asked == 1


def test_the_next_attempt_asks_again_and_checks_again(webhook, deliver, delivery, elsewhere):
    now = [100.0]
    resolver = Resolver(Rebinding("93.184.215.14", "169.254.169.254"), clock=lambda: now[0])
    target = webhook(
        check=lambda url, wait: check_url(url, loopback_allowed=False, resolve=resolver, wait_seconds=wait)
    )
    attempt = delivery("https://hooks.example.com/")
    assert deliver.all(target, attempt) == [Failed(reason="connection refused", down=True)]
    now[0] += 60
    assert deliver.all(target, attempt) == [
        Failed(reason="destination not allowed: private address", down=True)
    ]
    assert [host for host, *_ in elsewhere] == ["93.184.215.14"]


def test_a_name_that_does_not_resolve_is_tried_again_later(webhook, deliver, delivery):
    def lookup(host, port, **options):
        raise socket.gaierror(socket.EAI_NONAME, "x")

    resolver = Resolver(lookup)
    target = webhook(
        check=lambda url, wait: check_url(url, loopback_allowed=False, resolve=resolver, wait_seconds=wait)
    )
    receipts = deliver.all(target, delivery("https://hooks.example.com/"))
    assert receipts == [Failed(reason="destination not allowed: the name does not resolve", down=True)]


def test_a_name_server_that_is_slow_holds_up_nobody_else(receiver, webhook, deliver, delivery):
    go = threading.Event()

    def lookup(host, port, **options):
        go.wait(2)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 0))]

    resolver = Resolver(lookup)
    target = webhook(
        check=lambda url, wait: check_url(url, loopback_allowed=True, resolve=resolver, wait_seconds=wait),
        name_seconds=0.05,
    )
    slow = [delivery(f"https://{number}a.example.com/") for number in range(20)]
    receipts = deliver.all(target, *slow, delivery(receiver().url))
    go.set()
    late = Failed(reason="destination not allowed: the name did not resolve in time", down=True)
    assert receipts == [late] * 20 + [Delivered(http_status=200)]
