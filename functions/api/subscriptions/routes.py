"""Routes of subscriptions, under /api/v1/subscriptions."""

from datetime import timedelta
from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.forms import parsed, text_of
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.subscriptions import answers, examples
from functions.api.subscriptions.forms import (
    SubscriptionChangeForm,
    SubscriptionForm,
    SubscriptionRotationForm,
)
from functions.api.subscriptions.subscribe import READ
from functions.api.wiring import wired

SUBSCRIPTIONS: Final = Routes("/api/v1/subscriptions")
WRITE: Final = "subscriptions:write"
_REFUSED: Final = ("malformed", "validation_failed", "destination_not_allowed", "limit_exceeded")
CHANGED: Final = ("not_found", "invalid_state")


@SUBSCRIPTIONS.serves(
    "post",
    "",
    name="makeSubscription",
    summary="Subscribe to events",
    text="From now on each event of one of the `types` that fits the `filter` is delivered to the target. A delivery "
    "is a task: it is retried, signed and counted like any other, and its body is the event. The secret that signs is "
    "in this answer and in no other. An endpoint that answers 410 ends the subscription. Deliveries make no events.",
    status=201,
    body=SubscriptionForm,
    examples=examples.FORMS,
    example={**examples.SUBSCRIPTION, "secret": "whsec_<secret>"},
    scope=WRITE,
    headers=("Location", "ETag"),
    codes=_REFUSED,
)
def make(caller: Caller) -> Response[answers.NewSubscription]:
    made, secret = wired().subscriber.make(caller, parsed(SubscriptionForm, requests.body(_event())))
    body: answers.NewSubscription = {**answers.of(made), "secret": secret}
    return requests.item(body, status=201, headers={"Location": f"/api/v1/subscriptions/{made.id}"})


@SUBSCRIPTIONS.serves(
    "get",
    "",
    name="listSubscriptions",
    summary="List subscriptions",
    text="In the order of their ids, without their secrets.",
    example={"subscriptions": [examples.SUBSCRIPTION], "next_cursor": None},
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_subscriptions(caller: Caller) -> answers.SubscriptionList:
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span = Span.of(parameters, "subscriptions", caller.tenant)
    behind = [each for each in wired().tables.subscriptions.all(caller.tenant) if each.id > span.after]
    shown, cursor = span.cut(behind[: span.limit + 1], lambda each: each.id)
    return {"subscriptions": [answers.of(each) for each in shown], "next_cursor": cursor}


@SUBSCRIPTIONS.serves(
    "get",
    "/<subscription_id>",
    name="getSubscription",
    summary="Get a subscription",
    text="Without its secret.",
    example=examples.SUBSCRIPTION,
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, subscription_id: str) -> Response[answers.Subscription]:
    return requests.item(answers.of(wired().subscriber.find(caller, subscription_id)))


@SUBSCRIPTIONS.serves(
    "patch",
    "/<subscription_id>",
    name="changeSubscription",
    summary="Change a subscription",
    text="For events that are recorded from now on. Deliveries that wait keep their target.",
    body=SubscriptionChangeForm,
    examples={"all": {"summary": "All events of payments", "value": {"types": ["payment.*"]}}},
    example=examples.SUBSCRIPTION,
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=(*_REFUSED, *CHANGED, "version_conflict"),
)
def change(caller: Caller, subscription_id: str) -> Response[answers.Subscription]:
    form = parsed(SubscriptionChangeForm, requests.body(_event()))
    version = requests.version_wanted(_event())
    return requests.item(answers.of(wired().subscriber.edit(caller, subscription_id, form, version=version)))


@SUBSCRIPTIONS.serves(
    "delete",
    "/<subscription_id>",
    name="endSubscription",
    summary="Delete a subscription",
    text="For good. Deliveries that have not begun are cancelled at their next instant, and it is listed as ENDED for "
    "100 days. To delete it twice is no error.",
    example={**examples.SUBSCRIPTION, "status": "ENDED", "reason": "deleted", "version": 2},
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "version_conflict"),
)
def end(caller: Caller, subscription_id: str) -> Response[answers.Subscription]:
    version = requests.version_wanted(_event())
    return requests.item(answers.of(wired().subscriber.end(caller, subscription_id, version=version)))


@SUBSCRIPTIONS.serves(
    "post",
    "/<subscription_id>/pause",
    name="pauseSubscription",
    summary="Pause a subscription",
    text="Within 2 seconds no delivery begins. To pause it twice is no error.",
    example={
        **examples.SUBSCRIPTION,
        "status": "PAUSED",
        "paused_at": "2026-11-18T09:45:00.000Z",
        "version": 2,
    },
    scope=WRITE,
    headers=("ETag",),
    codes=CHANGED,
)
def pause(caller: Caller, subscription_id: str) -> Response[answers.Subscription]:
    return requests.item(answers.of(wired().subscriber.pause(caller, subscription_id)))


@SUBSCRIPTIONS.serves(
    "post",
    "/<subscription_id>/resume",
    name="resumeSubscription",
    summary="Resume a subscription",
    text="Events of the pause follow, and deliveries that were waiting, within 5 minutes. To resume it twice is no "
    "error.",
    example=examples.SUBSCRIPTION,
    scope=WRITE,
    headers=("ETag",),
    codes=CHANGED,
)
def resume(caller: Caller, subscription_id: str) -> Response[answers.Subscription]:
    return requests.item(answers.of(wired().subscriber.resume(caller, subscription_id)))


@SUBSCRIPTIONS.serves(
    "post",
    "/<subscription_id>/rotate",
    name="rotateSubscriptionSecret",
    summary="Give a subscription a new secret",
    text="The new secret is in this answer and in no other. Deliveries carry a signature of each live secret: of the "
    "new one within 2 seconds, and of the previous one for `overlap_seconds` more, by default a day.",
    body=SubscriptionRotationForm,
    body_needed=False,
    examples={"week": {"summary": "With a week's overlap", "value": {"overlap_seconds": 604_800}}},
    example={"secret": "whsec_<secret>", "previous_until": "2026-11-19T09:30:12.408Z"},
    scope=WRITE,
    codes=("malformed", "validation_failed", *CHANGED),
)
def rotate(caller: Caller, subscription_id: str) -> answers.NewSubscriptionSecret:
    form = parsed(SubscriptionRotationForm, requests.body(_event()) or b"{}")
    overlap = timedelta(seconds=form.overlap_seconds)
    rotated, secret = wired().subscriber.rotate(caller, subscription_id, overlap=overlap)
    return {"secret": secret, "previous_until": text_of(rotated.secrets_until)}


def _event() -> BaseProxyEvent:
    return SUBSCRIPTIONS.router.current_event
