"""The invariants of docs and proof, one function each. Those of a step look at what one write changed; those of the end
look at what is left.

A checker has its own idea of what is right: it asks none of the code that it judges. A test compares the tables of
transitions with the code's.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.simulation.engine import Change, Engine, Row
from tests.simulation.hub import Actor, Hub
from tests.simulation.transitions import FINAL, PAYMENTS, TASKS

ATTEMPTS_OF_PAYMENTS: Final = 3
ON_TIME_MS: Final = 15_000


class Broken(BaseException):
    """An invariant does not hold. No `except Exception` of the code under test hides it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What a destination saw of one attempt."""

    task: str
    tenant: str
    run: str
    attempt: int
    token: int
    at: int
    worker: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What a client was told: `status` is the item's."""

    request: str
    http: int
    item: str | None
    version: int
    status: str | None
    tenant: str
    at: int


@dataclass(kw_only=True, slots=True)
class Seen:
    """Everything that the checkers look at."""

    hub: Hub
    engine: Engine
    taken: list[Taken] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    keys: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    cancelled_at: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    settled: Counter[str] = field(default_factory=Counter)
    open: set[str] = field(default_factory=set)
    reach: Counter[str] = field(default_factory=Counter)
    audited: list[str] = field(default_factory=list)

    def item(self, id: str) -> Row | None:
        return next((row for row in self.engine.rows("items") if row["id"]["S"] == id), None)


def text(row: Row, name: str) -> str | None:
    value = row.get(name)
    return None if value is None else str(value["S"])


def number(row: Row, name: str) -> int:
    value = row.get(name)
    return 0 if value is None else int(value["N"])


def lines(row: Row) -> list[tuple[int, int, str, int, str]]:
    """version, at, to, attempt, why"""
    found = []
    for line in row["history"]["L"]:
        version, at, to, attempt, why = line["S"].split(" ", 4)
        found.append((int(version), int(at), to, int(attempt), why))
    return found


def is_item(change: Change) -> bool:
    return change.table == "items" and change.after is not None and "status" in change.after


def is_payment(row: Row) -> bool:
    return str(row["id"]["S"]).startswith("pay_")


def held(row: Row | None) -> int:
    if row is None or text(row, "status") in FINAL or text(row, "funding") == "at_execution":
        return 0
    return number(row, "amount")


def effects(row: Row) -> dict[str, int]:
    """What a row of the journal does to accounts; the world outside is ''."""
    tenant, amount = text(row, "tenant"), number(row, "amount")
    payer, payee = text(row, "payer"), text(row, "payee")
    found: dict[str, int] = defaultdict(int)
    found[f"{tenant}#{payer}" if payer else ""] -= amount
    found[f"{tenant}#{payee}" if payee else ""] += amount
    return found


