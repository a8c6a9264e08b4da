"""Tell the dependencies of the functions with their licences, as text or as a CycloneDX document.

With --audit, compare them with the public list of vulnerabilities; without an answer say so.
"""

import argparse
from typing import Any

from cli import audit
from cli.sbom import sbom


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--audit", action="store_true", help="look for known vulnerabilities (asks the network)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    return audit.audit().told() if options.audit else sbom()


def show(answer: dict[str, Any]) -> str:
    if "not_checked" in answer:
        return audit.show(answer)
    return "\n".join(
        f"{each['name']:<28}{each['version']:<14}{each['licenses'][0]['license']['name']}"
        for each in answer["components"]
    )
