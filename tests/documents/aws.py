"""`python -m tests.documents.aws` in the place of AWS's command line: one call, and the part of its answer that
`--query` names, as text. The runbook sets its variables with such calls."""

import argparse
import sys
from typing import Any

import jmespath

from chaos.game.runbook import asked_of_aws
from cli.local import aws


def answered(words: list[str]) -> Any:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--query", required=True)
    parser.add_argument("--output", required=True, choices=["text"])
    options, rest = parser.parse_known_args(words)
    service, method, asked = asked_of_aws(["aws", *rest])
    answer = getattr(aws.client(service), method)(**asked)
    found = jmespath.search(options.query, answer)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


if __name__ == "__main__":
    text = answered(sys.argv[1:])
    if not isinstance(text, str):
        sys.exit(f"{sys.argv[1:]} has the answer {text!r}")
    print(text)
