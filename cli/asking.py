"""A question before a change that cannot be taken back."""

import sys

from cli.failure import Failure


def sure(question: str, *, yes: bool = False) -> None:
    """Raises Failure unless the person says yes. A program has no terminal and is not asked."""
    if yes or not sys.stdin.isatty():
        return
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("Nothing was changed.")
