from typing import ClassVar


class Failure(Exception):
    """A command could not do its work, for a reason its user can read; it is printed without a traceback."""

    status: ClassVar[int] = 1


class NotReady(Failure):
    """Something outside of this project has to be put right first. The message names it in one line."""

    status: ClassVar[int] = 2


class DryRun(Exception):
    """A command would change something now. The message is the change as a curl command."""
