"""Pages of a tenant's tasks, in the order of the minutes they were registered for.

A cursor names the last id it passed and the query it belongs to. It holds nothing secret and grants nothing: the
tenant always comes from the key.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from postdate.domain.errors import ValidationFailed
from postdate.domain.task import State, Task
from postdate.stores.tasks import Tasks

LIMIT_DEFAULT = 20
LIMIT_MAX = 100
_READ_AT_ONCE = 100
_ROUNDS_MAX = 10
_PARAMETERS = frozenset({"status", "name", "tag", "limit", "cursor"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    tenant: str
    status: State | None
    name: str | None
    tag: str | None
    limit: int
    after: str

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "Query":
        if unknown := sorted(parameters.keys() - _PARAMETERS):
            raise ValidationFailed([(name, "is not a known parameter") for name in unknown])
        status = parameters.get("status")
        if status is not None and status not in State.__members__:
            raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
        limit = parameters.get("limit", str(LIMIT_DEFAULT))
        if not limit.isdecimal() or not limit.isascii() or len(limit) > 3 or not 1 <= int(limit) <= LIMIT_MAX:
            raise ValidationFailed([("limit", f"is a number from 1 to {LIMIT_MAX}")])
        query = cls(
            tenant=tenant,
            status=None if status is None else State(status),
            name=parameters.get("name"),
            tag=parameters.get("tag"),
            limit=int(limit),
            after="",
        )
        return query.going_on(parameters["cursor"]) if "cursor" in parameters else query

    def going_on(self, cursor: str) -> "Query":
        try:
            after, mark = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        except (ValueError, TypeError, RecursionError):
            raise ValidationFailed([("cursor", "is none of ours")]) from None
        if mark != self._mark or not isinstance(after, str):
            raise ValidationFailed([("cursor", "belongs to another query")])
        return Query(
            tenant=self.tenant,
            status=self.status,
            name=self.name,
            tag=self.tag,
            limit=self.limit,
            after=after,
        )

    def cursor(self, after: str) -> str:
        return base64.urlsafe_b64encode(json.dumps([after, self._mark]).encode()).decode()

    @property
    def filters(self) -> bool:
        return any(wanted is not None for wanted in (self.status, self.name, self.tag))

    def wants(self, task: Task) -> bool:
        return (
            task.tenant == self.tenant
            and self.status in (None, task.state)
            and self.name in (None, task.name)
            and (self.tag is None or self.tag in task.tags)
        )

    @property
    def _mark(self) -> str:
        asked = json.dumps([self.tenant, self.status, self.name, self.tag])
        return hashlib.sha256(asked.encode()).hexdigest()[:16]


def page(query: Query, tasks: Tasks) -> tuple[list[Task], str | None]:
    """Up to `limit` tasks and where to go on. A filter that hardly anything passes may end a page before it is full:
    then the cursor goes on behind what was looked at."""
    found: list[Task] = []
    after = query.after
    at_once = _READ_AT_ONCE if query.filters else query.limit + 1
    for _ in range(_ROUNDS_MAX):
        ids = tasks.listed(query.tenant, after=after, limit=at_once)
        rows = tasks.get_many(ids)
        for id in ids:
            after = id
            if (task := rows.get(id)) is not None and query.wants(task):
                found.append(task)
                if len(found) == query.limit:
                    return found, query.cursor(after) if id != ids[-1] or len(ids) == at_once else None
        if len(ids) < at_once:
            return found, None
    return found, query.cursor(after)
