"""The shape of `--json`: the fields that a program may rely on, for each command that speaks to a service.

The service answers each request with the example of its description.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from cli.local.listening import Answering, listening
from cli.main import main
from tests.described import DESCRIPTION
from tests.unit.cli.test_options import SPEAKING

PATHS: Final = DESCRIPTION["paths"]
EXPLAINED: Final = ["id", "kind", "state", "because", "next", "held", "history"]
# Each command with the fields of its answer. A command that passes on the API's own answer has those of the operation.
SHAPES: Final[dict[str, list[str] | str]] = {
    "explain pay_1": EXPLAINED,
    "explain task_1": EXPLAINED,
    "explain run_1": EXPLAINED,
    "explain op_1": EXPLAINED,
    "explain sub_1": EXPLAINED,
    "explain alice": EXPLAINED,
    "next": ["next"],
    "open pay_1 --print": ["url", "opened"],
    "tail pay_1 --count 1": ["events"],
    "listen --count 0": ["events"],
    "letters tasks": "listDeadLetters",
    "call whoami": "whoami",
    "call": ["operations"],
    "overview --profile local": "getServiceOverview",
    "reconciliations list": "listReconciliations",
    "reconciliations show r1": ["reconciliation"],
    "reconciliations approve r1 --reason r": ["reconciliation"],
    "destinations list": ["destinations"],
    "destinations probe d1": ["destinations"],
    "destinations reset d1": ["destinations"],
    "flow-keys list": ["flow_keys"],
    "flow-keys show k": ["flow_keys"],
    "flow-keys pause k": ["flow_keys"],
    "flow-keys resume k": ["flow_keys"],
    "flow-keys pin k --rate 5": ["flow_keys"],
    "runs list": ["runs", "next_cursor"],
    "keys list": ["keys"],
    "keys make n --scope tasks:read": ["keys"],
    "keys rotate k1": ["keys"],
    "keys revoke k1": ["keys"],
    "keys rotate-signing-secret": ["keys", "signing_secret", "previous_until"],
    "operations list": ["operations"],
    "operations show op_1": ["operation", "items"],
    "operations redrive task_1 --reason r": ["operation"],
    "operations retry task_1 --reason r": ["operation"],
    "operations cancel task_1 --reason r": ["operation"],
    "operations discard task_1 --reason r": ["operation"],
    "operations pause-plans task_1 --reason r": ["operation"],
    "operations resume-plans task_1 --reason r": ["operation"],
    "operations start op_1": ["operation"],
    "operations stop op_1": ["operation"],
    "operations resume op_1": ["operation"],
    "redrive task_1 --reason r": ["operation"],
    "subscriptions make https://a --types *": ["subscriptions"],
    "subscriptions list": ["subscriptions"],
    "subscriptions show s1": ["subscriptions"],
    "subscriptions pause s1": ["subscriptions"],
    "subscriptions resume s1": ["subscriptions"],
    "subscriptions end s1": ["subscriptions"],
    "subscriptions test s1": ["deliveries"],
    "subscriptions deliveries s1": ["deliveries"],
    "subscriptions rotate s1": ["secret"],
    "subscriptions replay s1 --since 2026-11-18T00:00:00Z": ["replay"],
    "switches list": ["switches"],
    "switches get settlement": ["switches"],
    "switches off settlement --reason r": ["switches"],
    "switches on settlement --reason r": ["switches"],
    "tenants make acme": ["tenants"],
    "tenants list": ["tenants"],
    "tenants show acme": ["tenants"],
    "tenants erasure acme": ["tenants", "erasure"],
    "tenants change acme --tier t": ["tenants"],
    "tenants suspend acme --reason r": ["tenants"],
    "tenants resume acme": ["tenants"],
    "tenants erase acme --reason r": ["tenants"],
    "tenants replace-data-key acme": ["tenants", "tenant_id", "seals_from"],
}


def answers(method: str, path: str) -> tuple[int, Any]:
    """Status and example of the operation at that path."""
    for template, methods in PATHS.items():
        pattern = re.sub(r"\\?{\w+\\?}", "[^/]+", re.escape(template))
        if method.lower() in methods and re.fullmatch(pattern, path):
            responses = methods[method.lower()]["responses"]
            code = next(each for each in responses if each.startswith("2"))
            content = responses[code]["content"]["application/json"]
            return int(code), content.get("example") or next(iter(content["examples"].values()))["value"]
    return 404, {"code": "not_found"}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Service(Answering):
        def called(self) -> None:
            self.body()
            path = self.path.partition("?")[0]
            status, told = (200, DESCRIPTION) if path == "/openapi.json" else answers(self.command, path)
            if self.command == "GET" and re.fullmatch(r"/api/v1/operations/[^/]+", path):
                told = {**told, "state": "DONE"}
            if isinstance(told, dict) and "next_cursor" in told:
                told = {**told, "next_cursor": None}
            text = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = called  # noqa: N815 - the names of http.server

    monkeypatch.setattr("cli.operations._LOOK_SECONDS", 0.0)
    with listening(Service) as url:
        monkeypatch.setenv("POSTDATE_URL", url)
        monkeypatch.setenv("POSTDATE_KEY", "k")
        yield


def is_of(command: str, line: str) -> bool:
    return line.split()[: len(command.split())] == command.split()


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    "command",
    [
        line
        for line in SHAPES
        if line.split()[0] != "overview" and any(is_of(command, line) for command in SPEAKING)
    ],
)
def test_the_answer_has_the_fields_that_are_told(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--json"]) == 0
    printed = capsys.readouterr().out
    *events, last = re.split(r"^(?={$)", printed, flags=re.MULTILINE)
    assert all(json.loads(line) for text in events for line in text.splitlines())
    told = SHAPES[command]
    if isinstance(told, str):
        told = list(next(
            answers(method, path)[1] for path, methods in PATHS.items() for method, each in methods.items()
            if isinstance(each, dict) and each.get("operationId") == told
        ))  # fmt: skip
    assert list(json.loads(last)) == told


def test_every_command_is_here() -> None:
    assert [each for each in SPEAKING if not any(is_of(each, line) for line in SHAPES)] == []


@pytest.mark.usefixtures("service")
def test_a_failure_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "getPayment", "--json"]) == 2
    assert list(json.loads(capsys.readouterr().out)) == ["error"]
