"""Checkers of money: I1 to I7."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.simulation.engine import Change, Row
from tests.simulation.hub import Actor
from tests.simulation.newer import in_known_form
from tests.simulation.rows import effects, held, is_item, is_payment, number, text
from tests.simulation.seen import Broken, Seen
from tests.simulation.transitions import FINAL


def i1_money_is_conserved(seen: Seen) -> None:
    """All balances together are what was paid in, or counted in by hand."""
    total = sum(
        number(row, part) for row in seen.engine.rows("accounts") for part in ("available", "reserved")
    )
    paid_in = -sum(effects(row).get("", 0) for row in seen.engine.rows("journal"))
    total -= sum(seen.damaged.values())
    if total != paid_in:
        raise Broken(f"I1: there are {total} in all accounts, and {paid_in} were paid in")


def i6_the_journal_gives_every_balance(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
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
    for account in _set_right(changes):
        moved[account] += seen.damaged.pop(account, 0)
    wrong = {account: amount for account, amount in moved.items() if amount}
    if wrong:
        raise Broken(f"I6: balances change by other than the journal says: {wrong}")


def i2_nothing_is_below_zero(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.table == "accounts" and change.after is not None:
            for part in ("available", "reserved"):
                if number(change.after, part) < 0:
                    raise Broken(f"I2: {part} of {change.key[0]} is {number(change.after, part)}")


def _set_right(changes: Sequence[Change]) -> list[str]:
    """Accounts that an adjustment of nothing sets to what their journal says."""
    rows = [change.after for change in changes if change.table == "journal" and change.after is not None]
    return [f"{text(row, 'tenant')}#{text(row, 'payee')}" for row in rows if _sets_right(row)]


def _sets_right(row: Row) -> bool:
    return _type(row) == "ADJUSTMENT" and number(row, "amount") == 0


def _type(row: Row) -> str:
    return in_known_form(str(text(row, "type")))


def i6_no_prefix_is_below_zero(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """The steps of one write, in the order of their instants, leave no part of an account below 0 on the way. Steps of
    one instant that add come first."""
    steps = sorted(_steps(changes), key=lambda step: (step.instant, step.available + step.reserved < 0))
    for change in changes:
        if change.table != "accounts" or change.before is None:
            continue
        available, reserved = number(change.before, "available"), number(change.before, "reserved")
        for step in steps:
            if step.account == change.key[0]:
                available, reserved = available + step.available, reserved + step.reserved
                if available < 0 or reserved < 0:
                    raise Broken(
                        f"I6: {step.account} would have {available} and {reserved} reserved at {step.instant}"
                    )


def i6_nothing_is_paid_from_later_money(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """One call of the ledger does not write a payment after money of a later instant has reached the payer."""
    if actor is None:
        return
    for step in _steps(changes):
        later = [at for account, at in actor.arrived if account == step.account and at > step.instant]
        if step.available < 0 and step.pays and later:
            raise Broken(f"I6: {step.account} pays at {step.instant} after money of {later} arrived")
    actor.arrived += [(step.account, step.instant) for step in _steps(changes) if step.available > 0]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """The effect of one payment on one account; `pays` when it is settled. Instants are in milliseconds."""

    account: str
    instant: int
    available: int = 0
    reserved: int = 0
    pays: bool = False


def _steps(changes: Sequence[Change]) -> Iterator[_Step]:
    for change in changes:
        if not is_item(change) or change.after is None or not is_payment(change.after):
            continue
        before, after = change.before, change.after
        tenant = text(after, "tenant")
        payer, payee = f"{tenant}#{text(after, 'payer')}", f"{tenant}#{text(after, 'payee')}"
        planned, freed = _planned(before or after), held(before) - held(after)
        if before is None or text(after, "status") not in FINAL:
            yield _Step(account=payer, instant=number(after, "moved"), available=freed, reserved=-freed)
        elif text(after, "status") != "COMPLETED":
            yield _Step(account=payer, instant=planned, available=freed, reserved=-freed)
        elif text(before, "status") != "COMPLETED":
            amount = number(after, "amount")
            yield _Step(account=payer, instant=planned, available=freed - amount, reserved=-freed, pays=True)
            yield _Step(account=payee, instant=planned, available=amount, pays=True)


def _planned(row: Row) -> int:
    return number(row, "planned") or number(row, "due")


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


def i4_nothing_is_held_for_what_has_ended(seen: Seen) -> None:
    wanted: dict[str, int] = defaultdict(int)
    for row in seen.items():
        if is_payment(row):
            wanted[f"{text(row, 'tenant')}#{text(row, 'payer')}"] += held(row)
    for row in seen.engine.rows("accounts"):
        if number(row, "reserved") != wanted[row["account"]["S"]]:
            raise Broken(f"I4: {row['account']['S']} still has {number(row, 'reserved')} reserved")


def i6_nothing_is_written_before_what_was_shown(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """A reader that follows an account's journal misses nothing, however long a worker paused before its commit."""
    if not any(change.table == "accounts" for change in changes):
        return
    for change in changes:
        if change.table != "journal" or change.after is None or change.before is not None:
            continue
        for name in filter(None, effects(change.after)):
            account = seen.engine.row("accounts", name)
            shown = (account and text(account, "journal")) or ""
            if str(text(change.after, "place")) <= shown:
                raise Broken(f"I6: {change.key[1]} is written before {shown}, which was shown of {name}")
            seen.reach["behind a journal that was shown"] += bool(shown)


def i5_a_movement_follows_from_its_payment(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    for change in changes:
        if change.table != "journal" or change.after is None:
            continue
        row = change.after
        if change.before is not None:
            raise Broken(f"I5: the movement {change.key[1]} was written twice")
        empty = number(row, "amount") <= 0 and not _sets_right(row)
        if sum(effects(row).values()) or empty or len(effects(row)) != 2:
            raise Broken(f"I5: the legs of {change.key[1]} do not cancel out")
        if _type(row) == "PAYMENT":
            paid = next(
                (each.after for each in changes if is_item(each) and each.key[1] == text(row, "payment_id")),
                None,
            )
            if paid is None:
                raise Broken(f"I5: {change.key[1]} was written without its payment")
            if change.key[1] != _named_after(paid["id"]["S"].rpartition("_")[2]):
                raise Broken(f"I5: {change.key[1]} does not follow from its payment alone")
            told = [text(row, name) for name in ("tenant", "payer", "payee")] + [number(row, "amount")]
            if told != [text(paid, name) for name in ("tenant", "payer", "payee")] + [number(paid, "amount")]:
                raise Broken(f"I5: {change.key[1]} moves other than its payment")


def i7_a_payment_settles_once(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
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
        if change.table == "journal" and change.after is not None and _type(change.after) != "ADJUSTMENT":
            touched = frozen & effects(change.after).keys()
            if touched:
                raise Broken(f"money: {change.key[1]} moves money of {sorted(touched)}, which is frozen")


def closed_accounts_are_empty(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        if (
            change.table == "accounts"
            and change.after is not None
            and text(change.after, "status") == "CLOSED"
        ):
            left = {part: number(change.after, part) for part in ("available", "reserved")}
            if any(left.values()):
                raise Broken(f"money: {change.key[0]} is closed and has {left}")


def _named_after(unique: str) -> str:
    """The minute that a payment's id begins with, in milliseconds, and the id's own part. Ten bits say the shard."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    place = sum(alphabet.index(character) << 5 * at for at, character in enumerate(reversed(unique[:8])))
    count = (place >> 10) * 60_000
    time = "".join(alphabet[count >> 5 * place & 31] for place in reversed(range(9)))
    return f"txn_{time}{unique}"
