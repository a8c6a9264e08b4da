"""Which headers a task may add to its webhook."""

import re
from collections.abc import Sequence
from typing import Final

from postdate.domain.errors import ValidationFailed

COUNT_MAX: Final = 20
BYTES_MAX: Final = 4096
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
    if len(headers) > COUNT_MAX or sum(len(name) + len(value) for name, value in headers) > BYTES_MAX:
        return f"more than {COUNT_MAX} headers or {BYTES_MAX} bytes"
    seen: set[str] = set()
    for name, value in headers:
        lower = name.lower()
        if not _NAME.fullmatch(name):
            return "a header's name has characters that are not allowed"
        if lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES):
            return f"{name} is set by Postdate"
        if lower in seen:
            return f"{name} is given twice"
        if not _VALUE.fullmatch(value):
            return f"the value of {name} has characters that are not allowed"
        seen.add(lower)
    return None
