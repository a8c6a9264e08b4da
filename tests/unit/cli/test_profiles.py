"""Profiles, dry runs, questions and refusals of commands that speak to a service."""

import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import profiles
from cli.local.listening import Answering, listening
from cli.main import main
from cli.service import ADVICE
from functions.api.errors import STATUS

Asked = list[tuple[str, str, str | None, str | None]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("POSTDATE_LOCAL_DIR", str(tmp_path / "no-stack"))
    for name in ("POSTDATE_URL", "POSTDATE_KEY", profiles.CHOSEN):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """The requests to a service, whose profile `prod` is for the tenant acme."""
    found: Asked = []

    class Service(Answering):
        def called(self) -> None:
            found.append(
                (self.command, self.path, self.headers["Authorization"], self.headers["Postdate-Tenant"])
            )
            refused = self.path.endswith("/rotate")
            body = {"code": "forbidden", "detail": "the key lacks keys:write", "request_id": "request-9",
                    "errors": [{"field": "name", "message": "is too long"}]}  # fmt: skip
            text = json.dumps(body if refused else {"keys": [], "next_cursor": None}).encode()
            self.send_response(403 if refused else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = do_PUT = called  # noqa: N815 - the names of http.server

    with listening(Service) as url:
        monkeypatch.setenv("POSTDATE_KEY", "pd_prod")
        assert main(["profile", "add", "prod", "--url", url, "--tenant", "acme"]) == 0
        monkeypatch.delenv("POSTDATE_KEY")
        yield found


def test_a_profile_is_used_by_its_name_by_a_variable_or_when_it_is_in_use(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["keys", "list", "--profile", "prod"]) == 0
    monkeypatch.setenv(profiles.CHOSEN, "prod")
    assert main(["keys", "list"]) == 0
    monkeypatch.delenv(profiles.CHOSEN)
    assert main(["keys", "list"]) == 2
    assert main(["profile", "use", "prod"]) == 0
    assert main(["keys", "list", "--tenant", "other"]) == 0
    as_acme = ("GET", "/api/v1/keys?limit=100", "Bearer pd_prod", "acme")
    assert asked == [as_acme, as_acme, (*as_acme[:3], "other")]


def test_two_variables_win_over_the_profile_in_use_and_local_over_both(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTDATE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("POSTDATE_KEY", "k")
    main(["profile", "use", "prod"])
    assert main(["keys", "list"]) == 2
    assert "http://127.0.0.1:9 does not answer" in capsys.readouterr().err
    assert main(["keys", "list", "--profile", "local"]) == 2
    assert "make up" in capsys.readouterr().err
    assert asked == []


def test_the_file_is_for_its_owner_only_and_the_list_tells_no_key(
    asked: Asked, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["profile", "list", "--json"]) == 0
    told = capsys.readouterr().out
    assert "pd_prod" not in told
    assert [each["name"] for each in json.loads(told)["profiles"]] == ["local", "prod"]
    file = home / "postdate" / "profiles.json"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(file.parent).st_mode) == 0o700


def test_a_profile_that_is_removed_is_no_longer_in_use(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["profile", "use", "prod"])
    assert main(["profile", "remove", "prod"]) == 0
    assert profiles.read() == profiles.Profiles()
    assert main(["keys", "list", "--profile", "prod"]) == 2
    assert "postdate profile add prod" in capsys.readouterr().err


def test_a_file_that_is_none_of_profiles_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "postdate").mkdir()
    (home / "postdate" / "profiles.json").write_text("[]")
    assert main(["profile", "list"]) == 2
    assert "profiles.json" in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_dry_run_prints_the_change_and_sends_none(
    asked: Asked, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    given = ["keys", "revoke", "k1", "--profile", "prod", "--dry-run", *(["--json"] if as_json else [])]
    assert main(given) == 0
    told = capsys.readouterr().out
    command = json.loads(told)["command"] if as_json else told.rstrip("\n")
    assert command == (
        'curl -X DELETE "$POSTDATE_URL/api/v1/keys/k1" -H "Authorization: Bearer $POSTDATE_KEY" '
        "-H 'Postdate-Tenant: acme'"
    )
    assert asked == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "given", "sent"), [("n\n", [], 0), ("\n", [], 0), ("y\n", [], 1), ("", ["--yes"], 1)]
)
def test_a_person_is_asked_before_a_key_is_revoked(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, answer: str, given: list[str], sent: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    main(["keys", "revoke", "k1", "--json", "--profile", "prod", *given])
    assert len(asked) == sent


@pytest.mark.parametrize(("answer", "turn", "sent"), [("n\n", "off", 0), ("y\n", "off", 1), ("", "on", 1)])
def test_a_person_is_asked_before_a_switch_is_turned_off(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, answer: str, turn: str, sent: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    main(["switches", turn, "settlement", "--reason", "wrong rates", "--profile", "prod", "--json"])
    assert len(asked) == sent


def test_a_switch_can_be_tried(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    given = ["switches", "off", "settlement", "--reason", "wrong rates", "--profile", "prod", "--dry-run"]
    assert main(given) == 0
    assert capsys.readouterr().out.startswith("curl -X PUT")
    assert asked == []


def test_the_console_of_a_profile_is_opened(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    url = profiles.read().named("prod").url
    capsys.readouterr()
    assert main(["open", "pay_1", "--print", "--profile", "prod"]) == 0
    assert capsys.readouterr().out == f"{url}/console#/payments/pay_1\n"
    assert main(["open", "--print"]) == 2
    assert asked == []


@pytest.mark.parametrize("way", ["option", "in use"])
def test_the_overview_of_a_profile_does_not_ask_for_alarms_of_the_local_stack(
    asked: Asked, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    if way == "in use":
        assert main(["profile", "use", "prod"]) == 0
    capsys.readouterr()
    assert main(["overview", "--json", *(["--profile", "prod"] if way == "option" else [])]) == 0
    assert json.loads(capsys.readouterr().out)["firing"] is None


def test_a_program_is_not_asked(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    main(["keys", "revoke", "k1", "--json", "--profile", "prod"])
    assert len(asked) == 1


def test_a_refusal_names_its_fields_the_request_and_what_to_do(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "rotate", "k1", "--profile", "prod"]) == 1
    assert capsys.readouterr().err == (
        "The API refused it: the key lacks keys:write (403 forbidden)\n  name: is too long\n"
        f"{ADVICE['forbidden']}\nRequest request-9\n"
    )


def test_advice_is_for_codes_that_there_are_and_names_commands_that_there_are() -> None:
    assert ADVICE.keys() <= {error.code for error in STATUS}
    commands = {name for text in ADVICE.values() for name in re.findall(r"postdate ([\w-]+)", text)}
    folder = Path(main.__code__.co_filename).parent / "commands"
    assert commands <= {path.stem for path in folder.glob("*.py")}
