"""The answers about subscriptions."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from functions.api.answers import Cursor, Instant, Partial, Version, described, words
from functions.api.forms import text_of
from functions.api.runs import answers as runs
from functions.api.tasks import targets
from functions.api.tasks.targets import Target
from postdate.domain import subscription
from postdate.domain.task import Task


class EventFilter(TypedDict):
    account_id: NotRequired[str]
    tag: NotRequired[str]
    metadata: NotRequired[dict[str, str]]


class Subscription(TypedDict):
    subscription_id: str
    status: Annotated[
        str,
        words(subscription.State),
        described(
            "A PAUSED subscription is told nothing until it is resumed. An ENDED one was deleted, or its endpoint "
            "answered 410; it is listed for 100 more days."
        ),
    ]
    reason: Annotated[str | None, described("Why it has ended; null before.")]
    target: Target
    types: list[str]
    filter: EventFilter
    ordered: Annotated[
        bool, described("True if the deliveries of one subject are sent in the order of its events.")
    ]
    description: str | None
    created_at: Instant
    changed_at: Instant
    paused_at: Annotated[Instant | None, described("Since when it is PAUSED; null if it is not.")]
    version: Version


class NewSubscription(Subscription):
    secret: Annotated[str, described("The secret that signs its deliveries. It is told only now.")]


class SubscriptionList(TypedDict):
    subscriptions: list[Subscription]
    next_cursor: Cursor


class NewSubscriptionSecret(TypedDict):
    secret: Annotated[str, described("The new secret. It is told only now.")]
    previous_until: Annotated[
        Instant | None,
        described("Until then deliveries carry a signature of the previous secret too; null for none."),
    ]


class Replay(TypedDict):
    replay_id: str
    subscription_id: str
    since: Instant
    until: Instant | None


class EventDelivery(runs.Run):
    subscription_id: str
    event_id: Annotated[str | None, described("The event that is delivered; null for a test.")]


class EventDeliveryList(TypedDict):
    deliveries: list[EventDelivery]
    next_cursor: Cursor
    partial: Partial


def of(given: subscription.Subscription) -> Subscription:
    return {
        "subscription_id": given.id,
        "status": given.state.value,
        "reason": given.reason,
        "target": targets.view(given.destination),
        "types": list(given.types),
        "filter": _filter(given.filter),
        "ordered": given.ordered,
        "description": given.description,
        "created_at": text_of(given.created_at),
        "changed_at": text_of(given.changed_at),
        "paused_at": text_of(given.paused_at),
        "version": given.version,
    }


def delivery(task: Task) -> EventDelivery:
    return {**runs.of(task), "subscription_id": task.task_id, "event_id": task.payload.key}


def _filter(given: subscription.Filter) -> EventFilter:
    asked: EventFilter = {}
    if given.account_id is not None:
        asked["account_id"] = given.account_id
    if given.tag is not None:
        asked["tag"] = given.tag
    if given.metadata:
        asked["metadata"] = dict(given.metadata)
    return asked
