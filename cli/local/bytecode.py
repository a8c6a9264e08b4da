"""Compiles code for the Python that will run it: this machine's own for the local stack, 3.14 for Lambda.

Python 3.14 is seldom installed. Pyodide brings it as WebAssembly in an npm package and runs on the Node that the CDK
needs anyway. Bytecode does not depend on the platform.
"""

import compileall
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

from cli.failure import Failure
from cli.local import node
from cli.local.once import BUILD, ROOT, built

HERE: Final = Path(__file__).with_name("compiler")
PROGRAM: Final = HERE / "compile.mjs"
PACKAGES: Final = HERE / "package.json"
# Bytecode that Lambda's Python is to import changes when one of these does.
COMPILER: Final = (Path(__file__), PROGRAM, PACKAGES)
# The number of all releases of CPython 3.14: it refuses to import bytecode with any other.
MAGIC: Final = "2b0e0d0a"


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """The place of bytecode files, and the condition under which Python uses them.

    `prefix` is the folder of the files where they run. A `legacy` file takes the place of its source, any other lies
    in `__pycache__`. Python compares `checked` bytecode with its source, and runs any other as it is.
    """

    prefix: str
    legacy: bool
    checked: bool

    @property
    def mode(self) -> PycInvalidationMode:
        return PycInvalidationMode.CHECKED_HASH if self.checked else PycInvalidationMode.UNCHECKED_HASH


def compile_here(folder: Path, form: Form) -> None:
    compileall.compile_dir(
        folder, quiet=2, workers=0, stripdir=folder, prependdir=form.prefix, legacy=form.legacy,
        invalidation_mode=form.mode,
    )  # fmt: skip


def compile_for_lambda(folder: Path, form: Form) -> None:
    settings = {"magic": MAGIC, "prefix": form.prefix, "legacy": form.legacy, "mode": form.mode.name}
    program = compiler() / "node_modules" / "pyodide" / "pyodide.mjs"
    ran = subprocess.run(
        [node.tools() / "bin" / "node", PROGRAM, program, folder, json.dumps(settings)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"Bytecode for Lambda could not be made:\n{ran.stderr.strip()[-2000:]}")


def compiler() -> Path:
    """`.build/compiler`: Pyodide under `node_modules`."""
    return built(BUILD / "compiler", lambda to: node.install(PACKAGES, to), of=(PACKAGES,))


def functions() -> Path:
    """`.build/bytecode-linux-arm64`: our own code with its bytecode for Lambda beside it. An asset is packed from the
    sources and takes the bytecode from here. Python checks it against its source at import, so outdated bytecode costs
    time and changes nothing."""
    sources = tuple(sorted(_sources()))
    return built(BUILD / "bytecode-linux-arm64", _compile_functions, of=(*sources, *COMPILER))


def _sources() -> Iterator[Path]:
    for folder in (ROOT / "functions", ROOT / "shared" / "postdate"):
        yield from folder.rglob("*.py")


def _compile_functions(to: Path) -> None:
    for source in _sources():
        inside = source.relative_to(ROOT / "shared" if source.is_relative_to(ROOT / "shared") else ROOT)
        (to / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, to / inside)
    compile_for_lambda(to, Form(prefix="/var/task", legacy=False, checked=True))


def sources_gone(folder: Path) -> None:
    """Removes each source that has its bytecode beside it. A source that does not compile stays."""
    for source in folder.rglob("*.py"):
        if source.with_suffix(".pyc").exists():
            source.unlink()
