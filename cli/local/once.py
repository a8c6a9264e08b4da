"""Artifacts under .build, each built once and kept until its sources change."""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cli.progress import step

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = ROOT / ".build"


def built(directory: Path, make: Callable[[Path], None], *, of: tuple[Path | str, ...]) -> Path:
    """Returns `directory`, made anew by `make` unless it was made of just this content: of files, or of the words
    given.

    The directory is marked only when whole, so a run that is cut off is done again. A second run at the same time
    waits.
    """
    mark = mark_of(directory)
    content = _digest(of)
    with alone(mark.with_suffix(".lock")):
        if not (directory.is_dir() and mark.is_file() and mark.read_text() == content):
            mark.unlink(missing_ok=True)
            shutil.rmtree(directory, ignore_errors=True)
            with step(f"making {directory.name}"):
                make(directory)
            mark.write_text(content)
    return directory


def mark_of(directory: Path) -> Path:
    """The file that says what the directory was made of."""
    return directory.with_name(f"{directory.name}.made-of")


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _digest(sources: tuple[Path | str, ...]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        named, content = (str(source), source.read_bytes()) if isinstance(source, Path) else (source, b"")
        digest.update(f"{named} {len(content)} ".encode() + content)
    return digest.hexdigest()
