"""`postdate`: the command line. Exit status 0, 1 (failed) or 2 (used wrongly)."""

import argparse
import json
import pkgutil
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import metadata, version
from types import ModuleType

from cli import commands
from cli.failure import Failure


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return _run(_module(options.command), options)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="postdate", description=metadata("postdate")["Summary"])
    made.add_argument("--version", action="version", version=f"postdate {version('postdate')}")
    chosen = made.add_subparsers(dest="command", required=True, metavar="command")
    for info in _commands():
        name = info.name.replace("_", "-")
        module = _module(name)
        _describe(chosen.add_parser(name, help=_summary(module), description=module.__doc__), module)
    return made


def _module(command: str) -> ModuleType:
    return import_module(f"cli.commands.{command.replace('-', '_')}")


def _commands() -> list[pkgutil.ModuleInfo]:
    return sorted(pkgutil.iter_modules(commands.__path__), key=lambda info: info.name)


def _describe(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    parser.add_argument("--json", action="store_true", help="answer in JSON on standard output")
    module.arguments(parser)


def _summary(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


def _run(module: ModuleType, options: argparse.Namespace) -> int:
    try:
        answer = module.run(options)
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