def i1_and_i6_money_is_conserved(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """With every write each balance changes by what the journal says, so every prefix of it gives every balance."""
    moved: dict[str, int] = defaultdict(int)
    for change in changes:
        if change.table == "accounts" and change.after is not None:
            for part in ("available", "reserved"):
                before = number(change.before, part) if change.before else 0
                moved[change.key[0]] += number(change.after, part) - before
        if change.table == "journal" and change.after is not None:
            for account, amount in effects(change.after).items():
                if account:
                    moved[account] -= amount
    wrong = {account: amount for account, amount in moved.items() if amount}
    if wrong:
        raise Broken(f"I1 I6: balances change by other than the journal says: {wrong}")


def i2_nothing_is_below_zero(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.table == "accounts" and change.after is not None:
            for part in ("available", "reserved"):
                if number(change.after, part) < 0:
                    raise Broken(f"I2: {part} of {change.key[0]} is {number(change.after, part)}")


def i3_what_is_reserved_is_held(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    due: dict[str, int] = defaultdict(int)
    for change in changes:
        if change.table == "accounts" and change.after is not None:
            before = number(change.before, "reserved") if change.before else 0
            due[change.key[0]] += number(change.after, "reserved") - before
        if is_item(change) and change.after is not None and is_payment(change.after):
            account = f"{text(change.after, 'tenant')}#{text(change.after, 'payer')}"
            due[account] -= held(change.after) - held(change.before)
    wrong = {account: amount for account, amount in due.items() if amount}
    if wrong:
        raise Broken(f"I3: what is reserved differs from what is held: {wrong}")


def i5_a_movement_follows_from_its_plan(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.table != "journal" or change.after is None:
            continue
        row = change.after
        if change.before is not None:
            raise Broken(f"I5: the movement {change.key[1]} was written twice")
        if sum(effects(row).values()) or number(row, "amount") <= 0 or len(effects(row)) != 2:
            raise Broken(f"I5: the legs of {change.key[1]} do not cancel out")
        if text(row, "type") == "PAYMENT":
            paid = next(
                (each.after for each in changes if is_item(each) and each.key[1] == text(row, "payment_id")),
                None,
            )
            if paid is None:
                raise Broken(f"I5: {change.key[1]} was written without its payment")
            planned = number(paid, "planned") or number(paid, "due")
            if change.key[1] != f"txn_{_time(planned)}{paid['id']['S'].rpartition('_')[2]}":
                raise Broken(f"I5: {change.key[1]} does not follow from its payment's plan")
            told = [text(row, name) for name in ("tenant", "payer", "payee")] + [number(row, "amount")]
            if told != [text(paid, name) for name in ("tenant", "payer", "payee")] + [number(paid, "amount")]:
                raise Broken(f"I5: {change.key[1]} moves other than its payment")


def i7_once(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    moved = Counter(
        text(change.after, "payment_id")
        for change in changes
        if change.table == "journal" and change.after is not None and "payment_id" in change.after
    )
    completed = Counter(
        change.key[1]
        for change in changes
        if is_item(change)
        and change.after is not None
        and text(change.after, "status") == "COMPLETED"
        and (change.before is None or text(change.before, "status") != "COMPLETED")
    )
    if moved != completed:
        raise Broken(f"I7: completed {dict(completed)} but moved {dict(moved)}")
    for payment in moved:
        seen.settled[str(payment)] += 1
        if seen.settled[str(payment)] > 1:
            raise Broken(f"I7: {payment} was settled twice")


def i8_only_what_the_table_allows(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        row, before = change.after, change.before
        assert row is not None
        to, kind = text(row, "status"), PAYMENTS if is_payment(row) else TASKS
        if before is None:
            if to != "PENDING" or number(row, "version") != 1:
                raise Broken(f"I8: {change.key[1]} begins as {to}, version {number(row, 'version')}")
            seen.reach[f"state {'payment' if is_payment(row) else 'task'} PENDING"] += 1
            continue
        was = str(text(before, "status"))
        if number(row, "version") == number(before, "version"):
            same = {k: v for k, v in row.items() if k != "lease"} == {
                k: v for k, v in before.items() if k != "lease"
            }
            if not same:
                raise Broken(f"I8: {change.key[1]} changed within version {number(row, 'version')}")
            continue
        if number(row, "version") != number(before, "version") + 1:
            raise Broken(f"I8: {change.key[1]} goes to version {number(row, 'version')}")
        if to not in kind[was]:
            raise Broken(f"I8: {change.key[1]} goes from {was} to {to}")
        letter = (change.key[1], number(before, "version"))
        if was == "DEAD" and actor is not None and letter not in actor.calls_given:
            raise Broken(f"I8: {change.key[1]} leaves DEAD without the letter of its death")
        seen.reach[f"{'payment' if is_payment(row) else 'task'} {was} -> {to}"] += 1


def i9_tokens_rise_and_fence(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        row, before = change.after, change.before
        assert row is not None
        if is_payment(row) or before is None or number(row, "version") == number(before, "version"):
            if before is not None and not is_payment(row) and actor is not None:
                own = text(before, "holder") == actor.request
                if number(row, "lease") != number(before, "lease") and not own:
                    raise Broken(f"I9: the lease of {change.key[1]} was changed by somebody else")
            continue
        claims = text(row, "status") == "RUNNING"
        if number(row, "token") != number(before, "token") + claims:
            raise Broken(f"I9: the token of {change.key[1]} goes to {number(row, 'token')}")
        was, to = text(before, "status"), text(row, "status")
        if was == "RUNNING" and actor is not None:
            own = text(before, "holder") == actor.request
            if not own and to in ("SUCCEEDED", "RETRYING"):
                raise Broken(f"I9: {change.key[1]} ended by {actor.request}, who does not hold it")
            if not own and to in ("RUNNING", "DEAD"):
                # Taken over: the lease has to be over by somebody's clock, and that clock is off by no more than said.
                lease = number(before, "lease") * 1000
                if lease > seen.hub.now + actor.skew_max:
                    raise Broken(f"I9: {change.key[1]} taken over while its lease runs")


def i12_never_early(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """By the clock of the machine that acts; by the true time no earlier than that clock is ahead."""
    for change in filter(is_item, changes):
        row, before = change.after, change.before
        assert row is not None
        if before is None or number(row, "version") == number(before, "version"):
            continue
        begins = text(row, "status") == "RUNNING" and text(before, "status") in ("PENDING", "RETRYING")
        if not begins and not (is_payment(row) and text(row, "status") == "COMPLETED"):
            continue
        due = number(before, "due")
        if is_payment(row) and text(before, "status") == "EXECUTING":
            due = number(before, "planned") or due
        if lines(row)[-1][1] < due:
            raise Broken(f"I12: {change.key[1]} begins {due - lines(row)[-1][1]} ms early")
        if actor is not None and seen.hub.now + actor.skew_max < due * 1000:
            raise Broken(f"I12: {change.key[1]} begins before its instant")


def i17_attempts_and_delays(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        row, before = change.after, change.before
        assert row is not None
        if before is None or number(row, "version") == number(before, "version"):
            continue
        most, least, longest = _policy(row)
        status = text(row, "status")
        if not is_payment(row) and number(row, "attempts") > most:
            raise Broken(f"I17: {change.key[1]} is at attempt {number(row, 'attempts')} of {most}")
        failed = status == "RETRYING" and text(before, "status") == "RUNNING"
        retries = failed or (status == "EXECUTING" and "lease" in row)
        if retries:
            delay = number(row, "due") - number(row, "moved")
            if not least - 1 <= delay <= longest + 1:
                raise Broken(f"I17: {change.key[1]} is tried again after {delay} ms")
            if number(row, "attempts") >= most:
                raise Broken(f"I17: {change.key[1]} is tried again after attempt {number(row, 'attempts')}")


def frozen_accounts_neither_pay_nor_receive(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    frozen = {
        change.key[0]
        for change in changes
        if change.table == "accounts"
        and change.before is not None
        and text(change.before, "status") == "FROZEN"
    }
    for change in changes:
        if (
            change.table == "journal"
            and change.after is not None
            and text(change.after, "type") != "ADJUSTMENT"
        ):
            touched = frozen & effects(change.after).keys()
            if touched:
                raise Broken(f"money: {change.key[1]} moves money of {sorted(touched)}, which is frozen")


def i19_only_the_tenants_own(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    if actor is None or actor.tenant is None:
        return
    for change in changes:
        row = change.after or {}
        owner = text(row, "tenant") or change.key[0].partition("#")[0]
        if change.table in ("items", "accounts", "journal", "idempotency") and owner != actor.tenant:
            raise Broken(f"I19: a request of {actor.tenant} wrote {change.table} {change.key} of {owner}")


def i20_one_line_a_version(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in filter(is_item, changes):
        assert change.after is not None
        told = lines(change.after)
        if [line[0] for line in told] != list(range(1, number(change.after, "version") + 1)) and len(
            told
        ) < 60:
            raise Broken(f"I20: the history of {change.key[1]} has gaps")
        if told[-1][2] != text(change.after, "status") or told[-1][3] != number(change.after, "attempts"):
            raise Broken(f"I20: the last line of {change.key[1]} says {told[-1]}")


STEP: Final[tuple[Callable[[Seen, Actor | None, Sequence[Change]], None], ...]] = (
    i1_and_i6_money_is_conserved,
    i2_nothing_is_below_zero,
    i3_what_is_reserved_is_held,
    i5_a_movement_follows_from_its_plan,
    i7_once,
    i8_only_what_the_table_allows,
    i9_tokens_rise_and_fence,
    i12_never_early,
    i17_attempts_and_delays,
    frozen_accounts_neither_pay_nor_receive,
    i19_only_the_tenants_own,
    i20_one_line_a_version,
)


def i10_one_run_one_key(seen: Seen) -> None:
    tokens: dict[str, list[int]] = defaultdict(list)
    for taken in seen.taken:
        if taken.run != taken.task:
            raise Broken(f"I10: an attempt of {taken.task} goes under the key {taken.run}")
        tokens[taken.task].append(taken.token)
    for task, found in tokens.items():
        row = seen.item(task)
        if row is None or max(found) > number(row, "token"):
            raise Broken(f"I10: {task} was delivered with the token {max(found)}, which nobody has")
        if len(set(found)) < len(found):
            raise Broken(f"I10: {task} was delivered twice under one token: {found}")


def i13_same_key_one_effect(seen: Seen) -> None:
    """An item says in its name which request it stands for."""
    made = Counter(name for row in seen.engine.rows("items") if (name := request_of(row)) is not None)
    twice = [name for name, times in made.items() if times > 1]
    if twice:
        raise Broken(f"I13: more than one item for {twice}")


def i14_what_was_told_stays(seen: Seen) -> None:
    rows = {row["id"]["S"]: row for row in seen.engine.rows("items")}
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
        known = {line[0]: line[2] for line in lines(row)}
        if answer.status is not None and known.get(answer.version, answer.status) != answer.status:
            raise Broken(f"I14: {answer.item} version {answer.version} was told as {answer.status}")


def i15_nothing_begins_after_a_cancel(seen: Seen) -> None:
    rows = {row["id"]["S"]: row for row in seen.engine.rows("items")}
    for taken in seen.taken:
        row = rows[taken.task]
        if text(row, "status") == "CANCELLED" and number(row, "token") < taken.token:
            raise Broken(f"I15: {taken.task} was delivered although it was cancelled first")


def i16_every_letter_has_its_item(seen: Seen) -> None:
    rows = {row["id"]["S"]: row for row in seen.engine.rows("items")}
    for queue in ("tasks-dlq", "payments-dlq"):
        for message in seen.engine.messages(queue):
            for id, _, _ in json.loads(message["body"])["dues"]:
                if id not in rows:
                    raise Broken(f"I16: a letter speaks of {id}, which is not there")


def i16_who_is_dead_has_a_letter(seen: Seen) -> None:
    """Each item that waits for a person can be brought back by the letter of that very version."""
    letters = {
        (id, version)
        for queue in ("tasks-dlq", "payments-dlq")
        for message in seen.engine.messages(queue)
        for id, version, _ in json.loads(message["body"])["dues"]
    }
    for row in seen.engine.rows("items"):
        if waits_for_a_person(row) and (row["id"]["S"], number(row, "version")) not in letters:
            raise Broken(f"I16: {row['id']['S']} waits for a person, and there is no letter of it")


def i4_nothing_is_held_for_what_has_ended(seen: Seen) -> None:
    wanted: dict[str, int] = defaultdict(int)
    for row in seen.engine.rows("items"):
        if "status" in row and is_payment(row):
            wanted[f"{text(row, 'tenant')}#{text(row, 'payer')}"] += held(row)
    for row in seen.engine.rows("accounts"):
        if number(row, "reserved") != wanted[row["account"]["S"]]:
            raise Broken(f"I4: {row['account']['S']} still has {number(row, 'reserved')} reserved")


def i11_and_i22_all_has_ended(seen: Seen) -> None:
    left = [
        f"{row['id']['S']} {text(row, 'status')}"
        for row in seen.engine.rows("items")
        if "status" in row and text(row, "status") not in FINAL and not waits_for_a_person(row)
    ]
    if left:
        raise Broken(f"I11 I22: not ended: {left}")


def i11_nothing_is_left_to_the_audit(seen: Seen) -> None:
    """Where no call can be away for an hour, the passes before the audit find whatever somebody died over."""
    letters = {
        id
        for queue in ("tasks-dlq", "payments-dlq")
        for message in seen.engine.messages(queue)
        for id, _, _ in json.loads(message["body"])["dues"]
    }
    left = [id for id in seen.audited if id not in letters]
    if left:
        raise Broken(f"I11: only the audit found {left}")


def on_time(seen: Seen) -> None:
    """Where nothing goes wrong, what was asked for in time begins within seconds."""
    for row in rows_of(seen):
        told = lines(row)
        starts = [line for line in told if line[2] in ("RUNNING", "COMPLETED")]
        if not starts:
            continue
        planned = number(row, "planned") or number(row, "due")
        before = [line for line in told if line[0] < starts[0][0]]
        late = starts[0][1] - max(planned, before[-1][1])
        if late > ON_TIME_MS:
            raise Broken(f"on time: {row['id']['S']} begins {late} ms late although nothing went wrong")


AT_THE_END: Final[tuple[Callable[[Seen], None], ...]] = (
    i11_and_i22_all_has_ended,
    i4_nothing_is_held_for_what_has_ended,
    i10_one_run_one_key,
    i13_same_key_one_effect,
    i14_what_was_told_stays,
    i15_nothing_begins_after_a_cancel,
    i16_every_letter_has_its_item,
)


def waits_for_a_person(row: Row) -> bool:
    if "status" not in row:
        return False
    return text(row, "status") == "DEAD" or (text(row, "status") == "EXECUTING" and "lease" not in row)


def request_of(row: Row) -> str | None:
    if "status" not in row:
        return None
    if is_payment(row):
        return text(row, "description")
    name = json.loads(text(row, "options") or "{}").get("name")
    return None if name is None else str(name)


def _policy(row: Row) -> tuple[int, float, float]:
    """Attempts, and the shortest and the longest delay in milliseconds."""
    if is_payment(row):
        return ATTEMPTS_OF_PAYMENTS, 2_000, 300_000
    retry = json.loads(text(row, "options") or "{}").get("retry", {})
    longest = retry.get("max_seconds", 900.0) * 1000
    return retry.get("max_attempts", 5), min(retry.get("initial_seconds", 5.0) * 1000, longest), longest


def _time(count: int) -> str:
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    return "".join(alphabet[count >> 5 * place & 31] for place in reversed(range(9)))


def rows_of(seen: Seen) -> Iterator[Row]:
    return (row for row in seen.engine.rows("items") if "status" in row)
