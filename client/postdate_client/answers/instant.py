"""The type of instants. `python client/describe.py` writes this file from the API's description."""

from typing import TypeAlias

# RFC 3339 in UTC, with milliseconds.
Instant: TypeAlias = str
