"""Passes of the sweep in DynamoDB: one row for each minute and group, one for the watermark, one for the beat."""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError, UpdateError
from pynamodb.expressions.condition import Condition
from pynamodb.models import Model

from postdate.domain import instants
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.stores.faults import is_refused, translated
from postdate.stores.passes import KEPT
from postdate.stores.rows import table_rows

if TYPE_CHECKING:
    from botocore.client import BaseClient


class _Row(Model):
    # `passes`, or `clock` for the watermark and the heartbeat.
    scope = UnicodeAttribute(hash_key=True)
    # The minute and the group; in `clock`, `watermark` or `heartbeat`.
    name = UnicodeAttribute(range_key=True)
    # The fields of `Progress`, instants in milliseconds; `at` is also the instant of the heartbeat.
    stage = UnicodeAttribute(null=True)
    at = NumberAttribute(null=True)
    looked = NumberAttribute(null=True)
    audited = NumberAttribute(null=True)
    waiting = NumberAttribute(null=True)
    # The number of resets of the watermark; missing for 0.
    epoch = NumberAttribute(null=True)
    # The tables that the watermark is about.
    table = UnicodeAttribute(null=True)
    # The minute of the watermark, or the number of the heartbeat.
    number = NumberAttribute(null=True)
    # A mark by which a sweeper knows its own heartbeat.
    by = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)


class DynamoPasses:
    def __init__(self, *, table: str, client: "BaseClient | None" = None) -> None:
        self._rows = table_rows(_Row, table, client)

    def between(self, first: int, last: int) -> Iterable[SweepProgress]:
        if last < first:
            return []
        named = self._rows.name.between(_name(first, 0), _name(last, 99))
        with translated():
            return [_progress(row) for row in self._rows.query("passes", named, consistent_read=True)]

    def get(self, minute: int, group: int) -> SweepProgress | None:
        row = self._find("passes", _name(minute, group))
        return None if row is None else _progress(row)

    def record(self, progress: SweepProgress) -> None:
        row = self._rows(
            scope="passes",
            name=_name(progress.minute, progress.group),
            stage=progress.stage.value,
            at=instants.milliseconds(progress.opened_at),
            looked=_milliseconds(progress.looked_at),
            audited=_milliseconds(progress.audited_at),
            waiting=progress.waiting or None,
            epoch=progress.epoch or None,
            expires_at=int((instants.end_of(progress.minute) + KEPT).timestamp()),
        )
        earlier = self._rows.epoch.does_not_exist() | (self._rows.epoch <= progress.epoch)
        with translated():
            try:
                row.save(condition=earlier)
            except PutError as error:
                if not is_refused(error):
                    raise

    def watermark(self) -> Watermark | None:
        row = self._find("clock", "watermark")
        if row is None:
            return None
        return Watermark(minute=int(row.number), epoch=int(row.epoch or 0), tables=_tables(row.table))

    def raise_watermark(self, to: Watermark) -> None:
        lower = self._rows.number.does_not_exist() | (self._rows.number < to.minute)
        self._set_watermark(to, lower & self._is_epoch(to.epoch))

    def put_back(self, to: Watermark) -> bool:
        return self._set_watermark(to, self._is_epoch(to.epoch - 1))

    def _is_epoch(self, epoch: int) -> Condition:
        same: Condition = self._rows.epoch == epoch
        return same if epoch else same | self._rows.epoch.does_not_exist()

    def _set_watermark(self, to: Watermark, condition: Condition) -> bool:
        """Writes the watermark; False if the condition does not hold."""
        row = self._rows(
            scope="clock",
            name="watermark",
            number=to.minute,
            epoch=to.epoch or None,
            table=",".join(sorted(to.tables)) or None,
        )
        with translated():
            try:
                row.save(condition=condition)
            except PutError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def beat(self) -> tuple[int, datetime] | None:
        row = self._find("clock", "heartbeat")
        return None if row is None else (int(row.number), instants.from_milliseconds(int(row.at)))

    def next_beat(self, after: int, now: datetime) -> bool:
        """Counts the heartbeat on. The mark tells a lost answer of this sweeper from the write of another one."""
        same, mark = self._rows.number == after, secrets.token_hex(8)
        with translated():
            try:
                self._rows("clock", "heartbeat").update(
                    actions=[
                        self._rows.number.set(after + 1),
                        self._rows.at.set(instants.milliseconds(now)),
                        self._rows.by.set(mark),
                    ],
                    condition=same if after else same | self._rows.number.does_not_exist(),
                )
            except UpdateError as error:
                if not is_refused(error):
                    raise
                # The row may be the work of our own first try, whose answer got lost.
                row = self._find("clock", "heartbeat")
                return row is not None and row.by == mark
        return True

    def _find(self, scope: str, name: str) -> _Row | None:
        with translated():
            try:
                return self._rows.get(scope, name, consistent_read=True)
            except DoesNotExist:
                return None


def _tables(text: str | None) -> frozenset[str]:
    return frozenset(text.split(",")) if text else frozenset()


def _name(minute: int, group: int) -> str:
    return f"{instants.start_of(minute):%Y-%m-%dT%H:%M}#{group:02d}"


def _progress(row: _Row) -> SweepProgress:
    moment, _, group = row.name.partition("#")
    return SweepProgress(
        minute=instants.minute_of(datetime.fromisoformat(f"{moment}+00:00")),
        group=int(group),
        stage=Stage(row.stage),
        opened_at=instants.from_milliseconds(int(row.at)),
        looked_at=_instant(row.looked),
        audited_at=_instant(row.audited),
        waiting=int(row.waiting or 0),
        epoch=int(row.epoch or 0),
    )


def _milliseconds(instant: datetime | None) -> int | None:
    return None if instant is None else instants.milliseconds(instant)


def _instant(count: float | None) -> datetime | None:
    return None if count is None else instants.from_milliseconds(int(count))
