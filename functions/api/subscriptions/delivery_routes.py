"""Routes that show, test and replay the deliveries of a subscription."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed, text_of
from functions.api.operation import Routes
from functions.api.runs.listing import RunQuery, page
from functions.api.subscriptions import answers, examples
from functions.api.subscriptions.forms import ReplayForm
from functions.api.subscriptions.routes import CHANGED, WRITE
from functions.api.subscriptions.subscribe import READ
from functions.api.wiring import wired

DELIVERIES: Final = Routes("/api/v1/subscriptions/<subscription_id>")


@DELIVERIES.serves(
    "post",
    "/test",
    name="testSubscription",
    summary="Send a test event",
    text="One event of the type `subscription.test` goes to the target, signed and retried like every delivery. The "
    "answer is the delivery, which has not begun.",
    status=202,
    example=examples.TEST_DELIVERY,
    scope=WRITE,
    codes=CHANGED,
)
def test(caller: Caller, subscription_id: str) -> Response[answers.EventDelivery]:
    wired().guards.meter.take(caller.tenant, 1)
    task = wired().subscriber.test(caller, subscription_id)
    return Response(status_code=202, content_type="application/json", body=answers.delivery(task))


@DELIVERIES.serves(
    "post",
    "/replay",
    name="replaySubscription",
    summary="Deliver events of the past",
    text="Events that were recorded from `since` on, before `until`, and that the subscription wants, are delivered if "
    "they were not. A delivery that died is tried again; one that succeeded within about a month is not. With "
    "`only_failed` none is made for events without a delivery. The answer comes at once and workers do the rest.",
    status=202,
    body=ReplayForm,
    examples={"day": {"summary": "Of a day", "value": {"since": "2026-11-17T00:00:00Z"}}},
    example={
        "replay_id": "op_0wgzfs02c9q7h1k2n8p4r3m5",
        "subscription_id": "sub_3m9c5q7h1k2n8p4r",
        "since": "2026-11-17T00:00:00.000Z",
        "until": None,
    },
    scope=WRITE,
    codes=("malformed", "validation_failed", *CHANGED),
)
def replay(caller: Caller, subscription_id: str) -> Response[answers.Replay]:
    wired().guards.meter.take(caller.tenant, 1)
    form = parsed(ReplayForm, requests.body(_event()))
    step = wired().subscriber.replay(caller, subscription_id, form)
    body: answers.Replay = {
        "replay_id": step.replay,
        "subscription_id": step.subscription,
        "since": text_of(step.since),
        "until": text_of(step.until),
    }
    return Response(status_code=202, content_type="application/json", body=body)


@DELIVERIES.serves(
    "get",
    "/deliveries",
    name="listDeliveries",
    summary="List the deliveries of a subscription",
    text="The newest event comes first. Finished deliveries are listed for about a month. The list is a moment behind.",
    example={"deliveries": [examples.DELIVERY], "next_cursor": None, "partial": False},
    scope=READ,
    parameters=("delivery_status", "limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_deliveries(caller: Caller, subscription_id: str) -> answers.EventDeliveryList:
    wired().subscriber.find(caller, subscription_id)
    query = RunQuery.of(caller.tenant, subscription_id, requests.parameters(_event()))
    shown = page(query, wired().tables.tasks, clock=wired().clock)
    return {
        "deliveries": [answers.delivery(task) for task in shown.items],
        "next_cursor": shown.cursor,
        "partial": shown.partial,
    }


def _event() -> BaseProxyEvent:
    return DELIVERIES.router.current_event
