"""Writes `client.py` from `async_client.py`: the same client without asyncio."""

import re
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent / "postdate_client"
SOURCE: Final = FOLDER / "async_client.py"
TARGET: Final = FOLDER / "client.py"
_HEAD: Final = (
    '"""The client for threads. `python client/generate.py` writes this file from `async_client.py`."""'
)
# In this order.
_CHANGES: Final = (
    (r'\A""".*?"""', _HEAD),
    (r"import asyncio\n", ""),
    (r"AsyncIterator, Awaitable, Callable", "Callable, Iterator"),
    (r"AsyncIterator", "Iterator"),
    (r"AsyncClient", "Client"),
    (r"AsyncEvents", "Events"),
    (r"Awaitable\[([^\]]*(?:\[[^\]]*\])?)\]", r"\1"),
    (r"await asyncio\.to_thread\(\s*([\w.]+)\)", r"\1()"),
    (r"await asyncio\.to_thread\(\s*([\w.]+),\s*", r"\1("),
    (r"asyncio\.sleep", "time.sleep"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"aclose", "close"),
    (r"async (def|for|with)", r"\1"),
    (r"await ", ""),
    (r"for item in (.*):\n *yield item\n", r"yield from \1\n"),
)


def generated(source: str) -> str:
    for pattern, text in _CHANGES:
        source = re.sub(pattern, text, source, flags=re.DOTALL if pattern.startswith(r"\A") else 0)
    return source


if __name__ == "__main__":
    TARGET.write_text(generated(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name} is written. `ruff format` comes next.\n")
