"""The engine of the local stack: MiniStack, in an environment of its own, as a process in a clean environment.

Functions run on the engine's interpreter and inherit its environment: whatever else stood in either of them,
they would have here and lack on AWS.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from cli.failure import Failure, NotReady
from cli.local import uv
from cli.local.once import BUILD, ROOT, built
from cli.local.place import Place
from cli.local.processes import Process

REQUIREMENTS: Final = ROOT / "requirements" / "ministack.txt"
START_SECONDS: Final = 30
LOG_LINES_SHOWN: Final = 15
PROGRAM: Final = Path(__file__).with_name("engine.py")


def installed() -> Path:
    """Installs the engine, once for each release of Python, and returns its folder. Tests on one release do not replace
    the engine that runs on another."""
    named = f"ministack-{sys.version_info.major}.{sys.version_info.minor}"
    return built(BUILD / named, _install, of=(REQUIREMENTS, sys.base_prefix, sys.version))


def running(place: Place) -> Process | None:
    """The engine that was started here, if it still lives. The rest of a dead one is cleared away."""
    if not place.engine_file.exists():
        return None
    engine = Process(**json.loads(place.engine_file.read_text()))
    if engine.is_alive():
        return engine
    stop(place)
    return None


def refuse_taken(place: Place) -> None:
    """Raises NotReady if another program has the port."""
    if _answers(place.port):
        raise NotReady(
            f"Port {place.port} is taken by another program. `make up PORT={place.port + 100}` uses another."
        )


def start(place: Place) -> Process:
    """Returns once the engine answers."""
    refuse_taken(place)
    _clear(place)
    place.temporary.mkdir(parents=True)
    with place.engine_log.open("w") as log:
        started = subprocess.Popen(
            [installed() / "bin" / "python", "-P", PROGRAM],
            cwd=place.temporary, env=environment(place), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    engine = Process.noted(started.pid)
    place.engine_file.write_text(json.dumps(asdict(engine)))
    deadline = time.monotonic() + START_SECONDS
    while not _is_healthy(place.port):
        if started.poll() is not None or time.monotonic() > deadline:
            stop(place)
            raise Failure(f"The local engine did not start:\n{log_tail(place)}")
        time.sleep(0.05)
    return engine


def stop(place: Place) -> bool:
    """Ends the engine that was started here with all its functions, and forgets the stack; False if none was."""
    if not place.engine_file.exists():
        return False
    engine = Process(**json.loads(place.engine_file.read_text()))
    engine.end(marked=str(place.temporary))
    for file in (place.stack_file, place.engine_file):
        file.unlink(missing_ok=True)
    _clear(place)
    return True


def log_tail(place: Place, lines: int = LOG_LINES_SHOWN) -> str:
    text = place.engine_log.read_text(errors="replace") if place.engine_log.exists() else ""
    return "\n".join([*text.splitlines()[-lines:], f"(all of it: {place.engine_log})"])


def environment(place: Place) -> dict[str, str]:
    """The engine's own. Its workers inherit a few of these variables (`cli.local.engine.inherited`)."""
    ours = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return ours | {
        "AUTH": "true",
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(place.port),
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_WARM_TTL_SECONDS": "3600",
        "LOG_LEVEL": "WARNING",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": "us-east-1",
        "S3_DATA_DIR": str(place.temporary / "s3"),
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(place.temporary / "state"),
        "TMPDIR": str(place.temporary),
    }


def _clear(place: Place) -> None:
    shutil.rmtree(place.temporary, ignore_errors=True)


def _install(directory: Path) -> None:
    uv.run("venv", "--quiet", "--python", sys.executable, directory)
    python = directory / "bin" / "python"
    uv.run("pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", REQUIREMENTS)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
