"""`python -m tests.model`: what each search counts; with `--mistake NAME`, the shortest way to what that one breaks."""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.model.mistakes import MISTAKES
from tests.model.search import Found
from tests.model.searches import PLANS, searched


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.mistake is not None:
        return _mistaken(given.mistake)
    return _counted([name for name in PLANS if given.only in name])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="the searches with this in their name")
    parser.add_argument("--mistake", metavar="NAME", help="'all', or the name of one")
    return parser


def _counted(names: Sequence[str]) -> int:
    """Prints as it goes; 1 if an invariant is broken."""
    broken = states = 0
    began = time.monotonic()
    for name in names:
        found = searched(name)
        states, broken = states + found.states, broken + bool(found.broken)
        print(
            f"{found.states:>8} states {found.steps:>8} steps {found.ends:>4} ends "
            f"{found.longest:>3} deep  {name}: {found.broken or 'all invariants hold'}",
            flush=True,
        )
        _tell(found)
    print(f"{states} states in {time.monotonic() - began:.0f} s, {broken} broken")
    return 1 if broken else 0


def _mistaken(name: str) -> int:
    """1 if one of them is not found."""
    missed = 0
    for mistake in MISTAKES:
        if name in (mistake.name, "all"):
            found = searched(mistake.within, mistake=mistake.name, breaks=mistake.breaks)
            missed += found.broken is None
            print(f"{mistake.name}, within {mistake.within!r}: {found.broken or 'MISSED'}")
            if name != "all":
                _tell(found)
    return 1 if missed else 0


def _tell(found: Found) -> None:
    """The steps of the trace, and after each what has changed by it."""
    for (_, before), (told, after) in zip(found.trace, found.trace[1:], strict=False):
        changed = [
            f"{name} {_short(value)}"
            for name, value in zip(after._fields, after, strict=True)
            if value != getattr(before, name) and name not in ("workers", "left", "client", "sweeper")
        ]
        print(f"    {told}" + (f"  [{', '.join(changed)}]" if changed else ""))


def _short(value: object) -> str:
    """A tuple of named fields without their names."""
    if isinstance(value, tuple):
        return "(" + " ".join(_short(each) for each in value) + ")"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
