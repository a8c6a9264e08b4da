"""The Python client against a real HTTP server that fails as it is told, and with a clock that only sleeping moves."""

import ast
import asyncio
import base64
import hmac
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest
from standardwebhooks import Webhook

from cli.local.listening import Answering, listening
from postdate_client import (
    ApiError,
    AsyncClient,
    Client,
    Conflict,
    ConnectionFailed,
    DeadlineExceeded,
    Forbidden,
    InsufficientFunds,
    InvalidState,
    NotFound,
    PostdateError,
    RateLimited,
    Retry,
    Unauthenticated,
    Unavailable,
    ValidationFailed,
    webhooks,
)
from postdate_client.retry import asked_seconds
from postdate_client.transport import Answer

FOLDER: Final = Path("client")
PAYMENT: Final = {"from_account_id": "a", "to_account_id": "b", "amount": 5, "delay_seconds": 9}
LOST: Final = "lost"
SECRET: Final = "whsec_" + base64.b64encode(b"a secret of 24 characters").decode()


def problem(status: int, code: str = "", **headers: str) -> tuple[int, dict[str, str], Any]:
    return status, headers, {"code": code, "detail": "no", "request_id": "r-1", "errors": []}


def good(body: Any) -> tuple[int, dict[str, str], Any]:
    return 200, {}, body


@dataclass
class Api:
    """Answers by its script; the last entry stays. LOST takes the request and sends no answer."""

    url: str = ""
    script: list[Any] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 0.0

    def client(self, **settings: Any) -> Client:
        def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.now += seconds

        return Client(
            self.url, "pd_1_secret", clock=lambda: self.now, sleep=sleep, draw=lambda: 1.0, **settings
        )

    def async_client(self, **settings: Any) -> AsyncClient:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.now += seconds

        return AsyncClient(
            self.url, "pd_1_secret", clock=lambda: self.now, sleep=sleep, draw=lambda: 1.0, **settings
        )

    @property
    def keys(self) -> list[str | None]:
        return [headers.get("idempotency-key") for _, _, headers, _ in self.asked]


