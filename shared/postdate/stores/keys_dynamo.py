"""Keys in DynamoDB. Each change is one conditional update; a change that is told as an event carries its note."""

import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pynamodb.exceptions import DoesNotExist, PutError, UpdateError

from postdate.domain import instants
from postdate.runtime.author import nobody
from postdate.runtime.observability import logger
from postdate.stores import batch_get, notes
from postdate.stores.api_key import ApiKey
from postdate.stores.faults import is_refused, translated, was_repeated
from postdate.stores.key_hashes import is_keyed
from postdate.stores.key_row import ByTenant, KeyRow, key_of, values_of
from postdate.stores.keys import CHANGED
from postdate.stores.notes import Note
from postdate.stores.rows import TableConnection, readable, speak_through, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

# Requests of one key give amounts back side by side. In each round at least one of them is written.
_GIVE_BACK_ROUNDS: Final = 30
_GIVE_BACK_PAUSE_SECONDS: Final = 0.01
_GIVE_BACK_PAUSE_SECONDS_MAX: Final = 0.2


class DynamoKeys:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient | None" = None,
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` and the instant `now` are noted in changes that are told as events."""

        class Rows(KeyRow):
            class Meta(TableConnection):
                table_name = table

            by_tenant = ByTenant()

        speak_through(Rows, client)
        self._rows = Rows
        self._author = author
        self._now = now

    def get(self, id: str) -> ApiKey | None:
        with translated():
            try:
                # A new key works at once, and one that was revoked is not read from a copy that is behind.
                row = self._rows.get(id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, key_of)

    def put(self, key: ApiKey) -> None:
        with translated():
            self._row(key).save()

    def add(self, key: ApiKey) -> bool:
        with translated():
            try:
                self._row(key).save(condition=self._rows.key_id.does_not_exist())
            except PutError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        """Compares and writes the attributes of CHANGED alone: payments count their sums in the same row meanwhile."""
        old, new = values_of(before), values_of(after)
        unchanged: Any = self._rows.key_id.exists()
        actions = list[Any]()
        for name in CHANGED:
            attribute = getattr(self._rows, name)
            unchanged &= attribute.does_not_exist() if old[name] is None else attribute == old[name]
            actions.append(attribute.remove() if new[name] is None else attribute.set(new[name]))
        if told := _event_type(before, after):
            note = Note(type=told, at=self._now(), by=self._author())
            actions += [self._rows.events.add(1), self._rows.note.set(notes.text_of([note]))]
        return self._written(after.id, actions, unchanged)

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        spent, spent_on, room = self._rows.spent, self._rows.spent_on, most - amount
        if room < 0:
            return False
        # A worker whose clock is behind adds to the day that others have begun.
        more: Any = self._rows.key_id.exists() & (spent_on >= day) & (spent <= room)
        anew: Any = self._rows.key_id.exists() & (spent_on.does_not_exist() | (spent_on < day))
        # The third try is for a day that another payment began between the first two.
        return (
            self._written(id, [spent.add(amount)], more)
            or self._written(id, [spent.set(amount), spent_on.set(day)], anew)
            or self._written(id, [spent.add(amount)], more)
        )

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        """Each write follows a number, so that one whose answer was lost is not made twice. If another amount was given
        back meanwhile, the write is made again after a pause. If the refused write had been sent before, it may be
        done: the amount then stays counted."""
        for tried in range(_GIVE_BACK_ROUNDS):
            if tried:
                most = min(_GIVE_BACK_PAUSE_SECONDS * 2**tried, _GIVE_BACK_PAUSE_SECONDS_MAX)
                time.sleep(most * random.random())  # noqa: S311 - no secret
            with translated():
                try:
                    row = self._rows.get(
                        id, consistent_read=True, attributes_to_get=["key_id", "given_back", "spent_on"]
                    )
                except DoesNotExist:
                    return
                if row.spent_on != day:
                    return
                spent, times = self._rows.spent, self._rows.given_back
                first: Any = times.does_not_exist() if row.given_back is None else times == row.given_back
                same: Any = (self._rows.spent_on == day) & first
                try:
                    self._rows(key_id=id).update([spent.add(-amount), times.add(1)], condition=same)
                except UpdateError as error:
                    if not is_refused(error):
                        raise
                    if was_repeated(error):
                        break
                else:
                    return
        logger.warning(
            "an amount stays counted until the day ends",
            extra={"action": "not_given_back", "key_id": id, "amount": amount},
        )

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        last_used_at: Any = self._rows.last_used_at
        before = last_used_at.does_not_exist() | (last_used_at < instants.milliseconds(unless_since))
        self._written(id, [last_used_at.set(instants.milliseconds(at))], self._rows.key_id.exists() & before)

    def _written(self, id: str, actions: Sequence[Any], condition: Any) -> bool:
        """False if the condition does not hold."""
        with translated():
            try:
                self._rows(key_id=id).update(list(actions), condition=condition)
            except UpdateError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        behind = self._rows.key_id > after if after else None
        with translated():
            return [row.key_id for row in self._rows.by_tenant.query(tenant, behind, limit=limit)]

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]:
        rows = batch_get.models(self._rows, ({"key_id": {"S": id}} for id in dict.fromkeys(ids)))
        return {key.id: key for key in readable(rows, key_of) if key is not None}

    def _row(self, key: ApiKey) -> KeyRow:
        note = Note(type="key.created", at=key.created_at or self._now(), by=self._author())
        return self._rows(key_id=key.id, **values_of(key), events=1, note=notes.text_of([note]))


def _event_type(before: ApiKey, after: ApiKey) -> str | None:
    """The event of a change; None for another hash of the same secret, and for an end that is brought forward."""
    if after.revoked_at is not None:
        return "key.revoked" if before.revoked_at is None else None
    rehashed = is_keyed(after.secret_sha256) and not is_keyed(before.secret_sha256)
    moved = after.before_until != before.before_until
    if after.secret_sha256 == before.secret_sha256 or (rehashed and not moved):
        return None
    return "key.rotated"
