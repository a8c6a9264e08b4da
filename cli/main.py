"""`postdate`: the command line. Exit status 0, 1 (failed) or 2 (used wrongly).

Only the named command is imported: all of them together take a second.
"""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from cli import commands
from cli.failure import DryRun, Failure

DESCRIPTION: Final = "Schedules payments and calls on AWS serverless services."
_QUOTES: Final = '"""'


class Version(argparse.Action):
    """Prints the version from the metadata of the installed package."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # slow to import

        print(f"postdate {version('postdate')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    named = next((each for each in given if not each.startswith("-")), "")
    options = parser(only=named).parse_args(given)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return _run(_module(options.command), options)


def parser(*, only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands; with `only`, just that command knows its arguments."""
    made = argparse.ArgumentParser(prog="postdate", description=DESCRIPTION)
    made.add_argument("--version", action=Version, nargs=0, help="print the version")
    chosen = made.add_subparsers(dest="command", required=True, metavar="command")
    for path in _commands():
        name = path.stem.replace("_", "-")
        described = chosen.add_parser(name, help=summary(path))
        if only in (None, name):
            _describe(described, _module(name))
    return made


def _module(command: str) -> ModuleType:
    return import_module(f"cli.commands.{command.replace('-', '_')}")


def _commands() -> list[Path]:
    """The modules of the commands. `pkgutil` would import `inspect`, which takes a tenth of the time to the help."""
    return sorted(path for path in Path(commands.__path__[0]).glob("*.py") if path.stem != "__init__")


def _describe(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    parser.description = module.__doc__
    parser.add_argument("--json", action="store_true", help="answer in JSON on standard output")
    module.arguments(parser)


def summary(path: Path) -> str:
    """The first line of the module's docstring, read from its source."""
    with path.open(encoding="utf-8") as source:
        return source.readline().strip().removeprefix(_QUOTES).removesuffix(_QUOTES)


def _run(module: ModuleType, options: argparse.Namespace) -> int:
    try:
        answer = module.run(options)
    except DryRun as planned:
        print(json.dumps({"command": str(planned)}, indent=2) if options.json else planned)
        return 0
    except Failure as failure:
        print(failure, file=sys.stderr)
        if options.json:
            print(json.dumps({"error": str(failure)}))
        return failure.status
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 1
    print(json.dumps(answer, indent=2) if options.json else module.show(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
