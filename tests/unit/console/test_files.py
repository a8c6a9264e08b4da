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
def test_a_browser_gets_every_line_but_comments(name: str) -> None:
    """Each line has the same number, so an error that a browser reports names the line of the source."""
    source = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    served = files()[name].content.decode().split("\n")
    assert len(source) == len(served)
    left_out = [line for line, sent in zip(source, served, strict=True) if line != sent]
    assert all(line.lstrip().startswith("//") for line in left_out)
    assert bool(left_out) == (name in OWN_SCRIPTS)
    assert not [line for line in served if name in OWN_SCRIPTS and line.lstrip().startswith("//")]


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_no_line_of_a_text_looks_like_a_comment(name: str) -> None:
    """Such a line would be left out of what a browser gets. Texts over several lines stand in backquotes."""
    before = ""
    for line in (FOLDER / name).read_text(encoding="utf-8").split("\n"):
        if line.lstrip().startswith("//"):
            assert before.count("`") % 2 == 0, line
        else:
            before += line


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
