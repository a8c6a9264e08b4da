"""Bytecode for where the functions run: on this machine its own Python makes it, for Lambda the Python of its runtime.

That Python is seldom installed. It comes as WebAssembly from the package registry that Node's other packages come from,
and runs on the Node that the CDK needs anyway. Bytecode is the same on every platform.
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
# Of CPython 3.14, which keeps it: bytecode with another number cannot be imported at all.
MAGIC: Final = "2b0e0d0a"


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """`prefix` is where the files will lie. A `legacy` file lies in the place of its source, any other in
    `__pycache__`. Bytecode that is not `checked` is run whatever its source says."""

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
        [node.tools() / "bin" / "node", HERE / "compile.mjs", program, folder, json.dumps(settings)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"Bytecode for Lambda could not be made:\n{ran.stderr.strip()[-2000:]}")


def compiler() -> Path:
    packages = HERE / "package.json"
    return built(BUILD / "compiler", lambda to: node.install(packages, to), of=(packages,))


def functions() -> Path:
    """`.build/bytecode-linux-arm64`: our own code for Lambda, with its bytecode beside it. An asset is packed from the
    sources, and takes the bytecode from here. It is checked against its source when it is imported, so bytecode that is
    out of date costs time and changes nothing."""
    sources = tuple(sorted(_sources()))
    return built(BUILD / "bytecode-linux-arm64", _compile_functions, of=(*sources, HERE / "package.json"))


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
    """Leaves the bytecode in its source's place. A source that does not compile stays."""
    for source in folder.rglob("*.py"):
        if source.with_suffix(".pyc").exists():
            source.unlink()