@contextmanager
def serving(api: Api) -> Iterator[Api]:
    class Handler(Answering):
        def called(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            api.asked.append((self.command, self.path, headers, self.body()))
            step = api.script.pop(0) if len(api.script) > 1 else api.script[0]
            if step == LOST:
                self.close_connection = True
                return
            status, headers, body = step
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_PATCH(self) -> None:  # noqa: N802 - the name of http.server
            self.called()

        do_DELETE = do_PATCH  # noqa: N815 - the name of http.server

    with listening(Handler) as url:
        api.url = url
        yield api


@pytest.fixture
def api() -> Iterator[Api]:
    with serving(Api()) as running:
        yield running


class TestARegistration:
    @pytest.mark.parametrize("failure", [LOST, problem(503, "unavailable"), problem(429), problem(500)])
    def test_is_repeated_with_the_same_key_until_it_is_answered(self, api: Api, failure: Any) -> None:
        api.script = [failure, failure, good({"payment_id": "pay_1"})]
        with api.client() as client:
            assert client.schedule_payment(**PAYMENT) == {"payment_id": "pay_1"}
        assert len(api.asked) == 3
        assert len(set(api.keys)) == 1
        assert api.keys[0]
        assert len({body for *_, body in api.asked}) == 1

    def test_of_a_batch_has_a_key_for_each_item_and_the_same_at_each_attempt(self, api: Api) -> None:
        """A batch has no key of its own, so its items need theirs to be sent again."""
        api.script = [LOST, good({"results": [{"index": 0}, {"index": 1}]})]
        task = {"target": {"type": "sqs", "queue_url": "q"}, "delay_seconds": 1}
        with api.client() as client:
            assert len(client.schedule_payments([PAYMENT, {**PAYMENT, "idempotency_key": "order-1"}])) == 2
            assert len(client.register_tasks([task])) == 2
        first, again, tasks = [json.loads(body) for *_, body in api.asked]
        assert first == again
        keys = [each["idempotency_key"] for each in first["payments"]]
        assert (len(keys[0]) > 20, keys[1]) == (True, "order-1")
        assert tasks["tasks"][0]["idempotency_key"] not in (None, *keys)

    def test_has_a_key_of_its_own_unless_one_is_given(self, api: Api) -> None:
        api.script = [good({})]
        with api.client() as client:
            client.schedule_payment(**PAYMENT)
            client.schedule_payment(**PAYMENT)
            client.schedule_payment(**PAYMENT, idempotency_key="order-1")
        first, second, given = api.keys
        assert (first != second, given) == (True, "order-1")

    def test_waits_while_the_same_key_is_in_progress(self, api: Api) -> None:
        api.script = [problem(409, "idempotency_in_progress", Retry_After="3"), good({"task_id": "t"})]
        with api.client() as client:
            client.register_task(target={"type": "sqs", "queue_url": "q"}, delay_seconds=1)
        assert api.slept == [3.0]

    def test_sends_an_instant_with_its_offset_and_refuses_one_without(self, api: Api) -> None:
        api.script = [good({})]
        form = {name: value for name, value in PAYMENT.items() if name != "delay_seconds"}
        with api.client() as client:
            client.schedule_payment(**form, scheduled_time=datetime(2027, 1, 1, tzinfo=UTC))
            with pytest.raises(ValueError, match="time zone"):
                client.schedule_payment(**form, scheduled_time=datetime(2027, 1, 1))  # noqa: DTZ001
        assert json.loads(api.asked[0][3])["scheduled_time"] == "2027-01-01T00:00:00+00:00"
        assert len(api.asked) == 1


TASK: Final = {"target": {"type": "sqs", "queue_url": "q"}, "delay_seconds": 1}
KEYED: Final[dict[str, Any]] = {
    "a payment": lambda client, **key: client.schedule_payment(**PAYMENT, **key),
    "a task": lambda client, **key: client.register_task(**TASK, **key),
    "a run now": lambda client, **key: client.trigger_task("task_1", **key),
    "a backfill": lambda client, **key: client.backfill_task("task_1", from_="a", to="b", **key),
    "a deposit": lambda client, **key: client.deposit("a", amount=5, **key),
    "an adjustment": lambda client, **key: client.adjust("a", amount=-5, reason="r", **key),
}
BATCHES: Final[dict[str, Any]] = {
    "payments": (lambda client, items: client.schedule_payments(items), PAYMENT),
    "tasks": (lambda client, items: client.register_tasks(items), TASK),
}
UNSURE: Final = pytest.mark.parametrize(
    ("failure", "settings"),
    [
        (LOST, {}),
        (problem(503), {}),
        (problem(503, Retry_After="50"), {"deadline_seconds": 9.0}),
        (problem(422), {}),
    ],
)


class TestAnErrorOfARegistration:
    """The caller sends the request again with what the error tells."""

    @UNSURE
    @pytest.mark.parametrize("asked", KEYED)
    def test_names_the_key_that_the_client_drew(
        self, api: Api, asked: str, failure: Any, settings: dict[str, float]
    ) -> None:
        api.script = [failure]
        with api.client(**settings) as client:
            with pytest.raises(PostdateError) as raised:
                KEYED[asked](client)
            assert raised.value.idempotency_key is not None
            with pytest.raises(PostdateError) as again:
                KEYED[asked](client, idempotency_key=raised.value.idempotency_key)
        assert set(api.keys) == {raised.value.idempotency_key} == {again.value.idempotency_key}

    @UNSURE
    @pytest.mark.parametrize("things", BATCHES)
    def test_of_a_batch_has_the_items_with_their_keys(
        self, api: Api, things: str, failure: Any, settings: dict[str, float]
    ) -> None:
        api.script = [failure]
        sent, item = BATCHES[things]
        with api.client(**settings) as client:
            with pytest.raises(PostdateError) as raised:
                sent(client, [item, {**item, "idempotency_key": "order-1"}])
            api.script = [good({"results": []})]
            sent(client, raised.value.sent)
        assert raised.value.sent[1]["idempotency_key"] == "order-1"
        assert {body for *_, body in api.asked} == {api.asked[0][3]}
        assert json.loads(api.asked[0][3]) == {things: raised.value.sent}

    def test_of_a_request_without_a_key_names_none(self, api: Api) -> None:
        api.script = [problem(404)]
        with api.client() as client, pytest.raises(NotFound) as raised:
            client.payment("pay_1")
        assert (raised.value.idempotency_key, raised.value.sent) == (None, ())

    def test_is_the_same_under_asyncio(self, api: Api) -> None:
        api.script = [problem(422)]

        async def refused() -> tuple[str | None, Any]:
            async with api.async_client() as client:
                with pytest.raises(ValidationFailed) as one:
                    await client.schedule_payment(**PAYMENT)
                with pytest.raises(ValidationFailed) as batch:
                    await client.schedule_payments([PAYMENT])
            return one.value.idempotency_key, batch.value.sent

        key, items = asyncio.run(refused())
        assert key == api.keys[0]
        assert json.loads(api.asked[1][3]) == {"payments": items}


class TestAForm:
    def test_is_sent_by_the_names_of_the_api_and_as_text(self, api: Api) -> None:
        """A mapping need not be a dictionary, and an instant may stand in a payload."""
        api.script = [good({"next": []})]
        at, pairs = datetime(2027, 1, 1, tzinfo=UTC), MappingProxyType({"order": "1"})
        with api.client() as client:
            client.preview("0 6 * * *", from_=at)
            client.schedule_payment(**PAYMENT, metadata=pairs, funding=None)
            client.register_task(target={"type": "sqs", "queue_url": "q"}, run_at=at, payload={"at": at})
            client.change_payment("pay_1", description=None)
            client.backfill_task("task_1", from_=at, to=at)
        bodies = [json.loads(body) for *_, body in api.asked]
        text = "2027-01-01T00:00:00+00:00"
        assert bodies[0] == {"cron": "0 6 * * *", "from": text}
        assert bodies[1] == {**PAYMENT, "metadata": {"order": "1"}}
        assert (bodies[2]["run_at"], bodies[2]["payload"]) == (text, {"at": text})
        assert bodies[3] == {"description": None}
        assert bodies[4] == {"from": text, "to": text}

    def test_with_a_value_that_json_lacks_is_not_sent(self, api: Api) -> None:
        api.script = [good({})]
        with api.client() as client, pytest.raises(TypeError, match="set has no form in JSON"):
            client.register_task(target={"type": "sqs", "queue_url": "q"}, delay_seconds=1, payload={1})
        assert api.asked == []


class TestRetries:
    def test_pauses_double_to_their_bound(self, api: Api) -> None:
        api.script = [problem(503)]
        retry = Retry(attempts=7, initial_seconds=1, max_seconds=8)
        with api.client(retry=retry) as client, pytest.raises(Unavailable):
            client.whoami()
        assert api.slept == [1, 2, 4, 8, 8, 8]

    @pytest.mark.parametrize(("draw", "pause"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
    def test_a_pause_is_drawn_from_half_to_all_of_its_bound(self, draw: float, pause: float) -> None:
        assert Retry(initial_seconds=1).pause(1, draw=draw, asked=None) == pause

    def test_a_thousandth_attempt_still_has_a_pause(self) -> None:
        assert Retry().pause(1_000, draw=1.0, asked=None) == 20

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("7", 7.0),
            ("Thu, 19 Nov 2026 12:00:30 GMT", 30.0),
            ("Thu, 19 Nov 2020 12:00:00 GMT", 0.0),
            ("soon", None),
            (None, None),
        ],
    )
    def test_retry_after_is_seconds_or_a_date(self, text: str | None, seconds: float | None) -> None:
        assert asked_seconds(text, datetime(2026, 11, 19, 12, tzinfo=UTC)) == seconds

    def test_retry_after_is_obeyed_beyond_the_own_bound(self, api: Api) -> None:
        api.script = [problem(429, "quota_exceeded", Retry_After="31"), good({})]
        with api.client() as client:
            client.whoami()
        assert api.slept == [31]

    def test_no_attempt_begins_after_the_deadline(self, api: Api) -> None:
        api.script = [problem(503, Retry_After="50")]
        with api.client(deadline_seconds=60) as client, pytest.raises(DeadlineExceeded) as raised:
            client.whoami()
        assert (len(api.asked), api.now) == (2, 50)
        assert isinstance(raised.value.__cause__, Unavailable)

    @pytest.mark.parametrize("failure", [LOST, problem(503)])
    def test_a_request_that_could_change_something_twice_is_sent_once(self, api: Api, failure: Any) -> None:
        api.script = [failure]
        with api.client() as client:
            with pytest.raises((ConnectionFailed, Unavailable)):
                client.request("POST", "/api/v1/accounts/a/close")
            with pytest.raises((ConnectionFailed, Unavailable)):
                client.change_payment("pay_1", version=2, amount=7)
        assert len(api.asked) == 2
        assert api.asked[1][2]["if-match"] == '"2"'

    def test_a_cancel_is_repeated(self, api: Api) -> None:
        api.script = [LOST, good({"success": True})]
        with api.client() as client:
            assert client.cancel_payment("pay_1") == {"success": True}

    def test_nobody_there_is_a_connection_that_failed(self) -> None:
        nobody = Client("http://127.0.0.1:9", "k", sleep=lambda _: None)
        with nobody as client, pytest.raises(ConnectionFailed, match="whoami"):
            client.whoami()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(422, "validation_failed"), ValidationFailed),
        (problem(401, "unauthenticated"), Unauthenticated),
        (problem(403, "forbidden"), Forbidden),
        (problem(404, "not_found"), NotFound),
        (problem(409, "invalid_state"), InvalidState),
        (problem(409, "insufficient_funds"), InsufficientFunds),
        (problem(412, "version_conflict"), Conflict),
        (problem(429, "quota_exceeded"), RateLimited),
        (problem(503, "unavailable"), Unavailable),
        (problem(418), ApiError),
    ],
)
def test_a_refusal_is_an_error_with_the_request_id(api: Api, answer: Any, kind: type[ApiError]) -> None:
    api.script = [answer]
    with api.client(retry=Retry(attempts=1)) as client, pytest.raises(kind) as raised:
        client.payment("pay_1")
    assert type(raised.value) is kind
    assert (raised.value.status, raised.value.request_id) == (answer[0], "r-1")
    assert "r-1" in str(raised.value)


