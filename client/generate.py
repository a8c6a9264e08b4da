"""Writes the client for threads from the one for asyncio: the same files without `async`."""

import re
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent / "postdate_client"
# Each source by the file that is written from it, and the purpose of that file.
SOURCES: Final = {
    "requests.py": (
        "async_requests.py",
        "Requests for threads, repeated after temporary failures, and lists page after page.",
    ),
    "feed.py": ("async_feed.py", "The feed of events for threads."),
    **{
        f"{name}.py": (f"async_{name}.py", f"{name.capitalize()} for threads.")
        for name in ("payments", "accounts", "tasks", "runs", "operations")
    },
    "client.py": ("async_client.py", "The client for threads."),
}
_HEAD: Final = '"""{purpose}\n\n`python client/generate.py` writes this file from `{source}`.\n"""'
# In this order.
_CHANGES: Final = (
    (r"import asyncio\n", ""),
    (r"AsyncIterator, Awaitable, Callable", "Callable, Iterator"),
    (r"AsyncIterator", "Iterator"),
    (r"\bAsync([A-Z])", r"\1"),
    (r"\basync_([a-z])", r"\1"),
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


def generated(name: str) -> str:
    """The text of the file of that name, one of SOURCES."""
    source, purpose = SOURCES[name]
    text = (FOLDER / source).read_text(encoding="utf-8")
    for pattern, instead in _CHANGES:
        text = re.sub(pattern, instead, text)
    head = _HEAD.format(purpose=purpose, source=source)
    return re.sub(r'\A""".*?"""', lambda _: head, text, flags=re.DOTALL)


if __name__ == "__main__":
    for name in SOURCES:
        (FOLDER / name).write_text(generated(name), encoding="utf-8")
    sys.stdout.write(f"{', '.join(SOURCES)} are written. `ruff format` comes next.\n")
