"""The invariants of items, one function each, by their numbers. They ask none of the code that they judge.

I8   no line of history follows a final one, and each has the version after the one before
I9   tokens of a run rise from attempt to attempt, and none is above what its row has given away
I10  all attempts of a run carry its id as their key; each instant that a cron names has one run
I11  what was accepted is there and has ended; what succeeded has arrived; what arrived is ours
I12  no attempt begins, and none arrives, before its instant
I13  one item a key, whatever was asked how often; the same answer again, and none to another body
I14  nothing that a client was told is undone
I15  what was cancelled stays so, and no attempt begins after it
I16  every dead letter is about a dead item and every dead item has its letter; nothing else is left in a queue
I17  no more attempts than the policy has, and none sooner than it says
I20  one line a version, without a gap
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeAlias

from chaos import verdict
from chaos.notes import Promised
from chaos.seen import Arrival, Seen
from chaos.verdict import Verdict
from postdate.domain.payment import Payment
from postdate.domain.task import Task

Item: TypeAlias = Task | Payment
Check: TypeAlias = Callable[[Seen], Verdict]
Finding: TypeAlias = str | None
FINAL: Final = frozenset(
    {"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "COMPLETED", "FAILED"}
)
BEGINS: Final = frozenset({"RUNNING", "COMPLETED"})
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_HISTORY_LINES_MAX: Final = 60


def i8_nothing_leaves_a_final_state(seen: Seen) -> Verdict:
    def finding(item: Item) -> Finding:
        left = [line.to for line in item.history[:-1] if line.to in FINAL]
        return f"{item.id} left {left[0]}" if left else None

    return verdict.of(map(finding, _items(seen).values()))


def i9_tokens_rise(seen: Seen) -> Verdict:
    """An attempt may be two requests, if a connection ends before an answer. Two attempts have two tokens."""

    def finding(run: str, arrived: list[Arrival]) -> Finding:
        task, tokens = seen.tasks.get(run), [arrival.token for arrival in arrived]
        if task is None or max(tokens) > task.token:
            return f"{run} arrived with the token {max(tokens)}, which nobody has"
        attempts = {arrival.attempt for arrival in arrived}
        if tokens != sorted(tokens) or len(set(tokens)) < len(attempts):
            return f"{run} arrived with the tokens {tokens} for {len(attempts)} attempts"
        return None

    return verdict.of(finding(run, arrived) for run, arrived in _by_run(seen).items())


def i10_one_key_a_run(seen: Seen) -> Verdict:
    def finding(arrival: Arrival) -> Finding:
        task = seen.tasks.get(arrival.run)
        if arrival.key != arrival.run or task is None or task.task_id != arrival.task:
            return f"an attempt of {arrival.task}, run {arrival.run}, came under the key {arrival.key}"
        return None

    return verdict.of(map(finding, seen.arrivals))


def i10_one_run_a_planned_instant(seen: Seen) -> Verdict:
    runs = Counter(
        (task.task_id, milliseconds(task.planned_at))
        for task in seen.tasks.values()
        if task.recurs is not None
    )
    planned = {(each.id, at) for each in seen.recurring for at in each.planned_ms}
    return verdict.of(
        None if runs[key] == (key in planned) else f"{key[0]} has {runs[key]} runs for {_text(key[1])}"
        for key in sorted(planned | runs.keys())
    )


def i11_what_was_accepted_has_ended(seen: Seen) -> Verdict:
    """Items whose registration got no answer have to end as well: they may hold money."""
    items = _items(seen)
    lost = [f"{each.id} is not there" for each in seen.notes.promised if each.id not in items]
    left = (None if item.state in FINAL else f"{item.id} is {item.state}" for item in items.values())
    return verdict.of([*lost, *left])


def i11_what_succeeded_has_arrived(seen: Seen) -> Verdict:
    """Matched from either side: a run without its arrival was missed, an arrival without its run is one too many."""
    arrived = _by_run(seen)
    missed = (
        f"{task.id} arrived nowhere" if task.id not in arrived else None
        for task in seen.tasks.values()
        if task.state == "SUCCEEDED"
    )
    extra = (f"{run} is nobody's" for run in arrived if run not in seen.tasks)
    return verdict.of([*missed, *extra])


def i12_no_arrival_is_early(seen: Seen) -> Verdict:
    earliest = _earliest(seen)

    def finding(arrival: Arrival) -> Finding:
        early = earliest.get(arrival.run, 0) - arrival.at_ms
        return f"{arrival.run} arrived {early:.3f} ms early" if early > 0 else None

    return verdict.of(map(finding, seen.arrivals))


def i12_nothing_begins_early(seen: Seen) -> Verdict:
    earliest, items = _earliest(seen), _items(seen)

    def finding(id: str, due_ms: int) -> Finding:
        begun = [milliseconds(line.at) for line in items[id].history if line.to in BEGINS]
        return f"{id} began {due_ms - begun[0]} ms early" if begun and begun[0] < due_ms else None

    return verdict.of(finding(id, due_ms) for id, due_ms in earliest.items() if id in items)


def i13_one_item_a_key(seen: Seen) -> Verdict:
    """An item says in its name, a payment in its description, which request it stands for."""
    made = Counter(key for item in _items(seen).values() if (key := _request(item)) is not None)
    promised = Counter(each.key for each in seen.notes.promised)
    return verdict.of(
        None if made[key] == promised[key] == 1 else f"{key}: {made[key]} items, {promised[key]} promised"
        for key in sorted(made.keys() | promised.keys())
    )


def i13_asked_again_the_answer_is_the_same(seen: Seen) -> Verdict:
    """Finds also items whose registration no client had an answer to."""

    def finding(status: int, id: Finding, promised: Promised, other: bool) -> Finding:
        wanted = (422, None) if other else (201, promised.id)
        return None if (status, id) == wanted else f"{promised.key} is answered {status} {id}, not {wanted}"

    again = [finding(each.status, each.id, each.promised, each.other_body) for each in seen.replays]
    return verdict.of([*again, *(f"{each.key} was never answered" for each in seen.notes.wanted)])


def i14_what_was_told_stays(seen: Seen) -> Verdict:
    items = _items(seen)

    def finding(told: Promised) -> Finding:
        item = items.get(told.id)
        if item is None or item.version < told.version:
            return f"{told.id} was version {told.version} and is {item and item.version}"
        lines = {line.version: line.to for line in item.history}
        if lines.get(told.version, told.status) != told.status:
            return f"{told.id} version {told.version} was {told.status} and is {lines[told.version]}"
        return None

    return verdict.of([*map(finding, seen.notes.promised), *_words_undone(seen)])


def i15_a_cancel_stays(seen: Seen) -> Verdict:
    items, arrived = _items(seen), _by_run(seen)
    paid = {each.payment_id for each in seen.movements}

    def finding(told: Promised) -> Finding:
        item = items.get(told.id)
        if item is None or item.state != "CANCELLED" or item.history[-1].to != "CANCELLED":
            return f"{told.id} was cancelled and is {item and item.state}"
        begun = max((line.attempt for line in item.history if line.to == "RUNNING"), default=0)
        if told.id in paid:
            return f"{told.id} was cancelled and has moved money"
        late = [arrival.token for arrival in arrived.get(told.id, ()) if arrival.token > begun]
        return f"{told.id} was cancelled and arrived with the tokens {late}" if late else None

    return verdict.of(finding(each) for each in seen.notes.promised if each.cancelled)


def i16_letters_and_the_dead(seen: Seen) -> Verdict:
    items, known = _items(seen), {letter.id: letter for letter in seen.letters}

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
    arrived = _by_run(seen)

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

    return verdict.of(map(finding, _items(seen).values()))


CHECKS: Final[tuple[Check, ...]] = (
    i8_nothing_leaves_a_final_state,
    i9_tokens_rise,
    i10_one_key_a_run,
    i10_one_run_a_planned_instant,
    i11_what_was_accepted_has_ended,
    i11_what_succeeded_has_arrived,
    i12_no_arrival_is_early,
    i12_nothing_begins_early,
    i13_one_item_a_key,
    i13_asked_again_the_answer_is_the_same,
    i14_what_was_told_stays,
    i15_a_cancel_stays,
    i16_letters_and_the_dead,
    i16_the_queues_are_empty,
    i17_attempts_and_delays,
    i20_history_has_no_gap,
)


def milliseconds(instant: datetime) -> int:
    since = instant - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def _items(seen: Seen) -> Mapping[str, Item]:
    return {**seen.tasks, **seen.payments}


def _by_run(seen: Seen) -> dict[str, list[Arrival]]:
    found: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in sorted(seen.arrivals, key=lambda each: each.at_ms):
        found[arrival.run].append(arrival)
    return found


def _earliest(seen: Seen) -> dict[str, int]:
    """The instant at which each item may begin: the one that its client was told, or that of its cron."""
    runs = {task.id: milliseconds(task.planned_at) for task in seen.tasks.values() if task.recurs is not None}
    return runs | {each.id: each.earliest_ms for each in seen.notes.promised}


def _request(item: Item) -> str | None:
    if isinstance(item, Payment):
        return item.description
    return item.name if item.recurs is None else None


def _words_undone(seen: Seen) -> Iterator[Finding]:
    for run, token in seen.words.items():
        task = seen.tasks.get(run)
        if task is None or (task.state, task.token) != ("SUCCEEDED", token):
            yield f"{run} was completed under the token {token} and is {task and task.state}"
        else:
            yield None


def _text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=_EPOCH.tzinfo).isoformat()
