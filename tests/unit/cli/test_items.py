"""The commands about items: explain, next, tail, open, and call, which carries out any operation of the API."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from cli.commands import call
from cli.local.listening import Answering, listening
from cli.main import main
from tests.described import DESCRIPTION

OPERATIONS: Final = call.operations(DESCRIPTION)
AT: Final = "2030-11-19T12:00:0{}.000Z"
DEAD: Final = {
    "task_id": "task_1",
    "status": "DEAD",
    "error": "http 422",
    "attempts": 1,
    "retry": {"max_attempts": 1},
    "history": [{"at": AT.format(1), "status": "DEAD", "reason": "http 422"}],
}


@dataclass
class Api:
    """Answers each path by what begins it."""

    answers: dict[str, Any]
    asked: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)


@contextmanager
def serving(api: Api) -> Iterator[str]:
    class Handler(Answering):
        def called(self) -> None:
            content = self.body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            api.asked.append((self.command, self.path, json.loads(content) if content else None, headers))
            found = [body for path, body in api.answers.items() if self.path.startswith(path)]
            text = json.dumps(found[0] if found else {"detail": "nothing there"}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_DELETE = do_PATCH = do_PUT = called  # noqa: N815 - the names of http.server

    with listening(Handler) as url:
        yield url


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    made = Api(answers={"/openapi.json": DESCRIPTION})
    with serving(made) as url:
        monkeypatch.setenv("POSTDATE_URL", url)
        monkeypatch.setenv("POSTDATE_KEY", "pd_1_secret")
        yield made


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


class TestCall:
    def test_knows_every_operation_of_the_api(self, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
        described = {
            told["operationId"]
            for methods in DESCRIPTION["paths"].values()
            for method, told in methods.items()
            if method in ("get", "post", "put", "patch", "delete")
        }
        assert {each["name"] for each in printed(capsys, "call")["operations"]} == described

    @pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {"description"}))
    def test_sends_the_operation_where_it_is_described(
        self, api: Api, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        operation = OPERATIONS[name]
        api.answers["/"] = {"ok": True}
        given = [f"{each}=a/b" for each in operation.in_path] + [f"{each}=7" for each in operation.in_query]
        body = ["--body", '{"a": 1}'] if operation.takes_body else []
        assert printed(capsys, "call", name, *given, *body) == {"ok": True}
        method, path, sent, headers = api.asked[-1]
        path, _, query = path.partition("?")
        wanted = operation.path
        for each in operation.in_path:
            wanted = wanted.replace(f"{{{each}}}", "a%2Fb")
        assert (method.lower(), path) == (operation.method, wanted)
        assert query == "&".join(f"{each}=7" for each in operation.in_query)
        assert sent == ({"a": 1} if operation.takes_body else None)
        assert ("idempotency-key" in headers) == ("Idempotency-Key" in operation.headers)

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["noSuchThing"], "no operation noSuchThing"),
            (["getPayment"], "getPayment takes payment_id=<needed>"),
            (["getPayment", "payment_id=pay_1", "color=red"], "getPayment takes payment_id"),
            (["getPayment", "pay_1"], "pay_1 is not NAME=VALUE"),
            (["registerTask", "--body", "{"], "--body:"),
            (["registerTask", "--body", "@/nowhere"], "--body:"),
        ],
    )
    def test_says_what_to_do_and_sends_nothing(
        self, api: Api, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
    ) -> None:
        assert main(["call", *arguments]) == 2
        assert told in capsys.readouterr().err
        assert [path for _, path, *_ in api.asked] == ["/openapi.json"]

    def test_a_dry_run_prints_the_request_and_keeps_the_key_out(
        self, api: Api, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = [
            "changePayment",
            "payment_id=pay_1",
            "--body",
            '{"description": "it\'s"}',
            "--version",
            "3",
        ]
        command = printed(capsys, "call", *arguments, "--dry-run")["command"]
        words = shlex.split(command)
        assert words[:4] == ["curl", "-X", "PATCH", "$POSTDATE_URL/api/v1/payments/pay_1"]
        assert {'If-Match: "3"', "Authorization: Bearer $POSTDATE_KEY", '{"description": "it\'s"}'} <= {
            *words
        }
        assert '"$POSTDATE_URL/' in command
        assert len(api.asked) == 1

    def test_a_key_of_the_callers_is_sent(self, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
        api.answers["/api/v1/tasks"] = {"task_id": "task_1"}
        printed(capsys, "call", "registerTask", "--body", "{}", "--idempotency-key", "order-1")
        assert api.asked[-1][3]["idempotency-key"] == "order-1"


class TestExplain:
    def test_a_dead_task_waits_for_a_person(self, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
        api.answers["/api/v1/tasks/task_1"] = DEAD
        told = printed(capsys, "explain", "task_1")
        assert (told["state"], told["because"]) == ("DEAD", "http 422")
        assert "postdate operations redrive task_1" in told["next"]
        assert main(["explain", "task_1"]) == 0
        assert capsys.readouterr().out.startswith("task_1 is DEAD.\nbecause: http 422\nnext: ")

    def test_a_task_that_waits_is_explained_with_what_holds_it(
        self, api: Api, capsys: pytest.CaptureFixture[str]
    ) -> None:
        waiting = DEAD | {"status": "RETRYING", "next_run_at": AT.format(2), "flow_control": {"key": "mail"}}
        api.answers["/api/v1/tasks/task_1"] = waiting
        assert printed(capsys, "explain", "task_1")["held"] == []  # the key may not read the overview
        api.answers["/api/v1/overview"] = {
            "paused_flow_keys": [{"tenant": "a", "key": "mail"}],
            "destinations": [],
        }
        assert "postdate flow-keys resume mail" in printed(capsys, "explain", "task_1")["held"][0]
        assert main(["explain", "task_1"]) == 0
        assert "\nheld:    Its flow key mail is paused" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("id", "item", "read"),
        [
            ("pay_1", {"status": "EXECUTING"}, ["/api/v1/payments/pay_1", "/api/v1/payments/pay_1/events"]),
            ("task_1", {**DEAD, "status": "RUNNING"}, ["/api/v1/tasks/task_1", "/api/v1/runs/task_1"]),
            ("run_1", {"status": "DEAD", "task_id": "task_9", "attempts": []},
             ["/api/v1/runs/run_1", "/api/v1/tasks/task_9"]),
            ("op_1", {"state": "DONE", "action": "redrive", "reason": "why", "done": 1}, ["/api/v1/operations/op_1"]),
            ("alice", {"status": "FROZEN"}, ["/api/v1/accounts/alice"]),
        ],
    )  # fmt: skip
    def test_only_what_explains_the_state_is_read(
        self, api: Api, capsys: pytest.CaptureFixture[str], id: str, item: dict[str, Any], read: list[str]
    ) -> None:
        api.answers[read[0]] = item
        if item["status" if "status" in item else "state"] == "EXECUTING":
            api.answers = {read[1]: {"events": []}, **api.answers}
        printed(capsys, "explain", id)
        assert [path for _, path, *_ in api.asked] == read

    def test_an_item_that_is_not_there_fails(self, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "pay_unknown"]) == 1
        assert "nothing there" in capsys.readouterr().err


def test_next_is_in_the_order_of_the_instants(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    pay = {
        "payment_id": "pay_1",
        "scheduled_time": AT.format(2),
        "amount": 5,
        "from_account_id": "a",
        "to_account_id": "b",
    }
    once = {"task_id": "task_1", "name": "mail", "next_run_at": AT.format(1)}
    plan = {
        "task_id": "task_2",
        "name": None,
        "cron": "0 6 * * *",
        "timezone": "UTC",
        "next_run_at": AT.format(3),
    }
    api.answers |= {
        "/api/v1/payments": {"payments": [pay]},
        "/api/v1/tasks?status=PENDING": {"tasks": [once, {**once, "run_id": "run_1"}]},
        "/api/v1/tasks?status=RETRYING": {"tasks": []},
        "/api/v1/tasks?status=ACTIVE": {"tasks": [plan]},
    }  # fmt: skip
    found = printed(capsys, "next")["next"]
    assert [(each["kind"], each["id"]) for each in found] == [
        ("task", "task_1"),
        ("payment", "pay_1"),
        ("plan", "task_2"),
    ]
    assert len(printed(capsys, "next", "--count", "2")["next"]) == 2
    assert main(["next", "--count", "1"]) == 0
    assert capsys.readouterr().out == f"{AT.format(1)}  task     task_1  mail\n"


def test_tail_prints_the_past_of_one_item_and_follows_it(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {
        "event_id": "evt_1_pay_1", "type": "payment.changed", "occurred_at": AT.format(1),
        "actor": {"type": "key", "id": "k1"}, "data": {"before": {"amount": 5}, "after": {"amount": 6}},
    }  # fmt: skip
    api.answers["/api/v1/events"] = {"events": [event], "follow_cursor": "c1"}
    assert main(["tail", "pay_1", "--count", "2"]) == 0
    line = f'{AT.format(1)}  payment.changed       by key k1  {{"amount": [5, 6]}}'
    assert capsys.readouterr().out == f"{line}\n{line}\n2 events\n"
    first, second = (path for _, path, *_ in api.asked)
    assert "subject_id=pay_1" in first
    assert "cursor" not in first
    assert "cursor=c1" in second


@pytest.mark.parametrize(
    ("id", "place"),
    [
        ("pay_1", "#/payments/pay_1"),
        ("task_1", "#/tasks/task_1"),
        ("run_1", "#/runs/run_1"),
        ("op_1", "#/operations/op_1"),
        ("evt_1_pay_1", "#/events/evt_1_pay_1"),
        ("rent/a", "#/accounts/rent%2Fa"),
    ],
)
def test_open_leads_to_the_items_page(
    api: Api, capsys: pytest.CaptureFixture[str], id: str, place: str
) -> None:
    assert main(["open", id, "--print"]) == 0
    assert capsys.readouterr().out.endswith(f"/console{place}\n")
    assert api.asked == []
