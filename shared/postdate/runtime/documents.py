"""Small public documents, such as the keys of an issuer, read over HTTPS."""

from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

_SECONDS: Final = 3.0
_BYTES_MAX: Final = 256 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """No address but the configured one is asked."""
        return


def fetch_document(url: str) -> bytes:
    """Fetches a document of at most 256 KB with one GET, for example the keys of an identity provider. Raises OSError
    for anything but success. Follows no redirect and uses no proxy. Plain HTTP is for loopback addresses only."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise OSError(f"{parts.scheme} is not read")
    opener = build_opener(ProxyHandler({}), _NoRedirects)
    asked = Request(url, headers={"Accept": "application/json"})  # noqa: S310 (the scheme was checked)
    try:
        with opener.open(asked, timeout=_SECONDS) as answer:
            found: bytes = answer.read(_BYTES_MAX + 1)
    except HTTPError as error:
        error.close()
        raise OSError(f"answered {error.code}") from None
    if len(found) > _BYTES_MAX:
        raise OSError("the document is too large")
    return found
