"""The commands about keys and tenants against a server that notes what is asked of it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cli.main import main

KEY = {
    "key_id": "k1",
    "status": "ACTIVE",
    "name": "shop",
    "scopes": ["tasks:read"],
    "last_used_at": None,
    "expires_at": None,
}
TENANT = {
    "tenant_id": "acme",
    "status": "SUSPENDED",
    "suspended_because": "unpaid",
    "tier": "gold",
    "quotas": {"registered_per_second": 7},
}


class Service(BaseHTTPRequestHandler):
    def _answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        sent = {
            name: self.headers[name] for name in ("Authorization", "Postdate-Tenant") if name in self.headers
        }
        self.server.asked.append((self.command, self.path, body, sent))
        status, answer = self.server.answers.pop(0)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    with HTTPServer(("127.0.0.1", 0), Service) as running:
        running.asked, running.answers = [], []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("POSTDATE_URL", f"http://127.0.0.1:{running.server_port}/base")
        monkeypatch.setenv("POSTDATE_KEY", "pd_k0_secret")
        yield running
        running.shutdown()
        thread.join()


AS_ADMIN = {"Authorization": "Bearer pd_k0_secret"}


def test_a_key_is_made_with_its_limits_and_told_once(server, capsys):
    server.answers.append((201, {**KEY, "key": "pd_k1_new"}))
    limits = ["--amount-max", "5", "--network", "10.0.0.0/8", "--account", "rent"]
    limits += ["--action", "schedulePayment", "--read-only", "--requests-per-second", "5"]
    assert main(["keys", "make", "shop", "--scope", "payments:write", *limits]) == 0
    form = {
        "name": "shop",
        "scopes": ["payments:write"],
        "account_ids": ["rent"],
        "amount_max": 5,
        "networks": ["10.0.0.0/8"],
        "actions": ["schedulePayment"],
        "read_only": True,
        "requests_per_second": 5,
    }
    assert server.asked == [("POST", "/base/api/v1/keys", form, AS_ADMIN)]
    assert "pd_k1_new" in capsys.readouterr().out


def test_every_page_of_keys_is_listed_for_the_tenant_that_an_operator_names(server, capsys):
    server.answers += [
        (200, {"keys": [KEY], "next_cursor": "c"}),
        (200, {"keys": [KEY], "next_cursor": None}),
    ]
    assert main(["keys", "list", "--tenant", "acme", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["keys"]) == 2
    assert [path for _, path, *_ in server.asked] == [
        "/base/api/v1/keys?limit=100",
        "/base/api/v1/keys?limit=100&cursor=c",
    ]
    assert all(sent == {**AS_ADMIN, "Postdate-Tenant": "acme"} for *_, sent in server.asked)


@pytest.mark.parametrize(
    ("command", "request_sent"),
    [
        (
            ["rotate", "k1", "--overlap", "60"],
            ("POST", "/base/api/v1/keys/k1/rotate", {"overlap_seconds": 60}),
        ),
        (["revoke", "k1"], ("DELETE", "/base/api/v1/keys/k1", None)),
    ],
    ids=["rotate", "revoke"],
)
def test_a_key_is_rotated_and_revoked(server, command, request_sent):
    server.answers.append((200, KEY))
    assert main(["keys", *command]) == 0
    assert server.asked == [(*request_sent, AS_ADMIN)]


def test_a_signing_secret_is_rotated_with_a_day_of_overlap(server, capsys):
    server.answers.append((200, {"signing_secret": "whsec_new", "previous_until": "2026-11-20T00:00:00Z"}))
    assert main(["keys", "rotate-signing-secret"]) == 0
    asked = ("POST", "/base/api/v1/signing-secrets/rotate", {"overlap_seconds": 86_400}, AS_ADMIN)
    assert server.asked == [asked]
    assert "whsec_new" in capsys.readouterr().out


def test_a_refusal_is_a_failure(server, capsys):
    server.answers.append((403, {"code": "forbidden"}))
    assert main(["keys", "revoke", "k1"]) == 1
    assert "403" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "request_sent"),
    [
        (
            ["make", "acme", "--queue", "q", "--tier", "gold"],
            ("POST", "/base/api/v1/ops/tenants", {"tenant_id": "acme", "tier": "gold", "queues": ["q"]}),
        ),
        (
            ["change", "acme", "--registered-per-second", "7"],
            ("PATCH", "/base/api/v1/ops/tenants/acme", {"quotas": {"registered_per_second": 7}}),
        ),
        (
            ["suspend", "acme", "--reason", "unpaid"],
            ("POST", "/base/api/v1/ops/tenants/acme/suspend", {"pending": "run", "reason": "unpaid"}),
        ),
        (["resume", "acme"], ("POST", "/base/api/v1/ops/tenants/acme/resume", {})),
    ],
    ids=lambda value: value[0],
)
def test_tenants_are_made_changed_suspended_and_resumed(server, capsys, command, request_sent):
    server.answers.append((200, TENANT))
    assert main(["tenants", *command]) == 0
    assert server.asked == [(*request_sent, AS_ADMIN)]
    assert capsys.readouterr().out == "acme  SUSPENDED  gold, 7 a second, suspended: unpaid\n"


def test_without_variables_and_without_a_local_stack_a_command_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("POSTDATE_URL", raising=False)
    monkeypatch.delenv("POSTDATE_KEY", raising=False)
    monkeypatch.setenv("POSTDATE_LOCAL_DIR", str(tmp_path))
    assert main(["tenants", "list"]) == 2
    assert "Set POSTDATE_URL and POSTDATE_KEY" in capsys.readouterr().err
