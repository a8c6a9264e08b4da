"""Timelines in DynamoDB: one row for each, moved on by one update. The row outlives the places that it gave."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from postdate.domain import instants
from postdate.domain.flow import Places
from postdate.runtime.author import nobody
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.flow import Timeline
from postdate.stores.flow_table import (
    KEPT,
    MICROSECOND,
    FlowTable,
    expiry,
    microseconds,
    number_value,
    row_key,
)
from postdate.stores.rows import readable

if TYPE_CHECKING:
    from botocore.client import BaseClient


# Places of a rate may lie far ahead, and the row has to outlive them.
_TIMELINE_KEPT: Final = timedelta(days=400)
_FOR_EVER: Final = datetime(9000, 1, 1, tzinfo=UTC)
_TRIES: Final = 8
# BatchGetItem takes 100 keys.
_KEYS_MAX: Final = 100
_REMEMBERED_MAX: Final = 10_000


class DynamoTimelines(FlowTable):
    """The remembered end of a timeline only decides which update is tried first."""

    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient",
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(table=table, client=client, author=author, now=now)
        self._ends: dict[tuple[str, str], int] = {}

    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        kept = _TIMELINE_KEPT if of is Timeline.RATE else KEPT
        begin = self._take_next(tenant, of + key, width, now, _FOR_EVER, kept=kept)
        if begin is None:
            raise RuntimeError("a timeline reaches beyond all time")
        return begin

    def take_by(
        self,
        tenant: str,
        key: str,
        width: timedelta,
        *,
        now: datetime,
        latest: datetime,
        of: Timeline = Timeline.RATE,
        count: int = 1,
    ) -> datetime | None:
        if latest < now:
            return None
        kept = _TIMELINE_KEPT if of is Timeline.RATE else KEPT
        return self._take_next(tenant, of + key, width, now, latest, kept=kept, count=count)

    def _take_next(
        self,
        tenant: str,
        name: str,
        width: timedelta,
        now: datetime,
        latest: datetime,
        *,
        kept: timedelta,
        count: int = 1,
    ) -> datetime | None:
        """Reserves `width` on a timeline and returns its beginning; None if that is later than `latest`. If the
        timeline reaches beyond now, `width` is added to its end, so reservations at the same time do not conflict.
        Otherwise the reservation begins at `now`."""
        at, wide, most = microseconds(now), width // MICROSECOND, microseconds(latest)
        # A guess from the last answer. A wrong guess costs one more request.
        ahead = self._ends.get((tenant, name), 0) >= at
        for _ in range(_TRIES):
            moved = {":wide": number_value(wide), ":most": number_value(most)}
            written, row = self._try_update(
                tenant,
                name,
                f"SET #ends = {'#ends + :wide' if ahead else ':end'}, #step = :step, #expires = :expires",
                where="#ends BETWEEN :now AND :most"
                if ahead
                else "attribute_not_exists(#ends) OR #ends < :now",
                names={"#ends": "ends", "#step": "step", "#expires": "expires_at"},
                values={
                    ":now": number_value(at),
                    ":step": number_value(wide // count),
                    ":expires": expiry(now, kept),
                    **(moved if ahead else {":end": number_value(at + wide)}),
                },
            )
            ends = int(row["ends"]["N"]) if row else 0
            self._remember(tenant, name, ends)
            if written:
                return instants.EPOCH + (ends - wide) * MICROSECOND
            # The place would lie behind `latest`.
            if ends > most:
                return None
            ahead = ends >= at
        raise RuntimeError("a timeline lay ahead and behind by turns")

    def ends(
        self, tenant: str, keys: Iterable[str], *, of: Timeline = Timeline.RATE
    ) -> Mapping[str, datetime]:
        """Reads with eventual consistency. A key that DynamoDB leaves out for now counts as one without places."""
        wanted = [row_key(tenant, of + key) for key in dict.fromkeys(keys)]
        found: dict[str, datetime] = {}
        for start in range(0, len(wanted), _KEYS_MAX):
            asked = {self._table: {"Keys": wanted[start : start + _KEYS_MAX]}}
            with translated():
                answer = self._client.batch_get_item(RequestItems=asked)
            found |= dict(readable(answer["Responses"].get(self._table, ()), timeline_of))
        return {name.removeprefix(of): ends for name, ends in found.items()}

    def _remember(self, tenant: str, name: str, ends: int) -> None:
        if len(self._ends) > _REMEMBERED_MAX:
            self._ends.clear()
        self._ends[tenant, name] = ends


def timeline_of(row: AttributeMap) -> tuple[str, datetime]:
    return row["name"]["S"], instants.EPOCH + int(row["ends"]["N"]) * MICROSECOND


def places_of(row: AttributeMap) -> Places:
    """Rows of older code have no step."""
    step = int(row["step"]["N"]) if "step" in row else 0
    return Places(ends=timeline_of(row)[1], step=step * MICROSECOND or timedelta(seconds=1))
