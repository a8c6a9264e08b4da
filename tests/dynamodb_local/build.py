"""Puts DynamoDB Local below .build, from Maven: `python -m tests.dynamodb_local.build`."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
BUILT: Final = _HERE.parents[1] / ".build" / "dynamodb-local"
JARS: Final = BUILT / "jars"
HASHES: Final = _HERE / "jars.sha256"
_RELEASE_MIN: Final = 17
_NEEDS: Final = "ENGINE=dynamodb-local needs Java 17 or newer, as a JDK, and Maven; no other command does."
_VERSION: Final = ("javac", "-version")
_FETCH: Final = (
    *("mvn", "--quiet", "--batch-mode", "--strict-checksums"),
    *(f"--file={_HERE / 'pom.xml'}", f"-Dbuilt={BUILT}", "initialize"),
)
_COMPILE: Final = ("javac", "-d", BUILT, "-cp", f"{JARS}/*", _HERE / "Loopback.java")


def main() -> int:
    if missing := [name for name in ("java", "javac", "mvn") if shutil.which(name) is None]:
        return _failed(_NEEDS, f"Not on the PATH: {', '.join(missing)}.")
    told = subprocess.run(_VERSION, check=False, capture_output=True, text=True)
    if release(told.stdout or told.stderr) < _RELEASE_MIN:
        return _failed(_NEEDS, f"The JDK on the PATH is another: {(told.stdout or told.stderr).strip()}.")
    shutil.rmtree(BUILT, ignore_errors=True)
    if subprocess.run(_FETCH, check=False).returncode:
        return _failed("Maven did not fetch DynamoDB Local from where its own settings point: see above.")
    if wrong := differing(JARS):
        return _failed("These files are not those of jars.sha256:", *wrong)
    if subprocess.run(_COMPILE, check=False).returncode:
        return _failed("Loopback.java was not compiled: see above.")
    return 0


def release(version: str) -> int:
    """17 for `javac 17.0.15`; 1 for `javac 1.8.0_412`, and 0 for what is no version."""
    found = re.match(r"javac (\d+)", version)
    return int(found[1]) if found else 0


def differing(jars: Path) -> list[str]:
    """Files that are missing, too many or changed."""
    found = {f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in jars.iterdir()}
    return sorted({line.split()[1] for line in found ^ set(HASHES.read_text().splitlines())})


def _failed(*why: str) -> int:
    print(*why, sep="\n", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
