"""The commands about flow keys, destinations and dead letters: the requests they send and the lines they print."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cli.local.listening import Answering, listening
from cli.main import main

Sent = list[tuple[str, str, Any]]
KEY = {
    "key": "shop/eu", "rate": 5, "period_seconds": 60, "parallelism": None, "paused": True, "paused_at": None,
    "waiting": 3, "running": None, "version": 2,
}  # fmt: skip
DESTINATION = {
    "id": "d1", "type": "webhook", "address": "shop.example", "state": "OPEN", "failures": 10, "since": None,
    "next_probe_at": "2026-11-19T12:00:00.000Z", "waiting": 4, "last_error": "http 503",
}  # fmt: skip
GROUP = {
    "failure": "http 422",
    "destination": "https://shop.example",
    "count": 7,
    "oldest": "2026-11-19T12:00:00.000Z",
}
LETTER = {
    "item_id": None,
    "letter_id": "m1",
    "tenant": None,
    "status": None,
    "age_seconds": 9,
    "failure": "unreadable",
}
NIGHT = {
    "reconciliation_id": "rec_1", "ok": False, "finished_at": "2026-11-18T02:18:41.112Z",
    "by_check": {"journal_gives_balances": 1}, "report": "reports/rec_1.json",
    "findings": [
        {"check": "journal_gives_balances", "tenant": "acme", "subject": "rent", "observed": ["105"], "expected": []}
    ],
    "proposals": [
        {"tenant": "acme", "subject_id": "rent", "repair": "set_to_journal", "approved_by": None, "outcome": None,
         "reason": None}
    ],
}  # fmt: skip
NIGHTS = "/api/v1/ops/reconciliations"
RUN = {
    "run_id": "run_1", "task_id": "task_1", "status": "DEAD", "planned_at": "2026-11-18T06:00:00.000Z",
    "lateness_ms": 7, "reason": "http 422",
}  # fmt: skip
ANSWERS = {
    NIGHTS: {"reconciliations": [NIGHT], "next_cursor": None},
    f"{NIGHTS}/": NIGHT,
    "/api/v1/flow-keys": {"flow_keys": [KEY], "next_cursor": None},
    "/api/v1/flow-keys/": KEY,
    "/api/v1/runs": {"runs": [RUN], "next_cursor": None},
    "/api/v1/destinations": {"destinations": [DESTINATION], "next_cursor": None},
    "/api/v1/destinations/": DESTINATION,
    "/api/v1/ops/dlq/tasks": {"queue": "tasks", "groups": [GROUP], "next_cursor": None},
    "/api/v1/ops/dlq/payments": {"queue": "payments", "letters": [LETTER], "next_cursor": None},
}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    found: Sent = []

    class Service(Answering):
        def called(self) -> None:
            body = self.body()
            found.append((self.command, self.path, json.loads(body) if body else None))
            path = self.path.partition("?")[0]
            fits = max((each for each in ANSWERS if path.startswith(each)), key=len)
            text = json.dumps(ANSWERS[fits]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = called  # noqa: N815 - the names of http.server

    with listening(Service) as url:
        monkeypatch.setenv("POSTDATE_URL", url)
        monkeypatch.setenv("POSTDATE_KEY", "k")
        yield found


@pytest.mark.parametrize(
    ("given", "asked", "told"),
    [
        ("flow-keys list", ("GET", "/api/v1/flow-keys?limit=100", None), "shop/eu  PAUSED  5 in 60 s"),
        ("flow-keys show shop/eu", ("GET", "/api/v1/flow-keys/shop%2Feu", None), "3 waiting"),
        ("flow-keys pause shop/eu", ("POST", "/api/v1/flow-keys/shop%2Feu/pause", None), "PAUSED"),
        ("flow-keys resume k", ("POST", "/api/v1/flow-keys/k/resume", None), "any number at a time"),
        ("flow-keys pin k --rate 7 --period-seconds 60",
         ("PATCH", "/api/v1/flow-keys/k", {"rate": 7, "period_seconds": 60}), "shop/eu"),
        ("flow-keys pin k --rate none --parallelism 2",
         ("PATCH", "/api/v1/flow-keys/k", {"rate": None, "parallelism": 2}), "shop/eu"),
        ("destinations list", ("GET", "/api/v1/destinations?limit=100", None), "d1  OPEN  webhook shop.example"),
        ("destinations probe d1", ("POST", "/api/v1/destinations/d1/probe", None), "http 503"),
        ("destinations reset d1", ("POST", "/api/v1/destinations/d1/reset", None), "4 waiting"),
        ("runs list", ("GET", "/api/v1/runs?limit=20", None), "run_1  of task_1  7 ms late  http 422"),
        ("runs list --count 300 --status DEAD --task-id task_1 --from 2026-11-01 --order asc",
         ("GET", "/api/v1/runs?limit=100&status=DEAD&task_id=task_1&from=2026-11-01&order=asc", None), "DEAD"),
        ("letters tasks", ("GET", "/api/v1/ops/dlq/tasks?group=failure", None), "7  http 422"),
        ("reconciliations list", ("GET", f"{NIGHTS}?limit=20", None), "rec_1  2026-11-18T02:18:41.112Z  journal_gives"),
        ("reconciliations show rec_1", ("GET", f"{NIGHTS}/rec_1", None), "acme rent: to be approved"),
        ("reconciliations approve rec_1 --reason r",
         ("POST", f"{NIGHTS}/rec_1/approve", {"reason": "r", "tenant": None, "subject_ids": None}), "rec_1"),
        ("reconciliations approve rec_1 --tenant acme --subject rent --subject wages --reason r",
         ("POST", f"{NIGHTS}/rec_1/approve",
          {"reason": "r", "tenant": "acme", "subject_ids": ["rent", "wages"]}), "rec_1"),
        ("letters payments --each --limit 5", ("GET", "/api/v1/ops/dlq/payments?limit=5", None), "m1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_command_is_one_request(
    sent: Sent, given: str, asked: tuple[str, str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given.split()) == 0
    assert sent == [asked]
    assert told in capsys.readouterr().out
    assert main([*given.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("given", ["flow-keys pin k", "flow-keys pin k --rate many"])
def test_a_pin_of_nothing_or_of_no_number_is_refused(sent: Sent, given: str) -> None:
    assert main(given.split()) == 2
    assert sent == []


@pytest.mark.parametrize(
    "given", ["flow-keys pause k", "destinations reset d1", "reconciliations approve r --reason x"]
)
def test_a_change_can_be_tried(sent: Sent, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*given.split(), "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("curl -X POST")
    assert sent == []
