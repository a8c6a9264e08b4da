"""Reads the lines before runs of recurring tasks, link by link and for many runs at once."""

from collections.abc import Collection, Sequence

from postdate.domain.line import LOOKED_AT_MAX, Line, line, links
from postdate.domain.task import Task
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Tasks


def read_lines(
    tasks: Tasks, runs: Sequence[Task], *, counted: Collection[str] = (), most: int = LOOKED_AT_MAX
) -> tuple[FoundRows[Task], dict[str, Line]]:
    """The rows of these runs and of those before them, and the line before each. Usually one request: a second one only
    looks past runs that never began, or counts those that wait before a `counted` run. A line with `unread` rows needs
    newer code."""
    read, asked = FoundRows[Task](), set[str]()
    wanted = {id for run in runs for id in (run.id, *(each for each, _ in links(run)))}
    lines: dict[str, Line] = {}
    while wanted:
        found = tasks.get_many(wanted)
        read.update(found)
        read.unreadable |= found.unreadable
        asked |= wanted
        known = asked - read.unreadable
        lines = {run.id: line(run, read, known, counts=run.id in counted, most=most) for run in runs}
        wanted = {id for each in lines.values() for id in each.unread} - asked
    return read, lines
