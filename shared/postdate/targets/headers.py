"""Headers that a task may add to its webhook."""

import re
from collections.abc import Sequence
from typing import Final

from postdate.domain.errors import ValidationFailed

COUNT_MAX: Final = 20
BYTES_MAX: Final = 4096
_NO_WORD: Final = re.compile(r"[^a-z0-9]")
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
# Visible ASCII with spaces and tabs between: no CR, LF or NUL, nothing that a server trims or reads in another charset.
_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
# Ours to say, or about the connection instead of the request. Authorization and Cookie are the receiver's business.
_RESERVED: Final = frozenset(
    (
        *(
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
        ),
        *("http2-settings", "idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
        "user-agent",
    )
)
_RESERVED_PREFIXES: Final = ("webhook-", "postdate-", "proxy-")


def check_headers(headers: Sequence[tuple[str, str]], *, field: str = "target.headers") -> None:
    """Raises ValidationFailed for `field`; the message names a header, never its value."""
    message = _wrong(headers)
    if message:
        raise ValidationFailed([(field, message)])


def _wrong(headers: Sequence[tuple[str, str]]) -> str | None:
    """The reason why a request may not have these headers; None if it may."""
    if len(headers) > COUNT_MAX or sum(len(name) + len(value) for name, value in headers) > BYTES_MAX:
        return f"more than {COUNT_MAX} headers or {BYTES_MAX} bytes"
    seen: set[str] = set()
    for name, value in headers:
        if not _NAME.fullmatch(name):
            return "a header's name has characters that are not allowed"
        read = _as_read(name)
        if read in _RESERVED or read.startswith(_RESERVED_PREFIXES):
            return f"{name} is set by Postdate, or read as a header that is"
        if read in seen:
            return f"{name} is given twice, or read as another one that is given"
        if not _VALUE.fullmatch(value):
            return f"the value of {name} has characters that are not allowed"
        seen.add(read)
    return None


def _as_read(name: str) -> str:
    """A server that hands headers on as variables (CGI, WSGI) makes one sign of all that is no letter or digit."""
    return _NO_WORD.sub("-", name.lower())
