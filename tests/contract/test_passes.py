"""Progress of the sweep is stored, and a sweeper that is behind does not put it back."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain import instants
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.stores.passes import Passes
from tests.contract.conftest import OnAws


@pytest.fixture
def minute(now: datetime) -> int:
    return instants.minute_of(now)


def progress(minute: int, group: int, now: datetime, stage: Stage = Stage.OPEN) -> SweepProgress:
    return SweepProgress(minute=minute, group=group, stage=stage, opened_at=now)


def test_a_pass_is_read_back_as_it_was_noted(passes: Passes, minute: int, now: datetime) -> None:
    assert passes.get(minute, 0) is None
    passes.record(progress(minute, 0, now))
    assert passes.get(minute, 0) == progress(minute, 0, now)
    assert passes.get(minute, 1) is None
    assert passes.get(minute + 1, 0) is None


def test_the_next_stage_replaces_the_one_before(passes: Passes, minute: int, now: datetime) -> None:
    for stage in Stage:
        passes.record(progress(minute, 3, now, stage))
    assert passes.get(minute, 3) == progress(minute, 3, now, Stage.AUDIT)
    assert list(passes.between(minute, minute)) == [progress(minute, 3, now, Stage.AUDIT)]


def test_a_pass_that_has_to_look_again_says_since_when_and_how_many_items_wait(
    passes: Passes, minute: int, now: datetime
) -> None:
    again = replace(progress(minute, 0, now, Stage.CLOSE), looked_at=now + timedelta(hours=1), waiting=3)
    passes.record(again)
    assert passes.get(minute, 0) == again
    passes.record(progress(minute, 0, now, Stage.AUDIT))
    assert passes.get(minute, 0) == progress(minute, 0, now, Stage.AUDIT)


def test_the_passes_of_some_minutes_are_all_their_groups_and_no_others(
    passes: Passes, minute: int, now: datetime
) -> None:
    noted = [progress(minute + step, group, now) for step in range(-2, 4) for group in (0, 1, 2, 63)]
    for each in noted:
        passes.record(each)
    wanted = {each for each in noted if minute <= each.minute <= minute + 1}
    assert set(passes.between(minute, minute + 1)) == wanted
    assert set(passes.between(minute + 4, minute + 9)) == set()
    assert set(passes.between(minute, minute - 1)) == set()


def test_minutes_are_found_across_the_turn_of_a_year(passes: Passes, now: datetime) -> None:
    midnight = instants.minute_of(now.replace(month=12, day=31, hour=23, minute=59))
    noted = {progress(midnight + step, 0, now) for step in range(3)}
    for each in noted:
        passes.record(each)
    assert set(passes.between(midnight, midnight + 2)) == noted


def test_the_watermark_rises_and_never_falls(passes: Passes, minute: int) -> None:
    assert passes.watermark() is None
    for raised_to, stands_at in ((0, 0), (2, 2), (1, 2), (2, 2), (5, 5), (-9, 5)):
        passes.raise_watermark(Watermark(minute=minute + raised_to))
        assert passes.watermark() == Watermark(minute=minute + stands_at)


def test_an_audit_that_found_everything_ended_says_when(passes: Passes, minute: int, now: datetime) -> None:
    audited = replace(progress(minute, 0, now, Stage.AUDIT), audited_at=now + timedelta(hours=1))
    passes.record(audited)
    assert passes.get(minute, 0) == audited


def test_a_watermark_that_is_put_back_begins_an_epoch_and_keeps_its_table(
    passes: Passes, minute: int
) -> None:
    assert passes.put_back(Watermark(minute=minute, epoch=1, tables=frozenset({"items", "payments"})))
    assert passes.watermark() == Watermark(minute=minute, epoch=1, tables=frozenset({"items", "payments"}))
    passes.raise_watermark(Watermark(minute=minute + 3, epoch=1, tables=frozenset({"items", "payments"})))
    assert passes.watermark() == Watermark(
        minute=minute + 3, epoch=1, tables=frozenset({"items", "payments"})
    )
    assert passes.put_back(Watermark(minute=minute - 9, epoch=2, tables=frozenset({"items", "restored"})))
    assert passes.watermark() == Watermark(
        minute=minute - 9, epoch=2, tables=frozenset({"items", "restored"})
    )


@pytest.mark.parametrize("known", [None, 0, 1, 2])
def test_a_sweeper_of_an_earlier_epoch_does_not_raise_the_watermark(
    passes: Passes, minute: int, known: int | None
) -> None:
    """Such a sweeper may have seen passes over another table, whether or not a watermark existed before."""
    for epoch in range((known or 0) + 1):
        mark = Watermark(minute=minute, epoch=epoch)
        assert passes.put_back(mark) if epoch else known is None or not passes.raise_watermark(mark)
    back = Watermark(minute=minute - 60, epoch=(known or 0) + 1)
    assert passes.put_back(back)
    passes.raise_watermark(Watermark(minute=minute + 1, epoch=known or 0))
    assert passes.watermark() == back


@pytest.mark.parametrize("epoch", [1, 3, 4])
def test_of_two_who_put_the_watermark_back_one_does(passes: Passes, minute: int, epoch: int) -> None:
    for step in (1, 2):
        assert passes.put_back(Watermark(minute=minute, epoch=step))
    before = passes.watermark()
    assert passes.put_back(Watermark(minute=minute - 1, epoch=epoch)) is (epoch == 3)
    assert (passes.watermark() == before) is (epoch != 3)


def test_a_note_replaces_none_of_a_later_epoch(passes: Passes, minute: int, now: datetime) -> None:
    notes = [replace(progress(minute, 0, now, stage), epoch=epoch) for epoch in (0, 2) for stage in Stage]
    for note in notes:
        passes.record(note)
        assert passes.get(minute, 0) == note
    for late in (notes[0], replace(notes[0], epoch=1)):
        passes.record(late)
        assert passes.get(minute, 0) == notes[-1]


def test_of_two_sweepers_one_counts_the_heartbeat_on(passes: Passes, now: datetime) -> None:
    later = now + timedelta(seconds=10)
    assert passes.beat() is None
    assert passes.next_beat(0, now)
    assert not passes.next_beat(0, later)
    assert passes.beat() == (1, now)
    assert passes.next_beat(1, later)
    assert not passes.next_beat(1, later)
    assert not passes.next_beat(0, later)
    assert passes.beat() == (2, later)


def test_a_heartbeat_that_never_was_is_not_gone_on_from(passes: Passes, now: datetime) -> None:
    assert not passes.next_beat(5, now)
    assert passes.beat() is None


def test_the_clocks_rows_are_no_passes(passes: Passes, minute: int, now: datetime) -> None:
    passes.raise_watermark(Watermark(minute=minute))
    passes.next_beat(0, now)
    assert list(passes.between(0, minute + 1)) == []
    assert passes.watermark() == Watermark(minute=minute)


def test_a_pass_is_kept_for_days_after_its_minute(on_aws: OnAws, now: datetime) -> None:
    minute = instants.minute_of(now)
    on_aws.passes.record(progress(minute, 0, now))
    (row,) = on_aws.dynamodb.scan(TableName=on_aws.names["slots"])["Items"]
    kept = int(row["expires_at"]["N"]) - now.timestamp()
    assert timedelta(days=2).total_seconds() < kept < timedelta(days=60).total_seconds()
    on_aws.dynamodb.delete_item(
        TableName=on_aws.names["slots"], Key={"scope": row["scope"], "name": row["name"]}
    )
