"""A name server that answers differently each time gains nothing: one question an attempt, every answer checked."""

import socket
import threading

import pytest

from postdate.targets.base import Delivered, Failed, Untried
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
    """Addresses to which connections are opened; none succeeds, and no other way to a resolver exists."""
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
    target = webhook(resolver=resolver)
    receipts = deliver.all(target, delivery("https://hooks.example.com:8443/"))
    assert receipts == [Failed(reason="connection refused", down=True)]
    assert elsewhere == [("93.184.215.14", 8443, "hooks.example.com")]
    assert lookup.asked == 1


def test_the_next_attempt_asks_again_and_checks_again(webhook, deliver, delivery, elsewhere):
    now = [100.0]
    resolver = Resolver(Rebinding("93.184.215.14", "169.254.169.254"), clock=lambda: now[0])
    target = webhook(resolver=resolver)
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
    target = webhook(resolver=resolver)
    receipts = deliver.all(target, delivery("https://hooks.example.com/"))
    assert receipts == [Failed(reason="dns failure: the name does not resolve", down=True)]


def test_a_dead_name_is_looked_up_once_for_all_deliveries_of_some_seconds(webhook, deliver, delivery):
    asked = []

    def lookup(host, port, **options):
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "x")

    attempts = [delivery("https://hooks.example.com/") for _ in range(100)]
    receipts = deliver.all(webhook(resolver=Resolver(lookup)), *attempts)
    assert receipts == [Failed(reason="dns failure: the name does not resolve", down=True)] * 100
    assert len(asked) == 1


def test_a_wait_for_our_own_threads_is_no_failure_of_the_destination(
    receiver, webhook, deliver, delivery, elsewhere
):
    go = threading.Event()

    def lookup(host, port, **options):
        if host.startswith("dead"):
            go.wait(2)
            raise socket.gaierror(socket.EAI_AGAIN, "x")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 0))]

    resolver = Resolver(lookup, threads=4, tenant_threads=2)
    target = webhook(resolver=resolver, queued_seconds=0.1, name_seconds=0.2)
    dead = [delivery(f"https://dead{number}.example.com/", tenant="bad") for number in range(8)]
    good = [delivery(f"https://{number}.example.com/", tenant="good") for number in range(8)]
    receipts = deliver.all(target, *dead, *good)
    go.set()
    late = Failed(reason="dns failure: the name did not resolve in time", down=True)
    queued = Untried(reason="its name was not looked up in time", is_queued=True)
    assert receipts[:8] == [late] * 2 + [queued] * 6
    assert receipts[8:] == [Failed(reason="connection refused", down=True)] * 8


def test_a_name_server_that_is_slow_holds_up_nobody_else(receiver, webhook, deliver, delivery):
    go = threading.Event()

    def lookup(host, port, **options):
        go.wait(2)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 0))]

    resolver = Resolver(lookup)
    target = webhook(resolver=resolver, name_seconds=0.05)
    slow = [delivery(f"https://{number}a.example.com/") for number in range(20)]
    receipts = deliver.all(target, *slow, delivery(receiver().url))
    go.set()
    late = Failed(reason="dns failure: the name did not resolve in time", down=True)
    assert receipts == [late] * 20 + [Delivered(http_status=200)]
