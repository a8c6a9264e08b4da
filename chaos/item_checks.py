"""Checks of items as the tables have them: final states, histories, attempts and letters."""

from itertools import pairwise
from typing import Final

from chaos import verdict
from chaos.arrival_checks import by_run, earliest_of
from chaos.items import Finding, Item, items_of, milliseconds
from chaos.seen import Seen
from chaos.verdict import Verdict
from postdate.domain.task import Task

FINAL: Final = frozenset(
    {"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "COMPLETED", "FAILED"}
)
BEGINS: Final = frozenset({"RUNNING", "COMPLETED"})
_HISTORY_LINES_MAX: Final = 60


def i8_nothing_leaves_a_final_state(seen: Seen) -> Verdict:
    def finding(item: Item) -> Finding:
        left = [line.to for line in item.history[:-1] if line.to in FINAL]
        return f"{item.id} left {left[0]}" if left else None

    return verdict.of(map(finding, items_of(seen).values()))


def i11_what_was_accepted_has_ended(seen: Seen) -> Verdict:
    """Items whose registration got no answer have to end as well: they may hold money."""
    items = items_of(seen)
    lost = [f"{each.id} is not there" for each in seen.notes.promised if each.id not in items]
    left = (None if item.state in FINAL else f"{item.id} is {item.state}" for item in items.values())
    return verdict.of([*lost, *left])


def i12_nothing_begins_early(seen: Seen) -> Verdict:
    earliest, items = earliest_of(seen), items_of(seen)

    def finding(id: str, due_ms: int) -> Finding:
        begun = [milliseconds(line.at) for line in items[id].history if line.to in BEGINS]
        return f"{id} began {due_ms - begun[0]} ms early" if begun and begun[0] < due_ms else None

    return verdict.of(finding(id, due_ms) for id, due_ms in earliest.items() if id in items)


def i16_letters_and_the_dead(seen: Seen) -> Verdict:
    items, known = items_of(seen), {letter.id: letter for letter in seen.letters}

    def of_a_letter(id: str, version: int) -> Finding:
        item = items.get(id)
        dead = item is not None and item.state in ("DEAD", "EXECUTING")
        return None if dead else f"a letter speaks of {id}, which is {item and item.state}"

    def of_a_dead(item: Item) -> Finding:
        letter = known.get(item.id)
        return (
            None if letter and letter.version == item.version else f"{item.id} is dead and has no such letter"
        )

    dead = [item for item in items.values() if item.state == "DEAD"]
    return verdict.of([*(of_a_letter(*letter) for letter in seen.letters), *map(of_a_dead, dead)])


def i16_the_queues_are_empty(seen: Seen) -> Verdict:
    return verdict.of(f"{count} left in {name}" if count else None for name, count in seen.queued.items())


def i17_attempts_and_delays(seen: Seen) -> Verdict:
    arrived = by_run(seen)

    def finding(task: Task) -> Finding:
        most = max([task.attempts, *(arrival.attempt for arrival in arrived.get(task.id, ()))])
        if most > task.retry.max_attempts:
            return f"{task.id} was at attempt {most} of {task.retry.max_attempts}"
        least = 1000 * min(task.retry.initial_seconds, task.retry.max_seconds)
        sooner = [
            milliseconds(after.at) - milliseconds(before.at)
            for before, after in pairwise(task.history)
            if (before.to, after.to) == ("RETRYING", "RUNNING")
            and milliseconds(after.at) - milliseconds(before.at) < least
        ]
        return f"{task.id} was tried again after {sooner[0]} ms" if sooner else None

    return verdict.of(map(finding, seen.tasks.values()))


def i20_history_has_no_gap(seen: Seen) -> Verdict:
    def finding(item: Item) -> Finding:
        versions = [line.version for line in item.history]
        whole = len(versions) >= _HISTORY_LINES_MAX or versions == list(range(1, item.version + 1))
        if not whole or item.history[-1].to != item.state:
            return f"{item.id}, version {item.version}, {item.state}, has {versions}"
        return None

    return verdict.of(map(finding, items_of(seen).values()))
