"""uv under this machine's own pip settings: its index, links, certificates and proxy stay in force.

uv reads none of pip's configuration, so each setting is handed over under uv's name for it. Standard
library only: this runs before anything is installed.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cli.failure import Failure

UV: Final = Path(sys.prefix) / "bin" / "uv"

AS_PIP_DOES: Final = {
    "UV_INDEX_STRATEGY": "unsafe-best-match",  # all indexes count alike; what comes is held to its hash anyway
    "UV_SYSTEM_CERTS": "1",
    "UV_NO_PROGRESS": "1",
}

UV_NAMES: Final = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def environment(pip_settings: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """The environment of uv: `base`, and each pip setting that `base` does not set for uv."""
    handed_over = {
        UV_NAMES[name]: _as_list(name, value) for name, value in pip_settings.items() if name in UV_NAMES
    }
    return {**AS_PIP_DOES, **handed_over, **base}


def pip_settings() -> dict[str, str]:
    """pip's effective settings for `install`: files first, environment variables over them."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in sections:
            sections[section][name] = value.strip("'\"")
    return sections["global"] | sections["install"] | sections[":env:"]


def run(*arguments: str | Path) -> None:
    """uv says itself, on standard error, what went wrong."""
    ran = subprocess.run([UV, *arguments], env=environment(pip_settings(), os.environ), check=False)
    if ran.returncode:
        raise Failure(f"uv {arguments[0]} {arguments[1]} failed.")


def _as_list(name: str, value: str) -> str:
    """pip separates several links by white space, uv by commas; indexes are spaced in both."""
    values = value.replace("\\n", " ").split()
    return (",".join if name == "find-links" else " ".join)(values)


if __name__ == "__main__":
    try:
        run(*sys.argv[1:])
    except Failure as failure:
        sys.exit(str(failure))
