"""The operators' console: static files for those who have no key yet. Whatever the page shows, it asks the API for."""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from postdate.domain.errors import NotFound

router = Router()

FOLDER: Final = Path(__file__).resolve().parents[3] / "console"
PAGE: Final = "index.html"
KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# Comments and indentation are for readers of the source. Each line stays, so that errors name the right line.
_UNREAD: Final = re.compile(rb"^ +(?://.*)?|^//.*", re.MULTILINE)
# A browser asks each time whether a file has changed, so no page runs with the files of two releases.
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    # The media type.
    kind: str
    # The bytes, as they are and compressed.
    content: bytes
    packed: bytes
    # Made from the content.
    etag: str


@router.get("/console")
def page() -> Response[Any]:
    return _answer(PAGE)


@router.get("/console/<file>")
def file(file: str) -> Response[Any]:
    return _answer(file)


@cache
def files() -> dict[str, File]:
    """The files of the console by name, read once, when the first person opens the console."""
    return {path.name: _read(path) for path in sorted(FOLDER.iterdir()) if path.suffix in KINDS}


def _read(path: Path) -> File:
    content = path.read_bytes()
    if path.suffix == ".js":
        content = _UNREAD.sub(b"", content)
    return File(
        kind=KINDS[path.suffix],
        content=content,
        packed=gzip.compress(content, 9, mtime=0),
        etag=f'W/"{hashlib.sha256(content).hexdigest()[:32]}"',
    )


def _answer(name: str) -> Response[Any]:
    found = files().get(name)
    if found is None:
        raise NotFound(f"the console has no file {name}")
    takes_gzip = "gzip" in (router.current_event.headers.get("accept-encoding") or "")
    packing = {"Content-Encoding": "gzip"} if takes_gzip else {}
    return Response(
        status_code=200,
        content_type=found.kind,
        body=found.packed if takes_gzip else found.content,
        headers={**_HEADERS, "ETag": found.etag, **packing},
    )
