"""Invariants of payments and tasks that hold when a run has come to rest."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from tests.simulation.engine import CALLS, Row
from tests.simulation.rows import (
    control,
    is_payment,
    is_run,
    lines,
    number,
    options,
    recurs,
    request_of,
    text,
    waits_for_a_person,
)
from tests.simulation.seen import Broken, Seen
from tests.simulation.transitions import FINAL

ON_TIME_MS: Final = 15_000
# Five seconds, and up to two until the next worker asks for messages.
AFTER_A_LOSS_MS: Final = 7_000


def i10_one_key_and_rising_tokens(seen: Seen) -> None:
    tokens: dict[str, list[int]] = defaultdict(list)
    rows = {row["id"]["S"]: row for row in seen.items()}
    for taken in seen.taken:
        row = rows.get(taken.run)
        if row is None:
            raise Broken(f"I10: an attempt of {taken.task} goes under the key {taken.run}")
        run = recurs(row)
        if taken.task != (taken.run if run is None else run.definition):
            raise Broken(f"I10: an attempt of {taken.task} goes under the key {taken.run}")
        tokens[taken.run].append(taken.token)
    for id, found in tokens.items():
        if max(found) > number(rows[id], "token"):
            raise Broken(f"I10: {id} was delivered with the token {max(found)}, which nobody has")
        if len(set(found)) < len(found):
            raise Broken(f"I10: {id} was delivered twice under one token: {found}")


def i11_nothing_is_lost(seen: Seen) -> None:
    left = [
        f"{row['id']['S']} {text(row, 'status')}"
        for row in seen.items()
        if text(row, "status") not in FINAL and not waits_for_a_person(row)
    ]
    if left:
        raise Broken(f"I11: not ended: {left}")


def i11_nothing_is_left_to_the_audit(seen: Seen) -> None:
    """If no call can be away for an hour, the passes before the audit find what a dead worker left. Of two
    workers that have one call at once, the first may be done with it and the second unable to send what follows."""
    letters = {id for id, _ in seen.letters()}
    left = [id for id in seen.audited if id not in letters | seen.doubled | seen.under_way]
    if left:
        raise Broken(f"I11: only the audit found {left}")


def i13_same_key_one_effect(seen: Seen) -> None:
    """An item says in its name which request it stands for."""
    made = Counter(name for row in seen.rows() if (name := request_of(row)) is not None)
    twice = [name for name, times in made.items() if times > 1]
    if twice:
        raise Broken(f"I13: more than one item for {twice}")


def i14_what_was_told_stays(seen: Seen) -> None:
    rows = {row["id"]["S"]: row for row in seen.rows() if "status" in row}
    for answer in seen.answered:
        if answer.item is None or answer.http not in (200, 201):
            continue
        row = rows.get(answer.item)
        if row is None:
            raise Broken(f"I14: {answer.item} was told to {answer.request} and is not there")
        if number(row, "version") < answer.version:
            raise Broken(f"I14: {answer.item} was version {answer.version} and is {number(row, 'version')}")
        if answer.status in FINAL and text(row, "status") != answer.status:
            raise Broken(f"I14: {answer.item} was {answer.status} and is {text(row, 'status')}")
        known = {line[0]: line[2] for line in lines(row)} if "history" in row else {}
        if answer.status is not None and known.get(answer.version, answer.status) != answer.status:
            raise Broken(f"I14: {answer.item} version {answer.version} was told as {answer.status}")


def i15_nothing_begins_after_a_cancel(seen: Seen) -> None:
    rows = {row["id"]["S"]: row for row in seen.items()}
    for taken in seen.taken:
        row = rows[taken.run]
        if text(row, "status") == "CANCELLED" and number(row, "token") < taken.token:
            raise Broken(f"I15: {taken.run} was delivered although it was cancelled first")


def i16_every_letter_has_its_item(seen: Seen) -> None:
    known = {row["id"]["S"] for row in seen.items()}
    for id, _ in seen.letters():
        if id not in known:
            raise Broken(f"I16: a letter speaks of {id}, which is not there")


def i16_poison_is_a_dead_letter(seen: Seen) -> None:
    """A row that no code can read is kept for a person: neither dropped nor tried for ever."""
    for queue in ("tasks", "payments"):
        sent, buried = seen.poison[queue], len(seen.buried_poison(queue))
        if buried < sent:
            raise Broken(
                f"I16: {sent} messages that nobody can read were in {queue}, {buried} are dead letters"
            )
        seen.reach["poison is a dead letter"] += sent


def i16_who_is_dead_has_a_letter(seen: Seen) -> None:
    """Each item that waits for a person can be brought back by the letter of that very version. Nobody brings back a
    run of a task that was cancelled, or a step of its backfill. And of two workers with one call at once, the one
    that writes the death may crash before the letter, and the other, which had the call first, then drops it. So may a
    worker that has a call for the last time, or one whose call vanishes meanwhile (docs/decisions/0009)."""
    letters = seen.letters()
    for row in filter(waits_for_a_person, seen.items()):
        plan = options(row).get("recurs")
        task = plan and seen.definition(plan[0], before=seen.hub.now)
        if (task and text(task, "status") == "CANCELLED") or row["id"][
            "S"
        ] in seen.doubled | seen.had_last | seen.lost:
            continue
        if (row["id"]["S"], number(row, "version")) not in letters:
            raise Broken(f"I16: {row['id']['S']} waits for a person, and there is no letter of it")


def i22_no_batch_breaks_off(seen: Seen) -> None:
    """An item that is broken does not stop the items beside it."""
    if broken_off := seen.reach["log batch_broke_off"]:
        raise Broken(f"I22: {broken_off} batches broke off")


def i22_it_comes_to_rest(seen: Seen) -> None:
    """Asked when the time is over."""
    i11_nothing_is_lost(seen)
    left = {queue: len(seen.engine.messages(queue)) for queue in CALLS}
    raise Broken(f"I22: messages go round and round: {left}")


def on_time(seen: Seen) -> None:
    """In a run without faults each task that was registered in time begins within seconds."""
    for row, late in _late(seen):
        if late > ON_TIME_MS:
            raise Broken(f"on time: {row['id']['S']} begins {late} ms late although nothing went wrong")


def i22_payments_outlive_their_worker(seen: Seen) -> None:
    """In a run without other faults, a payment that loses its worker is settled by the next one within seconds."""
    for row, late in _late(seen):
        if is_payment(row) and late > AFTER_A_LOSS_MS:
            raise Broken(f"I22: {row['id']['S']} is settled {late} ms late after its worker was lost")


def _late(seen: Seen) -> Iterator[tuple[Row, int]]:
    """Each item that began, with its lateness in milliseconds."""
    for row in seen.items():
        told = lines(row)
        starts = [line for line in told if line[2] in ("RUNNING", "COMPLETED")]
        if not starts or is_run(row) or control(row) or any("destination" in line[4] for line in told):
            continue
        planned = number(row, "planned") or number(row, "due")
        before = [line for line in told if line[0] < starts[0][0]]
        # A client that was refused first, and asks again with its key, may come after the instant.
        written = seen.written[row["id"]["S"]] // 1000
        late = starts[0][1] - max(planned, before[-1][1], written)
        yield row, late


def ends_at(seen: Seen, row: Row) -> int:
    """The deadline or the end of the lifetime, in milliseconds."""
    since = max(number(row, "planned") or number(row, "due"), number(row, "created"))
    return min(int(options(row).get("expires") or since * 2), since + seen.began.lifetime // 1000)
