"""Host names of the public internet, in the one spelling that every parser reads alike."""

import re
from typing import Final

from postdate.domain.errors import DestinationNotAllowed

_LENGTH_MAX: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# No top-level domain has a digit, and whatever ends in a number some parser takes for an address: 127.1, 0x7f.1.
_TOP: Final = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{1,58}[a-z0-9]")
_PRIVATE_TOPS: Final = frozenset({"localhost", "local", "internal", "arpa", "onion"})


def name_of(host: str) -> str:
    """The host in lower-case ASCII. Raises DestinationNotAllowed for what is no name, addresses included."""
    name = _ascii(host)
    labels = name.split(".")
    if not labels[-1]:
        raise DestinationNotAllowed("the host is empty or ends in a dot")
    if not _TOP.fullmatch(labels[-1]):
        raise DestinationNotAllowed("the host is numeric: only names are allowed")
    if len(name) > _LENGTH_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise DestinationNotAllowed("the host is not a valid name")
    if len(labels) == 1 or labels[-1] in _PRIVATE_TOPS:
        raise DestinationNotAllowed("the host is not a public name")
    return name


def _ascii(host: str) -> str:
    """An international name as DNS has it.

    Only if both standards take it and make the same of it. IDNA 2003 folds full-width digits, other dots, `ß` and
    joiners away, so the name that the owner wrote and the name that is called would differ. IDNA 2008 refuses signs,
    fillers and mixed directions, which registries no longer register.
    """
    if host.isascii():
        return host.lower()
    # Not lower() on the whole: it makes a plain k of the Kelvin sign.
    written = "".join(char.lower() if char.isascii() else char for char in host)
    # Its tables take longer to load than all the rest, and few names need them.
    import idna

    try:
        name = written.encode("idna")
        same = name.decode("idna") == written and name == idna.encode(written, strict=True)
    except UnicodeError:
        same = False
    if not same:
        raise DestinationNotAllowed(
            "the host contains characters that are not allowed in names; write it as xn--"
        )
    return name.decode("ascii")
