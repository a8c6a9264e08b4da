"""Tell the dependencies of the functions with their licences, as text or as a CycloneDX document."""

import argparse
from typing import Any

from cli.sbom import sbom


def arguments(parser: argparse.ArgumentParser) -> None:
    """Takes none: the lock file says it all."""


def run(_: argparse.Namespace) -> dict[str, Any]:
    return sbom()


def show(answer: dict[str, Any]) -> str:
    return "\n".join(
        f"{each['name']:<28}{each['version']:<14}{each['licenses'][0]['license']['name']}"
        for each in answer["components"]
    )