class TestReading:
    def test_a_list_is_walked_to_its_end(self, api: Api) -> None:
        api.script = [
            good({"payments": [{"n": 1}, {"n": 2}], "next_cursor": "c 1"}),
            good({"payments": [], "next_cursor": "c2"}),
            good({"payments": [{"n": 3}], "next_cursor": None}),
        ]
        with api.client() as client:
            assert [each["n"] for each in client.payments(status="PENDING")] == [1, 2, 3]
        paths = [path for _, path, *_ in api.asked]
        assert paths[0] == "/api/v1/payments?status=PENDING"
        assert paths[1] == "/api/v1/payments?status=PENDING&cursor=c+1"

    def test_filters_are_sent_by_the_names_of_the_api(self, api: Api) -> None:
        api.script = [good({"payments": [], "tasks": [], "next_cursor": None})]
        at = datetime(2027, 1, 1, tzinfo=UTC)
        with api.client() as client:
            list(client.payments(from_=at, until=None, metadata={"order": "1", "shop": "a b"}, limit=50))
            list(client.tasks(from_=at, order="desc"))
        asked = [dict(parse_qsl(urlsplit(path).query)) for _, path, *_ in api.asked]
        text = "2027-01-01T00:00:00+00:00"
        pairs = {"metadata.order": "1", "metadata.shop": "a b"}
        assert asked == [{"from": text, "limit": "50", **pairs}, {"from": text, "order": "desc"}]

    def test_an_item_is_awaited(self, api: Api) -> None:
        api.script = [
            good({"status": "PENDING"}),
            good({"status": "EXECUTING"}),
            good({"status": "COMPLETED"}),
        ]
        with api.client() as client:
            assert client.wait_for_payment("pay_1")["status"] == "COMPLETED"
        assert api.slept == [0.5, 0.5]

    def test_waiting_ends(self, api: Api) -> None:
        api.script = [good({"status": "PENDING"})]
        with api.client() as client, pytest.raises(DeadlineExceeded, match="pay_1 is PENDING after 3 s"):
            client.wait_for_payment("pay_1", seconds=3)
        assert api.now <= 3

    def test_an_id_cannot_leave_its_place_in_the_path(self, api: Api) -> None:
        api.script = [good({})]
        with api.client() as client:
            client.payment("../accounts?x")
        assert api.asked[0][1] == "/api/v1/payments/..%2Faccounts%3Fx"


