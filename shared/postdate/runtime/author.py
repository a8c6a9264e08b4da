"""The author of what a request changes: set once the caller is known, read by the stores that note it."""


class Author:
    """`name` is `<type>:<id>`, and empty while nobody is known. A function answers one request at a time."""

    def __init__(self) -> None:
        self.name = ""

    def __call__(self) -> str:
        return self.name


def nobody() -> str:
    """The author for stores whose function signs nothing: its lines are known by its name."""
    return ""
