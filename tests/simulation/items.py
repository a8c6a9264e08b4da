"""Checkers of each task, run and payment: I8 to I22, as far as they are about single items."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from postdate.stores import dependencies
from tests.simulation.engine import CALLS, Change, Row
from tests.simulation.hub import Actor
from tests.simulation.newer import ADDED
from tests.simulation.rows import (
    control,
    is_definition,
    is_item,
    is_payment,
    is_run,
    lines,
    moved,
    number,
    options,
    recurs,
    request_of,
    text,
    waits_for_a_person,
)
from tests.simulation.seen import Broken, Seen
from tests.simulation.transitions import DEFINITIONS, FINAL, PAYMENTS, TASKS

ATTEMPTS_OF_PAYMENTS: Final = 3
ON_TIME_MS: Final = 15_000
HISTORY_MAX: Final = 60
RECEIVER: Final = "receiver"


def i8_only_what_the_table_allows(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        row, before, id = change.after, change.before, change.key[1]
        assert row is not None
        to, kind = str(text(row, "status")), PAYMENTS if is_payment(row) else TASKS
        name = "payment" if is_payment(row) else "run" if is_run(row) else "task"
        if before is None:
            may_be_late = to in ("MISSED", "SKIPPED") and is_run(row)
            if not (to == "PENDING" or may_be_late) or number(row, "version") != 1:
                raise Broken(f"I8: {id} begins as {to}, version {number(row, 'version')}")
            seen.reach[f"state {name} {to}"] += 1
            continue
        was = str(text(before, "status"))
        if number(row, "version") == number(before, "version"):
            if _without_lease(row) != _without_lease(before):
                raise Broken(f"I8: {id} changed within version {number(row, 'version')}")
            continue
        if number(row, "version") != number(before, "version") + 1:
            raise Broken(f"I8: {id} goes to version {number(row, 'version')}")
        if to not in kind[was]:
            raise Broken(f"I8: {id} goes from {was} to {to}")
        if was == "DEAD" and actor is not None and (id, number(before, "version")) not in actor.calls_given:
            raise Broken(f"I8: {id} leaves DEAD without the letter of its death")
        seen.reach[f"{name} {was} -> {to}"] += 1


def i8_what_newer_code_wrote_stays(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.before is None or ADDED not in change.before:
            continue
        if change.after is None or ADDED not in change.after:
            raise Broken(f"I8: {change.table} {change.key[1]} loses what newer code has written")
        seen.reach["what newer code wrote, changed by older"] += actor is None or not actor.is_newer


def i8_definitions_move_by_their_table(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_definition, changes):
        row, before, id = change.after, change.before, change.key[1]
        assert row is not None
        to, was = str(text(row, "status")), None if before is None else str(text(before, "status"))
        if number(row, "version") != (0 if before is None else number(before, "version")) + 1:
            raise Broken(f"I8: {id} goes to version {number(row, 'version')}")
        if to != "ACTIVE" if was is None else to not in DEFINITIONS[was]:
            raise Broken(f"I8: {id} goes from {was} to {to}")
        seen.definitions.setdefault(id, []).append((seen.hub.now, row))
        seen.reach[f"definition {was or 'nothing'} -> {to}"] += 1


def i9_tokens_rise_and_fence(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """The writer of an outcome holds the task by its newest token: the worker that claimed it, or the receiver that
    was given that token. Any other writer comes after the end of the lease."""
    for change in filter(is_item, changes):
        row, before, id = change.after, change.before, change.key[1]
        assert row is not None
        if is_payment(row) or before is None:
            continue
        own = actor is None or _holds(actor, before)
        if number(row, "version") == number(before, "version"):
            if number(row, "lease") != number(before, "lease") and not own:
                raise Broken(f"I9: the lease of {id} was changed by somebody else")
            continue
        was, to = text(before, "status"), text(row, "status")
        accepted = was == to == "RUNNING" and text(row, "holder") == RECEIVER
        if number(row, "token") != number(before, "token") + (to == "RUNNING" and not accepted):
            raise Broken(f"I9: the token of {id} goes to {number(row, 'token')}")
        has_word = actor is None or actor.word is not None or options(row).get("ack") != "explicit"
        if to == "SUCCEEDED" and not has_word:
            raise Broken(f"I9: {id} ended without its receiver's word")
        if was != "RUNNING" or own:
            continue
        assert actor is not None
        if accepted or to == "SUCCEEDED":
            raise Broken(f"I9: {id} ended by {actor.request}, who does not hold it")
        # Taken over: the lease has to be over by somebody's clock, and that clock is off by no more than said.
        if number(before, "lease") * 1000 > seen.hub.now + actor.skew_max:
            raise Broken(f"I9: {id} taken over while its lease runs")


def i12_never_early(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """By the clock of the machine that acts; by the true time no earlier than that clock is ahead."""
    for before, row in moved(changes):
        begins = text(row, "status") == "RUNNING" and text(before, "status") in ("PENDING", "RETRYING")
        if not begins and not (is_payment(row) and text(row, "status") == "COMPLETED"):
            continue
        due, id = number(before, "due"), row["id"]["S"]
        if is_payment(row) and text(before, "status") == "EXECUTING":
            due = number(before, "planned") or due
        if lines(row)[-1][1] < due:
            raise Broken(f"I12: {id} begins {due - lines(row)[-1][1]} ms early")
        if actor is not None and seen.hub.now + actor.skew_max < due * 1000:
            raise Broken(f"I12: {id} begins before its instant")


def i12_never_after_its_end(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """No attempt begins after the task's end, not even by a redrive. Nothing is put off until its end but a run of a
    queue, which may be woken before that, and ends then if it is not."""
    for before, row in moved(changes):
        if is_payment(row):
            continue
        ends, id, status = _ends(seen, row), row["id"]["S"], text(row, "status")
        begins = status == "RUNNING" and number(row, "token") > number(before, "token")
        if begins and lines(row)[-1][1] >= ends:
            raise Broken(f"I12: {id} begins {lines(row)[-1][1] - ends} ms after its end")
        put_off = status in ("PENDING", "RETRYING") and number(row, "due") > number(before, "due")
        was_changed = lines(row)[-1][4].startswith("changed")
        latest = ends if lines(row)[-1][4] == "waits for the run before it" else ends - 1
        if put_off and not was_changed and number(row, "due") > latest:
            raise Broken(f"I12: {id} is put off until {number(row, 'due') - ends} ms after its end")


def i17_attempts_and_delays(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A worker that takes a task over and may not begin yet makes no retry of it: flow control decides that."""
    for before, row in moved(changes):
        most, least, longest = _policy(row)
        status, id = text(row, "status"), row["id"]["S"]
        if not is_payment(row) and number(row, "attempts") > most:
            raise Broken(f"I17: {id} is at attempt {number(row, 'attempts')} of {most}")
        own = actor is None or _holds(actor, before)
        failed = status == "RETRYING" and text(before, "status") == "RUNNING" and own
        released = failed and number(row, "attempts") < number(before, "attempts")
        _counts_what_was_sent(seen, before, row, own=own, released=released)
        failed = failed and not released
        retries = failed or (status == "EXECUTING" and "lease" in row)
        if retries:
            delay = number(row, "due") - number(row, "moved")
            if not least - 1 <= delay <= longest + 1:
                raise Broken(f"I17: {id} is tried again after {delay} ms")
            if number(row, "attempts") >= most:
                raise Broken(f"I17: {id} is tried again after attempt {number(row, 'attempts')}")


