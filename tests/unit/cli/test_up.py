"""Output of `make up` and `make down` about the port that they use."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.commands import down, up
from cli.failure import NotReady
from cli.local.place import DEFAULT_PORT, Place
from cli.local.up import up as brought_up
from cli.main import main

STACK = {
    "api_url": "http://127.0.0.1:4700/_aws/execute-api/1",
    "console_url": "http://127.0.0.1:4700/_aws/execute-api/1/console",
    "docs_url": "http://127.0.0.1:4700/_aws/execute-api/1/docs",
    "api_key": "pd_1",
    "destination_queue_url": "http://127.0.0.1:4700/000000000000/postdate-local-destination",
    "endpoint_url": "http://127.0.0.1:4700",
    "region": "us-east-1",
}


@pytest.fixture
def taken() -> Iterator[int]:
    """The port of a program that listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_told_before_anything_is_made(taken: int, tmp_path: Path) -> None:
    place = Place(port=taken, directory=tmp_path / "place")
    with pytest.raises(NotReady, match=f"Port {taken} is taken by another program. `make up PORT="):
        brought_up(place)
    assert not place.assembly.exists()
    assert not place.engine_log.exists()


def test_it_is_told_at_once(taken: int, tmp_path: Path) -> None:
    began = time.monotonic()
    ran = postdate(["up", "--port", str(taken)], tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"Port {taken} is taken")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("port", "command"), [(DEFAULT_PORT, "`make down` stops it"), (4700, "`make down PORT=4700` stops it")]
)
def test_the_last_line_says_how_to_stop_this_stack(port: int, command: str) -> None:
    answer = STACK | {"endpoint_url": f"http://127.0.0.1:{port}"}
    assert up.show(answer).splitlines()[-1] == f"{command}, on port {port}."


def test_a_line_says_with_which_credentials_the_queue_is_read() -> None:
    (line,) = [line for line in up.show(STACK).splitlines() if "AWS_ACCESS_KEY_ID" in line]
    assert line.split()[-4:] == [
        "AWS_ACCESS_KEY_ID=test",
        "AWS_SECRET_ACCESS_KEY=test",
        "AWS_DEFAULT_REGION=us-east-1",
        "AWS_ENDPOINT_URL=http://127.0.0.1:4700",
    ]


def test_down_names_the_port_that_it_looked_at(tmp_path: Path) -> None:
    ran = postdate(["down", "--port", "4701"], tmp_path)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, "Nothing ran on port 4701.")


def test_down_names_the_ports_that_it_stopped_and_those_that_go_on() -> None:
    assert down.show({"stopped": [4566], "ports": [4566], "running": []}) == "Stopped port 4566."
    told = down.show({"stopped": [], "ports": [4566], "running": [4700, 4566]})
    assert told == "Nothing ran on port 4566.\nPort 4700 runs on: `make down PORT=4700` stops it."


def test_the_version_is_the_projects(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"postdate {version('postdate')}\n"


def postdate(arguments: Sequence[str], directory: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        env={"PATH": "/usr/bin:/bin", "POSTDATE_LOCAL_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