def of_feed(*names: str, follow: str | None) -> tuple[int, dict[str, str], Any]:
    return good(
        {"events": [{"event_id": name} for name in names], "next_cursor": None, "follow_cursor": follow}
    )


@dataclass
class Holding:
    """A transport whose API holds each request for its `wait_seconds`, by the clock of `Api`, and has no event."""

    api: Api
    holds_seconds: float = 18.0
    timeouts: list[float] = field(default_factory=list)

    def send(self, method: str, path: str, headers: Any, body: bytes | None, timeout: float) -> Answer:
        assert len(self.timeouts) < 10
        self.timeouts.append(timeout)
        self.api.now += min(self.holds_seconds, timeout)
        if timeout < self.holds_seconds:
            raise ConnectionFailed(f"{method} {path}: timed out")
        _, _, page = of_feed(*(["last"] if len(self.timeouts) > 2 else []), follow="c1")
        return Answer(status=200, headers={}, body=json.dumps(page).encode())

    def close(self) -> None:
        pass


class TestFollowing:
    def test_goes_on_after_each_page_and_waits_for_the_next_event(self, api: Api) -> None:
        api.script = [
            of_feed(follow=None),
            of_feed("a", "b", follow="c1"),
            of_feed(follow="c1"),
            of_feed("c", follow="c2"),
        ]
        with api.client() as client:
            found = list(itertools.islice(client.events.follow(type="payment.*"), 3))
        assert [each.event["event_id"] for each in found] == ["a", "b", "c"]
        asked = [dict(parse_qsl(urlsplit(path).query)) for _, path, *_ in api.asked]
        assert [each.get("cursor") for each in asked] == [None, None, "c1", "c1"]
        assert all((each["type"], each["wait_seconds"]) == ("payment.*", "20") for each in asked)

    def test_a_kept_cursor_leaves_no_event_out(self, api: Api) -> None:
        """In the middle of a page the place to go on is the page's begin."""
        api.script = [of_feed("a", follow="c1"), of_feed("b", "c", follow="c2")]
        with api.client() as client:
            found = list(itertools.islice(client.events.follow(), 3))
        assert [each.cursor for each in found] == ["c1", "c1", "c2"]
        with api.client() as client:
            next(client.events.follow(cursor=found[1].cursor))
        assert "cursor=c1" in api.asked[-1][1]

    @pytest.mark.parametrize("failure", [LOST, problem(503), problem(500), problem(429)])
    def test_survives_an_outage_that_is_longer_than_a_request(self, api: Api, failure: Any) -> None:
        api.script = [of_feed("a", follow="c1"), *[failure] * 12, of_feed("b", follow="c2")]
        with api.client() as client:
            found = list(itertools.islice(client.events.follow(), 2))
        assert [each.event["event_id"] for each in found] == ["a", "b"]
        assert all("cursor=c1" in path for _, path, *_ in api.asked[1:])
        assert 20.0 in api.slept

    @pytest.mark.parametrize("settings", [{}, {"timeout_seconds": 1.0, "deadline_seconds": 2.0}])
    def test_waits_as_long_as_the_api_holds_a_quiet_request(self, settings: dict[str, float]) -> None:
        """A request that the client gives up loses the event that comes meanwhile until the follower asks again."""
        api = Api(url="http://127.0.0.1:9")
        held = Holding(api)
        with api.client(transport=held, **settings) as client:
            assert next(client.events.follow()).event["event_id"] == "last"
            assert [each["event_id"] for each in client.events.list(wait_seconds=20)] == ["last"]
        assert (len(held.timeouts), api.slept) == (4, [])
        assert min(held.timeouts) >= 20

    def test_no_other_request_waits_longer_than_the_timeout(self) -> None:
        api = Api(url="http://127.0.0.1:9")
        held = Holding(api, holds_seconds=0)
        with api.client(transport=held, timeout_seconds=3.0) as client:
            client.payment("pay_1")
            client.request("GET", "/api/v1/events", query={"wait_seconds": None})
        assert held.timeouts == [3, 3]

    def test_ends_with_a_refusal(self, api: Api) -> None:
        api.script = [problem(403, "forbidden")]
        with api.client() as client, pytest.raises(Forbidden):
            next(client.events.follow())

    def test_is_the_same_under_asyncio(self, api: Api) -> None:
        api.script = [of_feed("a", follow="c1"), LOST, of_feed("b", follow="c2")]

        async def followed() -> list[Any]:
            async with api.async_client() as client:
                found = []
                async for each in client.events.follow():
                    found.append((each.event["event_id"], each.cursor))
                    if len(found) == 2:
                        break
                return found

        assert asyncio.run(followed()) == [("a", "c1"), ("b", "c2")]