def i19_only_the_tenants_own(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    if actor is None or actor.tenant is None:
        return
    for change in changes:
        row = change.after or {}
        owner = text(row, "tenant") or change.key[0].partition("#")[0]
        # A copy of the API tells of its own breakers after a request.
        if change.key[0] == dependencies.OWNER:
            continue
        if (
            change.table in ("items", "payments", "accounts", "journal", "idempotency", "flow")
            and owner != actor.tenant
        ):
            raise Broken(f"I19: a request of {actor.tenant} wrote {change.table} {change.key} of {owner}")


def i20_one_line_a_version(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        assert change.after is not None
        told, version = lines(change.after), number(change.after, "version")
        if len(told) < HISTORY_MAX and [line[0] for line in told] != list(range(1, version + 1)):
            raise Broken(f"I20: the history of {change.key[1]} has gaps")
        if told[-1][2] != text(change.after, "status") or told[-1][3] != number(change.after, "attempts"):
            raise Broken(f"I20: the last line of {change.key[1]} says {told[-1]}")


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
    run of a task that was cancelled, or a step of its backfill. And of two workers who have one call at once, the one
    who writes the death may die over the letter, and the other, who was the first to have it, then drops it. So may a
    worker who has a call for the last time, or one whose call vanishes meanwhile (docs/decisions/0009)."""
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
    for row in seen.items():
        told = lines(row)
        starts = [line for line in told if line[2] in ("RUNNING", "COMPLETED")]
        if not starts or is_run(row) or control(row) or any("destination" in line[4] for line in told):
            continue
        planned = number(row, "planned") or number(row, "due")
        before = [line for line in told if line[0] < starts[0][0]]
        # Who was refused first, and asks again with his key, may come after the instant.
        written = seen.written[row["id"]["S"]] // 1000
        late = starts[0][1] - max(planned, before[-1][1], written)
        if late > ON_TIME_MS:
            raise Broken(f"on time: {row['id']['S']} begins {late} ms late although nothing went wrong")


def _ends(seen: Seen, row: Row) -> int:
    """The deadline or the end of the lifetime, in milliseconds."""
    since = max(number(row, "planned") or number(row, "due"), number(row, "created"))
    return min(int(options(row).get("expires") or since * 2), since + seen.began.lifetime // 1000)


def _holds(actor: Actor, row: Row) -> bool:
    return text(row, "holder") == actor.request or actor.word == (row["id"]["S"], number(row, "token"))


def _without_lease(row: Row) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "lease"}


def _counts_what_was_sent(seen: Seen, before: Row, row: Row, *, own: bool, released: bool) -> None:
    """Each claim is an attempt, unless nothing was sent under it. A redrive begins at one, or, postponed, at none, and
    past its deadline it changes none; an acceptance is a part of its attempt."""
    if is_payment(row):
        return
    was, to, id = text(before, "status"), text(row, "status"), row["id"]["S"]
    claim = id, number(before, "token")
    if released and any((taken.run, taken.token) == claim for taken in seen.taken):
        raise Broken(f"I17: {id} gives up its claim although something was sent under it")
    if own and to == "RETRYING" and was == "RUNNING" and claim in seen.untried and not released:
        raise Broken(f"I17: {id} counts an attempt under which nothing was sent")
    claimed = to == "RUNNING" and number(row, "token") != number(before, "token")
    redriven = was == "DEAD" and to != "EXPIRED"
    wanted = claimed - (number(before, "attempts") if redriven else released)
    if number(row, "attempts") - number(before, "attempts") != wanted:
        raise Broken(
            f"I17: {id} goes from {number(before, 'attempts')} to {number(row, 'attempts')} attempts"
        )
    seen.reach["claim released"] += released


def _policy(row: Row) -> tuple[int, float, float]:
    """Attempts, and the shortest and the longest delay in milliseconds."""
    if is_payment(row):
        return ATTEMPTS_OF_PAYMENTS, 2_000, 300_000
    retry = options(row).get("retry", {})
    longest = retry.get("max_seconds", 900.0) * 1000
    return retry.get("max_attempts", 5), min(retry.get("initial_seconds", 5.0) * 1000, longest), longest
