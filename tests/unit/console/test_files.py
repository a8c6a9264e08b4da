"""The console's files: what others wrote is what they published, and everything together is small."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from functions.api.console.routes import FOLDER, KINDS, files
from functions.api.handler import app

VENDORED: Final = json.loads((FOLDER / "vendored.json").read_text())
PACKED_BYTES_MAX: Final = 40_000
# Read by people who ask for them, and by no page.
NOT_LOADED: Final = {"licenses.txt"}
LOADED: Final = sorted(set(files()) - NOT_LOADED)
# The parts of a script between which texts in backquotes begin and end: comments, other texts, braces.
IN_CODE: Final = re.compile(r"""//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w*`|[{}]""")
IN_TEXT: Final = re.compile(r"\\.|`|\$\{|\n", re.DOTALL)
OWN_SCRIPTS: Final = sorted(name for name in LOADED if name.endswith(".js") and name not in VENDORED)


def get(path: str, **headers: str) -> dict[str, Any]:
    event = {
        "version": "2.0",
        "rawPath": path,
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "requestContext": {
            "http": {"method": "GET", "path": path},
            "stage": "$default",
            "requestId": "request-1",
        },
    }
    return app.resolve(event, SimpleNamespace())


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_file_is_what_its_package_published(name: str) -> None:
    told = VENDORED[name]
    text = (FOLDER / name).read_text(encoding="utf-8")
    if "ending" in told:
        text = text.removesuffix("\n") + told["ending"]
    if "changed" in told:
        text = text.replace(*reversed(told["changed"]))
    assert hashlib.sha256(text.encode()).hexdigest() == told["sha256"]
    assert f"{told['package']} {told['version']}" in (FOLDER / "licenses.txt").read_text()


def test_all_that_a_browser_loads_fits_into_the_budget() -> None:
    packed = {name: len(files()[name].packed) for name in LOADED}
    assert sum(packed.values()) <= PACKED_BYTES_MAX, packed


def test_nothing_comes_from_anywhere_else() -> None:
    for name in {*LOADED} - {*VENDORED}:
        text = (FOLDER / name).read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?://|@import|\burl\(", text), name


def test_every_script_is_fetched_at_once() -> None:
    """A module that only its importer names is fetched one round trip later."""
    page = (FOLDER / "index.html").read_text()
    named = set(re.findall(r'console/([a-z-]+\.js)"', page))
    assert named == {name for name in LOADED if name.endswith(".js")}


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_a_script_imports_files_that_there_are(name: str) -> None:
    imported = set(re.findall(r'from "\./([^"]+)"', (FOLDER / name).read_text()))
    assert imported <= set(LOADED)


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_a_script_needs_no_unsafe_policy_and_takes_no_amount_for_a_float(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert not re.search(r"\beval\(|new Function|innerHTML|dangerouslySetInnerHTML|\bstyle=", text)
    assert not re.search(r"parseFloat|Number\(.*(amount|balance)", text)


def test_a_file_is_packed_for_a_browser_that_takes_that() -> None:
    plain, packed = get("/console/style.css"), get("/console/style.css", accept_encoding="br, gzip")
    content = (FOLDER / "style.css").read_bytes()
    assert base64.b64decode(plain["body"]) == content
    assert gzip.decompress(base64.b64decode(packed["body"])) == content
    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain["headers"]
    assert (plain["isBase64Encoded"], packed["isBase64Encoded"]) == (True, True)


@pytest.mark.parametrize("name", LOADED)
def test_a_browser_gets_every_line_but_comments_and_indentation(name: str) -> None:
    """Each line has the same number, so an error that a browser reports names the line of the source."""
    source = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    if name in OWN_SCRIPTS:
        source = ["" if line.lstrip().startswith("//") else line.lstrip(" ") for line in source]
    assert files()[name].content.decode().split("\n") == source


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_no_line_of_a_text_looks_like_a_comment(name: str) -> None:
    """Such a line would be left out of what a browser gets. Texts over several lines stand in backquotes."""
    before = ""
    for line in (FOLDER / name).read_text(encoding="utf-8").split("\n"):
        if line.lstrip().startswith("//"):
            assert before.count("`") % 2 == 0, line
        else:
            before += line


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_no_text_but_markup_has_several_lines(name: str) -> None:
    """Indentation is left out within a text too. In markup it means nothing."""
    assert set(tags_of_several_lines((FOLDER / name).read_text(encoding="utf-8"))) <= {"html"}


def tags_of_several_lines(source: str) -> list[str]:
    """The tag of each text in backquotes, once for each end of a line in it."""
    found: list[str] = []
    tags: list[str] = []
    # Of each text that is open: the braces that are open in its expression, and None within the text itself.
    braces: list[int | None] = []
    at = 0
    while token := (IN_TEXT if braces and braces[-1] is None else IN_CODE).search(source, at):
        at = token.end()
        within = braces[-1] if braces else 0
        if within is None and token[0] == "`":
            tags.pop()
            braces.pop()
        elif within is None and token[0] == "${":
            braces[-1] = 0
        elif within is None and token[0] == "\n":
            found.append(tags[-1])
        elif within is not None and token[0].endswith("`"):
            tags.append(token[0][:-1])
            braces.append(None)
        elif within is not None and braces and token[0] in "{}":
            braces[-1] = within + 1 if token[0] == "{" else within - 1 if within else None
    assert braces == []
    return found


@pytest.mark.parametrize("path", ["/console", *(f"/console/{name}" for name in files())])
def test_a_file_says_what_it_is_and_what_it_may_do(path: str) -> None:
    answer = get(path)
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == KINDS[Path(path).suffix or ".html"]
    policy = answer["headers"]["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", ["vendored.json", "nothing.js", "..", "%2e%2e", ".env"])
def test_nothing_else_is_served(name: str) -> None:
    assert get(f"/console/{name}")["statusCode"] == 404
