"""The description of the API, made once for all tests of a process: to make it takes most of a second."""

from typing import Any, Final

from functions.api import openapi

DESCRIPTION: Final[dict[str, Any]] = openapi.document()
