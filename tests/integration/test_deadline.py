"""A request has an end: AWS that accepts and never answers is told as 503 before the gateway gives up."""

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from cli.local.listening import Answering, listening
from functions.authorize.handler import handler as authorize
from postdate.stores.key_text import bearer_text
from tests.engines import Engines
from tests.integration.conftest import forget
from tests.integration.world import Client, Context, World

# Less than Lambda and the gateway give, so that the tests are short: what counts is what is left at the end.
REQUEST_SECONDS: Final = 14
GATEWAY_SECONDS: Final = 29
SLOW_SECONDS: Final = 2
AUTHORIZER_SECONDS: Final = 10
PAYMENT: Final = {"from_account_id": "a", "to_account_id": "b", "amount": 1, "delay_seconds": 60}
TASK: Final = {"delay_seconds": 60, "target": {"type": "webhook", "url": "http://127.0.0.1:9/"}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending(Context):
    """A context whose time runs out, as Lambda's does."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.seconds - self.spent) * 1000))


@contextmanager
def behind(engine: Engines, delay: Callable[[bytes], float | None]) -> Iterator[str]:
    """The local engine, behind an endpoint that keeps a call for so many seconds, or for ever."""

    class Behind(Answering):
        def called(self) -> None:
            body = self.body()
            seconds = delay(body)
            if seconds is None:
                self.wait_until_the_caller_has_gone(seconds=60)
                return
            time.sleep(seconds)
            with suppress(OSError):
                self._forward(body)

        def _forward(self, body: bytes) -> None:
            is_dynamodb = self.headers.get("X-Amz-Target", "").startswith("DynamoDB")
            url = (engine.dynamodb_url if is_dynamodb else None) or engine.place.endpoint_url
            connection = http.client.HTTPConnection(urlsplit(url).netloc)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type", ""))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    with listening(Behind) as url:
        yield url


@pytest.fixture
def wired_to(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def wire(endpoint: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB", raising=False)
        for variable, url in world.environment.items():
            if variable.endswith("_QUEUE_URL"):
                monkeypatch.setenv(variable, endpoint + urlsplit(url).path)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        forget()

    yield wire
    forget()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/payments/schedule", PAYMENT),
        ("POST", "/api/v1/tasks", TASK),
        ("GET", "/api/v1/tasks", None),
    ],
    ids=["a payment", "a task", "a list"],
)
def test_a_request_is_answered_before_its_gateway_gives_up(
    method: str,
    path: str,
    body: Any,
    client: Client,
    world: World,
    engine: Engines,
    wired_to: Callable[[str], None],
) -> None:
    """The key is known, and nothing else is answered."""
    keys = world.tables["keys"].encode()
    with behind(engine, lambda asked: 0 if keys in asked else None) as endpoint:
        wired_to(endpoint)
        context = Ending(seconds=REQUEST_SECONDS)
        answer = client.call(method, path, body, {"idempotency-key": "key"}, context=context)
        assert context.get_remaining_time_in_millis() > 3000
    assert answer.status == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body["code"] == "unavailable"


def test_many_slow_calls_of_one_request_do_not_outlive_it_either(
    client: Client, engine: Engines, wired_to: Callable[[str], None]
) -> None:
    """Each call succeeds, and there are too many of them."""
    batch = {"payments": [PAYMENT | {"idempotency_key": f"slow-{number}"} for number in range(100)]}
    with behind(engine, lambda _: SLOW_SECONDS) as endpoint:
        wired_to(endpoint)
        context = Ending(seconds=GATEWAY_SECONDS)
        answer = client.call("POST", "/api/v1/payments/schedule/batch", batch, context=context)
        assert context.get_remaining_time_in_millis() > 3000
        assert context.spent > 4 * SLOW_SECONDS
    codes = [result["error"]["code"] for result in answer.body["results"]]
    assert (answer.status, len(codes)) == (200, 100)
    assert set(codes) == {"not_found", "unavailable"}, "some are answered in time, the others later"


def test_a_caller_is_unknown_for_now_before_the_authorizers_time_is_up(
    engine: Engines, wired_to: Callable[[str], None]
) -> None:
    with behind(engine, lambda _: None) as endpoint:
        wired_to(endpoint)
        context = Ending(seconds=AUTHORIZER_SECONDS)
        found = authorize(
            {"headers": {"authorization": f"Bearer {bearer_text('0' * 16, 'secret')}"}}, context
        )
        assert context.get_remaining_time_in_millis() > 500
    assert found["context"]["unavailable"] == "true"
