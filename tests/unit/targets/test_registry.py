import ast
import json
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import pytest

from functions.api.forms import parsed
from functions.api.tasks import targets as forms
from postdate.domain.task import Destination
from postdate.targets import webhook
from postdate.targets.base import Delivered, Failed
from postdate.targets.kind import HIDDEN, Parts
from postdate.targets.registry import KINDS, Targets, circuit_of
from postdate.targets.resolver import Resolver

# One destination of each kind as a request writes it, the address that it names, and its breaker.
WRITTEN = {
    "webhook": (
        {"url": "https://User@Example.com:8443/hook?a=1", "method": "PUT", "headers": {"X-Key": "secret"}},
        "https://User@Example.com:8443/hook?a=1",
        "webhook:example.com:8443",
    ),
    "sqs": ({"queue_url": "https://sqs/Q"}, "https://sqs/Q", "sqs:https://sqs/Q"),
    "sns": ({"topic_arn": "arn:T"}, "arn:T", "sns:arn:T"),
    "eventbridge": ({"bus": "b", "detail_type": "d"}, "b", "eventbridge:b"),
}
SOURCES = [path for name in ("functions", "shared", "infra", "cli") for path in Path(name).rglob("*.py")]
OWN = Path("shared/postdate/targets")
# There "sqs" is a service of AWS, for our own queues.
SERVICES = Path("shared/postdate/runtime/aws.py")


class Service:
    """Answers for all services."""

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803
        return {"Successful": Entries}

    def publish_batch(self, *, TopicArn, PublishBatchRequestEntries):  # noqa: N803
        return {"Successful": PublishBatchRequestEntries}

    def put_events(self, *, Entries):  # noqa: N803
        return {"Entries": [{"EventId": "e"} for _ in Entries]}


@pytest.fixture
def built(clock):
    """Targets as workers build them, with the number of clients made of each."""
    made, kinds = Counter(), []

    def build(*, loopback_allowed=True, pool=None):
        def client(service):
            made[service] += 1
            return Service()

        kinds.append(Targets(Parts(client=client, now=clock, loopback_allowed=loopback_allowed, pool=pool)))
        return kinds[-1], made

    yield build
    for each in kinds:
        each["webhook"].close()


def delivered(targets, *deliveries):
    inbox = SimpleQueue()
    for each in deliveries:
        targets[each.destination.type].start([each], lambda *report: inbox.put(report))
    reports = [inbox.get(timeout=5) for _ in deliveries]
    return {delivery.run_id: receipt for delivery, receipt in reports}


def test_the_targets_of_the_executor_deliver_to_every_kind(receiver, delivery, built):
    there = receiver()
    with ThreadPoolExecutor(1) as pool:
        targets, _ = built(pool=pool)
        deliveries = [
            delivery(there.url if name == "webhook" else "a", run_id=name, type=name, allowed={"a"})
            for name in KINDS
        ]
        receipts = delivered(targets, *deliveries)
    assert receipts.pop("webhook") == Delivered(http_status=200)
    assert receipts == {name: Delivered() for name in KINDS if name != "webhook"}


def test_loopback_is_called_only_where_the_setting_allows_it(receiver, delivery, built):
    there = receiver()
    targets, _ = built(loopback_allowed=False)
    receipts = delivered(targets, delivery(there.url))
    assert receipts == {
        "run-1": Failed(reason="destination not allowed: the scheme is not https", retry=False, heard=False)
    }
    assert there.connections == 0


def test_names_that_hang_leave_most_resolver_threads_to_other_tenants(built, delivery, monkeypatch):
    begun, go = SimpleQueue(), threading.Event()

    def lookup(host, port, **options):
        begun.put(host)
        go.wait(10)
        raise socket.gaierror(socket.EAI_NONAME, "x")

    monkeypatch.setattr(webhook, "Resolver", partial(Resolver, lookup))
    targets, _ = built(loopback_allowed=False)
    inbox = SimpleQueue()
    names = [f"https://{number}.bad.example/" for number in range(32)]
    for tenant, urls in (("bad", names), ("good", ["https://good.example/"])):
        deliveries = [delivery(url, run_id=url, tenant=tenant) for url in urls]
        targets["webhook"].start(deliveries, lambda *report: inbox.put(report))
    looked_up = [begun.get(timeout=5) for _ in range(5)]
    go.set()
    for _ in range(33):
        inbox.get(timeout=10)
    assert "good.example" in looked_up


def test_a_client_is_made_once_and_only_for_a_kind_that_is_asked_for(built):
    targets, made = built()
    assert made == {}
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: targets["sqs"], range(32)))
    assert len(set(map(id, found))) == 1
    assert made == {"sqs": 1}


def test_a_kind_that_nobody_knows_has_no_target(built):
    targets, _ = built()
    assert "telegram" not in targets
    assert set(targets) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_destination_is_read_kept_and_shown_as_its_kind_says(name):
    written, address, circuit = WRITTEN[name]
    destination = parsed(forms.FORMS[name], json.dumps({"type": name, **written})).destination()
    assert (destination.type, destination.address) == (name, address)
    assert circuit_of(destination) == circuit
    shown = {
        field: dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else value
        for field, value in written.items()
    }
    assert forms.view(destination) == {"type": name, **shown}


def test_a_destination_of_a_newer_release_has_a_breaker_and_is_shown_without_its_address():
    newer = Destination(type="telegram", address="https://a/b")
    assert circuit_of(newer) == "telegram:https://a/b"
    assert forms.view(newer) == {"type": "telegram"}


@pytest.mark.parametrize("path", [path for path in SOURCES if OWN not in path.parents], ids=str)
def test_no_other_file_asks_which_kind_a_destination_is(path):
    """Other files ask the registry instead, so that a new kind needs no change there."""
    asked = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare | ast.MatchValue)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and part.value in KINDS
    ]
    assert path == SERVICES or asked == []
