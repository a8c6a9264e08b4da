"""The methods that a path accepts, and the names of operations, from the table behind the API's description.

Only a request that no route takes and one that makes a key with actions ask for it, so no other request waits for the
table.
"""

import re
from functools import cache
from typing import Final

_PARAMETER: Final = re.compile(r"\\{[a-z_]+\\}")
# In the order in which they are told.
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def taken_by(path: str) -> tuple[str, ...]:
    """Empty for a path that there is not."""
    known = {method for template, method in _table() if template.fullmatch(path)}
    if "GET" in known:
        known.add("HEAD")
    return tuple(method for method in _METHODS if method in known)


@cache
def _table() -> list[tuple[re.Pattern[str], str]]:
    from functions.api.reference.operations import OPERATIONS

    return [
        (re.compile(_PARAMETER.sub("[^/]+", re.escape(each.path))), each.method.upper())
        for each in OPERATIONS
    ]


@cache
def operations_with_a_key() -> frozenset[str]:
    """The names that a key may be restricted to."""
    from functions.api.reference.operations import OPERATIONS

    return frozenset(each.name for each in OPERATIONS if each.scheme == "key" and each.scope is not None)
