"""Completion in a real shell, against the words that the parser knows."""

import subprocess

import pytest

from cli.commands import completion
from cli.main import main, parser


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    return dict(completion.words(parser(), completion.PROGRAM))


@pytest.fixture
def script(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", request.param]) == 0
    return capsys.readouterr().out


def bash(script: str, *typed: str) -> list[str]:
    """The completions of the last word."""
    asked = " ".join(f"'{each}'" for each in typed)
    ran = subprocess.run(
        ["/bin/bash", "--norc", "-c", f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(typed) - 1}; _postdate\n"
         'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (("postdate", "ke"), ["keys"]),
        (("postdate", "keys", "rev"), ["revoke"]),
        (("postdate", "keys", "make", "--acc"), ["--account"]),
        (("postdate", "keys", "make", "shop", "--scope", "payments:"), ["payments:read", "payments:write"]),
        (("postdate", "operations", "redrive", "--kind", ""), ["tasks", "payments", "plans"]),
        (("postdate", "nothing", "ex"), ["explain"]),
    ],
    ids=lambda value: " ".join(value),
)
@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(script: str, typed: tuple[str, ...], completed: list[str]) -> None:
    assert bash(script, *typed) == completed


@pytest.mark.parametrize("script", ["bash", "zsh", "fish"], indirect=True)
def test_every_word_is_in_the_script_of_every_shell(script: str, known: dict[str, str]) -> None:
    assert len(known) > 50
    assert all(at in script and words in script for at, words in known.items())


def test_no_word_needs_quotes_in_a_shell(known: dict[str, str]) -> None:
    assert not set("".join([*known, *known.values()])) & set("'\"$`\\;|&<>()*?")
