"""Puts DynamoDB Local below .build, from Maven: `python -m tests.dynamodb_local.build`."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
BUILT: Final = _HERE.parents[1] / ".build" / "dynamodb-local"
JARS: Final = BUILT / "jars"
HASHES: Final = _HERE / "jars.sha256"
_MAVEN: Final = ("--quiet", "--batch-mode", "--strict-checksums", f"--file={_HERE / 'pom.xml'}")


def main() -> int:
    mvn, javac = shutil.which("mvn"), shutil.which("javac")
    if mvn is None or javac is None:
        return _failed("ENGINE=dynamodb-local needs the JDK 17 and Maven: mvn and javac on the PATH.")
    shutil.rmtree(BUILT, ignore_errors=True)
    subprocess.run([mvn, *_MAVEN, f"-Dbuilt={BUILT}", "initialize"], check=True)
    if wrong := differing(JARS):
        return _failed("These files are not those of jars.sha256:", *wrong)
    subprocess.run([javac, "-d", BUILT, "-cp", f"{JARS}/*", _HERE / "Loopback.java"], check=True)
    return 0


def differing(jars: Path) -> list[str]:
    """Files that are missing, too many or changed."""
    found = {f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in jars.iterdir()}
    return sorted({line.split()[1] for line in found ^ set(HASHES.read_text().splitlines())})


def _failed(*why: str) -> int:
    print(*why, sep="\n", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
