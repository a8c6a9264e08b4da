"""URLs that may be called: one function, used when a task is registered and again at every attempt."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.addresses import is_public
from postdate.targets.names import name_of
from postdate.targets.ports import REFUSED_PORTS
from postdate.targets.resolver import Resolver

URL_LENGTH_MAX: Final = 2048
RESOLVE_SECONDS_MAX: Final = 3.0
_LOOPBACK: Final = "127.0.0.1"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# RFC 3986 without fragments, and with the square brackets that many put into queries. Parsers disagree about the
# rest: control characters, spaces, backslashes, broken escapes.
_REST = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/\[\]-]|%[0-9A-Fa-f]{2})"
_URL: Final = re.compile(
    rf"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#\\\x00-\x20\x7f]*)(?P<path>(?:/{_REST}*)?)(?P<query>(?:\?(?:{_REST}|\?)*)?)"
)
_AUTHORITY: Final = re.compile(r"(?P<host>[^:]*)(?::(?P<port>[1-9][0-9]{0,4}))?")

Resolve: TypeAlias = Callable[[str, float], Sequence[str]]


class NameNotUsable(DestinationNotAllowed):
    """The name does not resolve, or not to public addresses only. DNS changes, so a later attempt may be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A URL that passed the checks."""

    # `https`; `http` for loopback only.
    scheme: str
    # The host name in lower case and ASCII.
    host: str
    # The port of the URL, or that of the scheme.
    port: int
    # With the query, as it is sent.
    path: str
    # The checked addresses; empty before the name was looked up. A call connects to one of them and asks no
    # resolver again, so no later answer of DNS leads it elsewhere.
    addresses: tuple[str, ...] = ()

    @property
    def authority(self) -> str:
        return self.host if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"


class NameNotResolved(NameNotUsable):
    """the name does not resolve"""


class NameTimedOut(NameNotResolved):
    """the name did not resolve in time"""


_RESOLVER: Final = Resolver()


def check_url(
    url: str,
    *,
    loopback_allowed: bool,
    resolve: Resolve = _RESOLVER,
    wait_seconds: float = RESOLVE_SECONDS_MAX,
) -> Endpoint:
    """The endpoint with every address its name has now. Raises DestinationNotAllowed, which says why.

    A single address that is not public refuses the name, and so does any error of the resolver.
    """
    endpoint = parse(url, loopback_allowed)
    if endpoint.addresses:
        return endpoint
    try:
        addresses = tuple(resolve(endpoint.host, min(wait_seconds, RESOLVE_SECONDS_MAX)))
    except TimeoutError as error:
        raise NameTimedOut from error
    except Exception as error:
        raise NameNotResolved from error
    return with_addresses(endpoint, addresses)


def with_addresses(endpoint: Endpoint, addresses: tuple[str, ...]) -> Endpoint:
    """The endpoint that may be called. Raises NameNotUsable when an address is not public, or when there is none."""
    if not addresses:
        raise NameNotResolved("the name has no address")
    if not all(is_public(address) for address in addresses):
        raise NameNotUsable("private address")
    return replace(endpoint, addresses=addresses)


@lru_cache(maxsize=1024)
def parse(url: str, loopback_allowed: bool) -> Endpoint:
    """Checks the URL itself, before any name is resolved."""
    if len(url) > URL_LENGTH_MAX:
        raise DestinationNotAllowed(f"the URL is longer than {URL_LENGTH_MAX} characters")
    parts = _URL.fullmatch(url)
    if not parts:
        raise DestinationNotAllowed("the URL is not absolute, or contains characters that are not allowed")
    scheme = parts["scheme"].lower()
    host, port = _host_and_port(parts["authority"], scheme)
    path = (parts["path"] or "/") + parts["query"]
    if loopback_allowed and (scheme, host) == ("http", _LOOPBACK):
        return Endpoint(scheme=scheme, host=host, port=port, path=path, addresses=(_LOOPBACK,))
    if scheme != "https":
        raise DestinationNotAllowed("the scheme is not https")
    if port in REFUSED_PORTS:
        raise DestinationNotAllowed(f"port {port} is reserved for a service other than HTTP")
    return Endpoint(scheme=scheme, host=name_of(host), port=port, path=path)


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise DestinationNotAllowed("the URL contains a user or a password")
    # Brackets hold an IPv6 address.
    if "[" in authority:
        raise DestinationNotAllowed("the host is numeric: only names are allowed")
    parts = _AUTHORITY.fullmatch(authority)
    port = int(parts["port"] or _DEFAULT_PORTS.get(scheme, 0)) if parts else 0
    if not parts or port > 65535:
        raise DestinationNotAllowed("the host or the port is not valid")
    return parts["host"], port
