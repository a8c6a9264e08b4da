"""The assets, as zips: a function's holds its own package and `postdate` and nothing else, but the API's also the
console, which it serves; the layer's holds its folder.

The same files always make the same bytes (sorted, one date, one mode), so what did not change is neither uploaded
nor deployed again. A zip is published as it stands: the CDK CLI has nothing left to pack.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / ".build"

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o100644 << 16


def contents(name: str, root: Path = ROOT) -> dict[str, Path]:
    """The files of a function's asset by their path inside it, without bytecode."""
    served = _under(root / "console", "console/") if name == "api" else ()
    return {
        **dict(served),
        "functions/__init__.py": root / "functions" / "__init__.py",
        **dict(_under(root / "functions" / name, f"functions/{name}/")),
        **dict(_under(root / "shared" / "postdate", "postdate/")),
    }


def bundle(name: str, *, platform: str, build: Path = BUILD) -> Path:
    """Packs the code of one function, with bytecode for the platform where that was compiled beforehand, and returns
    the file."""
    files = contents(name)
    compiled = dict(_bytecode(files, build / f"bytecode-{platform}"))
    return _pack(files | compiled, build / f"functions-{platform}" / f"{name}.zip")


def _bytecode(files: Mapping[str, Path], compiled: Path) -> Iterator[tuple[str, Path]]:
    for inside in map(Path, files):
        for found in (compiled / inside.parent / "__pycache__").glob(f"{inside.stem}.*.pyc"):
            yield found.relative_to(compiled).as_posix(), found


def bundle_layer(folder: Path) -> Path:
    """Packed again only when something in the folder is newer: it is large and seldom changes."""
    asset = folder.with_name(f"{folder.name}.zip")
    inside = [folder, *folder.rglob("*")]
    if asset.exists() and asset.stat().st_mtime_ns > max(path.stat().st_mtime_ns for path in inside):
        return asset
    return _pack({path.relative_to(folder).as_posix(): path for path in inside if path.is_file()}, asset)


def _under(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
        if path.is_file() and not hidden and path.suffix != ".pyc":
            yield prefix + inside.as_posix(), path


def _pack(files: Mapping[str, Path], asset: Path) -> Path:
    """Replaced in one step: another synthesis beside this one never reads half an asset."""
    asset.parent.mkdir(parents=True, exist_ok=True)
    unfinished = asset.with_suffix(f".{os.getpid()}")
    with ZipFile(unfinished, "w") as archive:
        for inside in sorted(files):
            entry = ZipInfo(inside, _LONG_AGO)
            entry.external_attr = _READABLE
            archive.writestr(entry, files[inside].read_bytes(), ZIP_DEFLATED)
    unfinished.replace(asset)
    return asset
