"""Compares the locked dependencies of the functions with the public list of vulnerabilities, by pip-audit.

A dependency about which no index answers counts as not checked, and never as clean.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from cli.failure import Failure
from cli.local import uv
from cli.sbom import LOCKED

# Run apart from the project's own environment, so it is no dependency of the project.
PIP_AUDIT: Final = "pip-audit==2.10.1"
_SECONDS_MAX: Final = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """Names of dependencies with their versions. `vulnerable` has the ids of the vulnerabilities."""

    clean: list[str]
    vulnerable: dict[str, list[str]]
    not_checked: list[str]
    reason: str = ""

    def told(self) -> dict[str, Any]:
        """Raises Failure if a dependency is vulnerable."""
        if self.vulnerable:
            lines = [f"{name}: {', '.join(ids)}" for name, ids in sorted(self.vulnerable.items())]
            raise Failure("\n".join(["Dependencies with known vulnerabilities:", *lines]))
        return asdict(self)


def audit(ask: Callable[[], str] | None = None) -> Audit:
    """`ask` runs pip-audit and returns its JSON. Raises Failure if it cannot be run."""
    try:
        found = json.loads((ask or _asked)())["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Audit(clean=[], vulnerable={}, not_checked=_locked(), reason="pip-audit gave no report")
    clean, vulnerable, unknown = [], dict[str, list[str]](), []
    for each in found:
        name = f"{each['name']} {each.get('version', '')}".strip()
        if "skip_reason" in each:
            unknown.append(each["name"])
        elif each["vulns"]:
            vulnerable[name] = [vulnerability["id"] for vulnerability in each["vulns"]]
        else:
            clean.append(name)
    reason = "no index told about them" if unknown else ""
    return Audit(clean=clean, vulnerable=vulnerable, not_checked=unknown, reason=reason)


def show(told: dict[str, Any]) -> str:
    clean, unknown = told["clean"], told["not_checked"]
    line = f"{len(clean)} dependencies have no known vulnerability."
    if not unknown:
        return line
    return f"{line}\nNOT CHECKED: {len(unknown)} ({told['reason']}): {', '.join(unknown)}"


def _asked() -> str:
    """Returns the report of pip-audit on the lock file. Nothing is installed for it. pip-audit ends with 1 when it
    finds something, so that status is no failure."""
    if not uv.UV.exists():
        raise Failure("uv is missing. Run `make check` once.")
    ran = subprocess.run(
        [
            *(uv.UV, "tool", "run", "--quiet", PIP_AUDIT, "--requirement", LOCKED, "--require-hashes"),
            *("--disable-pip", "--format", "json", "--progress-spinner", "off"),
        ],
        env=uv.environment(uv.pip_settings(), os.environ),
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    return ran.stdout


def _locked() -> list[str]:
    lines = LOCKED.read_text().splitlines()
    return [line.partition("==")[0] for line in lines if "==" in line and not line.startswith(" ")]
