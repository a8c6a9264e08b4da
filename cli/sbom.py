"""The software bill of materials of the functions: their locked dependencies with versions, hashes and licences."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any, Final

from cli.local.once import ROOT

LOCKED: Final = ROOT / "requirements" / "runtime.txt"
_REQUIREMENT: Final = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_CLASSIFIER: Final = "License :: OSI Approved :: "


def sbom(locked: Path = LOCKED) -> dict[str, Any]:
    """The list of components in the form of CycloneDX 1.6. Two calls for one lock file give the same document."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "postdate",
                "version": version("postdate"),
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": list(_components(locked.read_text())),
    }


def _components(text: str) -> Iterator[dict[str, Any]]:
    for block in re.split(r"\n(?=[A-Za-z])", text):
        if found := _REQUIREMENT.match(block):
            name, number = found["name"].lower(), found["version"]
            yield {
                "type": "library",
                "name": name,
                "version": number,
                "purl": f"pkg:pypi/{name}@{number}",
                "hashes": [{"alg": "SHA-256", "content": each} for each in _HASH.findall(block)],
                "licenses": [{"license": {"name": licence_of(name)}}],
            }


def licence_of(name: str) -> str:
    """Returns the licence that the installed package declares; `unknown` without a package or a declaration."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return "unknown"
    expression = _field(told, "License-Expression")
    classified = [
        each.removeprefix(_CLASSIFIER)
        for each in told.get_all("Classifier") or []
        if each.startswith(_CLASSIFIER)
    ]
    short = _field(told, "License")
    return expression or ", ".join(classified) or (short if 0 < len(short) < 60 else "unknown")


def _field(told: PackageMetadata, name: str) -> str:
    return "".join(told.get_all(name) or [])
