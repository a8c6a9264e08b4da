"""Checks of what the API told: repeated requests, promises and cancellations."""

from collections import Counter
from collections.abc import Iterator

from chaos import verdict
from chaos.arrival_checks import by_run
from chaos.items import Finding, Item, items_of
from chaos.notes import Promised
from chaos.seen import Seen
from chaos.verdict import Verdict
from postdate.domain.payment import Payment


def i13_one_item_a_key(seen: Seen) -> Verdict:
    """An item says in its name, a payment in its description, which request it stands for."""
    made = Counter(key for item in items_of(seen).values() if (key := _request(item)) is not None)
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
    items = items_of(seen)

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
    items, arrived = items_of(seen), by_run(seen)
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