# The fault of one attempt, and the results of a repeatable request and of one that is sent once.
FAULTS: Final = {
    "lost": (LOST, True),
    "500": (problem(500), True),
    "502": (problem(502), True),
    "503": (problem(503, "unavailable", Retry_After="1"), True),
    "504": (problem(504), True),
    "429": (problem(429, "rate_limited", Retry_After="1"), True),
    "in progress": (problem(409, "idempotency_in_progress", Retry_After="1"), True),
    "409": (problem(409, "invalid_state"), False),
    "400": (problem(400, "malformed"), False),
    "401": (problem(401, "unauthenticated"), False),
    "403": (problem(403, "forbidden"), False),
    "404": (problem(404, "not_found"), False),
    "412": (problem(412, "version_conflict"), False),
    "422": (problem(422, "validation_failed"), False),
    "read only": (problem(503, "read_only"), True),
}
REQUESTS: Final[dict[str, tuple[Any, bool]]] = {
    "a read": (lambda client: client.payment("pay_1"), True),
    "a registration": (lambda client: client.schedule_payment(**PAYMENT), True),
    "a task": (lambda client: client.register_task(target={"type": "sqs"}, delay_seconds=1), True),
    "a run now": (lambda client: client.trigger_task("task_1"), True),
    "a cancel": (lambda client: client.cancel_payment("pay_1"), True),
    "a change": (lambda client: client.change_payment("pay_1", amount=7), True),
    "a change of a version": (lambda client: client.change_payment("pay_1", version=2, amount=7), False),
    "a cancel of a task": (lambda client: client.cancel_task("task_1"), True),
    "a change of a task": (lambda client: client.change_task("task_1", name="mail"), True),
    "a change of a task's version": (lambda client: client.change_task("task_1", version=2, name="m"), False),
    "a pause": (lambda client: client.pause_task("task_1"), True),
    "a retry": (lambda client: client.retry_task("task_1"), False),
    "a backfill": (lambda client: client.backfill_task("task_1", from_="a", to="b"), True),
    "a batch of payments": (lambda client: client.schedule_payments([PAYMENT, PAYMENT]), True),
    "a batch of tasks": (lambda client: client.register_tasks([{"delay_seconds": 1}]), True),
    "an account": (lambda client: client.open_account(account_id="a"), True),
    "a batch of accounts": (lambda client: client.open_accounts([{"account_id": "a"}]), True),
    "a change of an account's version": (
        lambda client: client.change_account("a", version=2, limits={}),
        False,
    ),
    "a deposit": (lambda client: client.deposit("a", amount=5), True),
    "an adjustment": (lambda client: client.adjust("a", amount=-5, reason="r"), True),
    "the end of a run": (lambda client: client.complete_run("run_1", token=1), True),
    "a failure of a run": (lambda client: client.fail_run("run_1", token=1, error="full"), True),
    "a heartbeat": (lambda client: client.extend_run("run_1", token=1), True),
    "a retry of a run": (lambda client: client.retry_run("run_1"), False),
    "a plan": (lambda client: client.plan_operation(action="cancel", kind="tasks", reason="r"), False),
    "a start": (lambda client: client.start_operation("op_1"), True),
    "a stop": (lambda client: client.stop_operation("op_1"), False),
    "a resumption": (lambda client: client.resume_operation("op_1"), False),
    "any other": (lambda client: client.request("POST", "/api/v1/accounts/a/close"), False),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("request_", REQUESTS)
def test_the_table_of_retries(api: Api, request_: str, fault: str) -> None:
    """A temporary fault is met again only by what may be sent again; the attempts are all the same request."""
    (meets, is_temporary_), (sent, is_repeatable) = FAULTS[fault], REQUESTS[request_]
    api.script = [meets, good({"payment_id": "pay_1", "results": []})]
    with api.client() as client:
        if is_temporary_ and is_repeatable:
            sent(client)
        else:
            with pytest.raises((ApiError, ConnectionFailed)):
                sent(client)
    assert len(api.asked) == (2 if is_temporary_ and is_repeatable else 1)
    assert (
        len(
            {
                (method, path, headers.get("idempotency-key"), body)
                for method, path, headers, body in api.asked
            }
        )
        == 1
    )


def test_the_asynchronous_client_does_the_same(api: Api) -> None:
    api.script = [LOST, problem(429, Retry_After="2"), good({"payment_id": "pay_1"}),
                  good({"status": "COMPLETED"}), good({"tasks": [{"n": 1}], "next_cursor": None})]  # fmt: skip

    async def used() -> list[int]:
        async with api.async_client() as client:
            made = await client.schedule_payment(**PAYMENT)
            await client.wait_for_payment(made["payment_id"])
            return [task["n"] async for task in client.tasks()]

    assert asyncio.run(used()) == [1]
    assert len(set(api.keys[:3])) == 1
    assert api.slept == [0.2, 2.0]


def test_the_synchronous_client_is_generated_from_the_other() -> None:
    program = "import generate, json; print(json.dumps({each: generate.generated(each) for each in generate.SOURCES}))"
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": "client"},
    ).stdout  # fmt: skip
    files = json.loads(told)
    resources = {f"{name}.py" for name in ("payments", "accounts", "tasks", "runs", "operations")}
    assert files.keys() == {"requests.py", "feed.py", "client.py", *resources}
    assert files.keys() == {
        path.name.removeprefix("async_") for path in (FOLDER / "postdate_client").glob("async_*.py")
    }
    for name, text in files.items():
        written = (FOLDER / "postdate_client" / name).read_text()
        assert statements(text) == statements(written), name


