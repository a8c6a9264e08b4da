"""Checkers of each task, run and payment: I8 to I22, as far as they are about single items."""

from collections.abc import Sequence
from typing import Final

from postdate.stores import dependencies
from tests.simulation.engine import Change, Row
from tests.simulation.hub import Actor
from tests.simulation.items_at_rest import ends_at
from tests.simulation.newer import ADDED
from tests.simulation.rows import (
    is_definition,
    is_item,
    is_payment,
    is_run,
    lines,
    moved,
    number,
    options,
    text,
)
from tests.simulation.seen import Broken, Seen
from tests.simulation.transitions import DEFINITIONS, PAYMENTS, TASKS

ATTEMPTS_OF_PAYMENTS: Final = 3
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
        ends, id, status = ends_at(seen, row), row["id"]["S"], text(row, "status")
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
