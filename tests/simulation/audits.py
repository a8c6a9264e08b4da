"""Audits are the last resort: of what can be called, one is always to come. The checkers ask no judged code."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import HOUR, MINUTE, SHARDS_PER_GROUP
from tests.simulation.rows import is_item, is_item_row, number, text, waits_for_a_person
from tests.simulation.seen import Broken, Seen
from tests.simulation.transitions import FINAL


def i11_an_audit_is_to_come(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Each item that is not at rest is in a slot, or pointed to from a slot, whose audit has not ended: if its call is
    lost, an audit finds it within hours."""
    for row in _looked_at(seen, changes):
        slots = {row["slot"]["S"], *seen.pointers[row["id"]["S"]]}
        if all(_is_audited(seen, slot) for slot in slots):
            raise Broken(
                f"I11: {row['id']['S']} is {text(row, 'status')}, and no audit of {slots} is to come"
            )
        seen.reach["looked for by a later audit"] += _is_audited(seen, row["slot"]["S"])


def i11_no_epoch_comes_back(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A restore begins an epoch, because the passes of all earlier ones say nothing about the restored rows. A sweeper
    that began its tick before must not bring an earlier epoch back, and within one epoch the watermark never sinks."""
    for change in changes:
        if (
            change.table != "slots"
            or change.key != ("clock", "watermark")
            or not (change.before and change.after)
        ):
            continue
        was, now = ((number(row, "epoch"), number(row, "number")) for row in (change.before, change.after))
        if now < was:
            raise Broken(f"I11: the watermark goes from (epoch, minute) {was} back to {now}")
        seen.reach["watermark raised after a restore"] += now[0] > 0


def _looked_at(seen: Seen, changes: Sequence[Change]) -> Iterator[Row]:
    for change in changes:
        if is_item(change) and change.after is not None and _can_be_called(change.after):
            yield change.after
        if change.table == "slots" and change.after is not None and text(change.after, "stage") == "audit":
            yield from (row for row in seen.items() if _can_be_called(row))


def _can_be_called(row: Row) -> bool:
    return is_item_row(row) and text(row, "status") not in FINAL and not waits_for_a_person(row)


def _is_audited(seen: Seen, slot: str) -> bool:
    """An audit that was made by a clock that is ahead is made again, and so is one of an earlier epoch."""
    minute, _, shard = slot.partition("#")
    begins = round(datetime.fromisoformat(minute).replace(tzinfo=UTC).timestamp()) * SECOND
    if seen.hub.now < begins + MINUTE + HOUR - seen.began.skew:
        return False
    watermark = seen.engine.row("slots", "clock", "watermark") or {}
    done = seen.engine.row("slots", "passes", f"{minute}#{int(shard) // SHARDS_PER_GROUP:02d}")
    if done is not None and number(done, "epoch") == number(watermark, "epoch"):
        return text(done, "stage") == "audit"
    return begins // MINUTE <= number(watermark, "number")
