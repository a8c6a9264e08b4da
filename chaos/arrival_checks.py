"""Checks of what receivers saw: fencing tokens, one key for each run, and no call before its instant."""

from collections import Counter, defaultdict
from datetime import datetime

from chaos import verdict
from chaos.items import EPOCH, Finding, milliseconds
from chaos.seen import Arrival, Seen
from chaos.verdict import Verdict


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

    return verdict.of(finding(run, arrived) for run, arrived in by_run(seen).items())


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
        None if runs[key] == (key in planned) else f"{key[0]} has {runs[key]} runs for {text_of(key[1])}"
        for key in sorted(planned | runs.keys())
    )


def i11_what_succeeded_has_arrived(seen: Seen) -> Verdict:
    """Matched from either side: a run without its arrival was missed, an arrival without its run is one too many."""
    arrived = by_run(seen)
    missed = (
        f"{task.id} arrived nowhere" if task.id not in arrived else None
        for task in seen.tasks.values()
        if task.state == "SUCCEEDED"
    )
    extra = (f"{run} is nobody's" for run in arrived if run not in seen.tasks)
    return verdict.of([*missed, *extra])


def i12_no_arrival_is_early(seen: Seen) -> Verdict:
    earliest = earliest_of(seen)

    def finding(arrival: Arrival) -> Finding:
        early = earliest.get(arrival.run, 0) - arrival.at_ms
        return f"{arrival.run} arrived {early:.3f} ms early" if early > 0 else None

    return verdict.of(map(finding, seen.arrivals))


def by_run(seen: Seen) -> dict[str, list[Arrival]]:
    found: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in sorted(seen.arrivals, key=lambda each: each.at_ms):
        found[arrival.run].append(arrival)
    return found


def earliest_of(seen: Seen) -> dict[str, int]:
    """The instant at which each item may begin: the one that its client was told, or that of its cron."""
    runs = {task.id: milliseconds(task.planned_at) for task in seen.tasks.values() if task.recurs is not None}
    return runs | {each.id: each.earliest_ms for each in seen.notes.promised}


def text_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=EPOCH.tzinfo).isoformat()