def statements(text: str) -> list[str]:
    """The statements of a module, in an order of their own, because `ruff` sorts imports."""
    return sorted(ast.dump(statement) for statement in ast.parse(text).body)


def test_it_knows_nothing_of_the_service() -> None:
    for path in (FOLDER / "postdate_client").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                top = name.partition(".")[0]
                assert top == "postdate_client" or top in sys.stdlib_module_names, (path, name)


class TestAWebhook:
    AT: Final = datetime(2026, 11, 19, 12, tzinfo=UTC)

    def headers(self, body: str = '{"n": 1}', secret: str = SECRET) -> dict[str, str]:
        return {
            "Webhook-Id": "run_1",
            "Webhook-Timestamp": str(int(self.AT.timestamp())),
            "Webhook-Signature": Webhook(secret).sign("run_1", self.AT, body),
        }

    def verify(self, body: str, headers: dict[str, str], secrets: Any = SECRET, late: float = 0) -> str:
        return webhooks.verify(body.encode(), headers, secrets, now=self.AT.timestamp() + late)

    def test_signed_by_the_public_library_is_known(self) -> None:
        assert self.verify('{"n": 1}', self.headers()) == "run_1"

    def test_is_known_by_either_secret_of_a_rotation(self) -> None:
        other = "whsec_" + base64.b64encode(b"another secret of some length").decode()
        assert self.verify('{"n": 1}', self.headers(), [other, SECRET]) == "run_1"
        both = self.headers()
        both["Webhook-Signature"] = (
            f"v1a,zzz {self.headers(secret=other)['Webhook-Signature']} " + both["Webhook-Signature"]
        )
        assert self.verify('{"n": 1}', both) == "run_1"

    @pytest.mark.parametrize("late", [-301, 301])
    def test_that_is_old_or_early_is_refused(self, late: float) -> None:
        with pytest.raises(webhooks.Refused, match="too far"):
            self.verify('{"n": 1}', self.headers(), late=late)

    @pytest.mark.parametrize(
        "change", ["body", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "none"]
    )
    def test_that_was_changed_is_refused(self, change: str) -> None:
        headers, body = self.headers(), '{"n": 1}'
        if change == "body":
            body = '{"n": 2}'
        elif change == "none":
            headers["Webhook-Signature"] = ""
        elif change == "Webhook-Timestamp":
            headers[change] = str(int(headers[change]) + 1)
        else:
            headers[change] = headers[change][:-4] + "AAA="
        with pytest.raises(webhooks.Refused):
            self.verify(body, headers)

    @pytest.mark.parametrize("missing", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
    def test_without_a_header_is_refused(self, missing: str) -> None:
        headers = self.headers()
        del headers[missing]
        with pytest.raises(webhooks.Refused, match="missing"):
            self.verify('{"n": 1}', headers)

    @pytest.mark.parametrize(
        "secret",
        ["", "whsec_", "whsec_" + base64.b64encode(b"s" * 23).decode(), "whsec_\u00e9", "whsec_=no="],
    )
    def test_is_judged_by_no_secret_that_others_could_guess(self, secret: str) -> None:
        """Anybody can sign with an empty key."""
        at = str(int(self.AT.timestamp()))
        forged = hmac.digest(b"", f'run_1.{at}.{{"n": 1}}'.encode(), "sha256")
        headers = self.headers() | {"Webhook-Signature": f"v1,{base64.b64encode(forged).decode()}"}
        for secrets in (secret, [SECRET, secret]):
            with pytest.raises(
                ValueError, match=r"^a signing secret is whsec_ and base64 of at least 24 bytes$"
            ):
                self.verify('{"n": 1}', headers, secrets)

    def test_is_known_by_the_shortest_secret_that_is_taken(self) -> None:
        shortest = "whsec_" + base64.b64encode(b"s" * 24).decode()
        assert self.verify('{"n": 1}', self.headers(secret=shortest), shortest) == "run_1"

    @pytest.mark.parametrize("digits", [21, 5_000])
    def test_with_a_timestamp_of_too_many_digits_is_refused(self, digits: int) -> None:
        """Python reads no number of more than 4,300 digits, and compares no float with one of 400."""
        headers = self.headers() | {"Webhook-Timestamp": "1" * digits}
        with pytest.raises(webhooks.Refused, match="not a number"):
            self.verify('{"n": 1}', headers)
