"""Bytecode in the assets: made by the Python that will run it, and never of other code than the asset's own."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest

from cli.local import bytecode, node
from cli.local.bytecode import Form, compile_for_lambda, compile_here, sources_gone
from cli.local.layer import LAMBDA_PYTHON
from infra.bundle import bundle, contents
from infra.constructs.runtime import RUNTIME

LAYER: Final = Form(prefix="/opt/python", legacy=True, checked=False)
# Imports a module of a folder with Lambda's Python and says what it finds.
IMPORTING: Final = """
import { pathToFileURL } from "node:url";
const { loadPyodide } = await import(pathToFileURL(process.argv[2]));
const python = await loadPyodide();
python.mountNodeFS("/opt", process.argv[3]);
console.log(python.runPython(`
import json, sys
sys.path.insert(0, "/opt")
import sample
json.dumps([list(sys.version_info[:2]), sample.__file__, sample.told(), sample.told.__code__.co_filename])
`));
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "sample"
    folder.mkdir()
    (folder / "sample.py").write_text("def told():\n    return 'of the source'\n")
    (folder / "of_another_time.py").write_text("print 'no longer'\n")
    return folder


def imported(folder: Path, tmp_path: Path) -> Any:
    program = tmp_path / "importing.mjs"
    program.write_text(IMPORTING)
    pyodide = bytecode.compiler() / "node_modules" / "pyodide" / "pyodide.mjs"
    ran = subprocess.run(
        [node.tools() / "bin" / "node", program, pyodide, folder], capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def test_lambdas_python_runs_what_was_compiled_for_it(sample: Path, tmp_path: Path) -> None:
    compile_for_lambda(sample, LAYER)
    sources_gone(sample)
    version, file, told, compiled_from = imported(sample, tmp_path)
    assert f"python{version[0]}.{version[1]}" == f"python{LAMBDA_PYTHON}" == RUNTIME.name
    assert (file, told, compiled_from) == ("/opt/sample.pyc", "of the source", "/opt/python/sample.py")


def test_a_source_that_does_not_compile_stays(sample: Path) -> None:
    compile_here(sample, LAYER)
    sources_gone(sample)
    assert sorted(path.name for path in sample.iterdir()) == ["of_another_time.py", "sample.pyc"]


def test_bytecode_of_another_python_is_not_packed(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "MAGIC", importlib.util.MAGIC_NUMBER.hex())
    with pytest.raises(bytecode.Failure, match="this Python's bytecode is 2b0e0d0a"):
        compile_for_lambda(sample, LAYER)
    assert not list(sample.glob("*.pyc"))


def test_code_that_was_changed_since_is_compiled_anew(sample: Path) -> None:
    """The source decides whether bytecode is out of date."""
    compile_here(sample, Form(prefix="/var/task", legacy=False, checked=True))
    (sample / "sample.py").write_text("def told():\n    return 'of the newer source'\n")
    told = subprocess.run(
        [sys.executable, "-c", "import sample; print(sample.told())"],
        cwd=sample,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "of the newer source\n"


def test_an_asset_holds_the_bytecode_of_its_own_sources_where_there_is_some(tmp_path: Path) -> None:
    made = tmp_path / "bytecode-linux-arm64" / "functions"
    for name in ("authorize/__pycache__/handler", "authorize/__pycache__/gone", "api/__pycache__/handler"):
        path = made / f"{name}.cpython-314.pyc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"bytecode")
    compiled = inside(bundle("authorize", platform="linux-arm64", build=tmp_path))
    assert compiled - set(contents("authorize")) == {
        "functions/authorize/__pycache__/handler.cpython-314.pyc"
    }
    assert inside(bundle("authorize", platform="local", build=tmp_path)) == set(contents("authorize"))


def inside(asset: Path) -> set[str]:
    with ZipFile(asset) as archive:
        return set(archive.namelist())
