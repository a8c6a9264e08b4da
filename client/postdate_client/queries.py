"""Types of queries: the filters that the lists of the client take. None is no filter.

Names and instants are as in forms. `python client/describe.py` writes this file from the API's description.
"""

from datetime import datetime
from typing import Literal, NotRequired, TypedDict

from postdate_client.answers import Instant


class PaymentsQuery(TypedDict):
    """Filters of `listPayments`."""

    account_id: NotRequired[str | None]
    status: NotRequired[Literal["PENDING", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED"] | None]
    from_: NotRequired[datetime | Instant | None]
    until: NotRequired[datetime | Instant | None]
    order: NotRequired[Literal["asc", "desc"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class PageQuery(TypedDict):
    """Filters of the other lists."""

    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class AccountsQuery(TypedDict):
    """Filters of `listAccounts`."""

    status: NotRequired[Literal["ACTIVE", "FROZEN", "CLOSED"] | None]
    prefix: NotRequired[str | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class TransactionsQuery(TypedDict):
    """Filters of `listTransactions`."""

    since: NotRequired[datetime | Instant | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class ForecastQuery(TypedDict):
    """Filters of `forecast`."""

    until: NotRequired[datetime | Instant | None]
    cursor: NotRequired[str | None]


class TasksQuery(TypedDict):
    """Filters of `listTasks`."""

    status: NotRequired[
        Literal[
            "PENDING",
            "RUNNING",
            "RETRYING",
            "SUCCEEDED",
            "DEAD",
            "CANCELLED",
            "EXPIRED",
            "SKIPPED",
            "MISSED",
            "ACTIVE",
            "PAUSED",
            "FINISHED",
        ]
        | None
    ]
    name: NotRequired[str | None]
    tag: NotRequired[str | None]
    from_: NotRequired[datetime | Instant | None]
    until: NotRequired[datetime | Instant | None]
    order: NotRequired[Literal["asc", "desc"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class RunsQuery(TypedDict):
    """Filters of `listRuns`."""

    status: NotRequired[
        Literal[
            "PENDING", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"
        ]
        | None
    ]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class AllRunsQuery(TypedDict):
    """Filters of `listAllRuns`."""

    status: NotRequired[
        Literal[
            "PENDING", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"
        ]
        | None
    ]
    task_id: NotRequired[str | None]
    from_: NotRequired[datetime | Instant | None]
    until: NotRequired[datetime | Instant | None]
    order: NotRequired[Literal["asc", "desc"] | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class EventsQuery(TypedDict):
    """Filters of `listEvents`."""

    type: NotRequired[str | None]
    subject_id: NotRequired[str | None]
    account_id: NotRequired[str | None]
    since: NotRequired[datetime | Instant | None]
    until: NotRequired[datetime | Instant | None]
    order: NotRequired[Literal["asc", "desc"] | None]
    wait_seconds: NotRequired[int | None]
    limit: NotRequired[int | None]
    cursor: NotRequired[str | None]


class FollowQuery(TypedDict):
    """Filters of `listEvents`."""

    type: NotRequired[str | None]
    subject_id: NotRequired[str | None]
    account_id: NotRequired[str | None]
    since: NotRequired[datetime | Instant | None]
    until: NotRequired[datetime | Instant | None]
