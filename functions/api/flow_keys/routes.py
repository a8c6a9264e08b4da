"""Routes of flow keys, under /api/v1/flow-keys."""

from typing import Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.flow_keys import answers
from functions.api.flow_keys.change import FlowKeyChanger
from functions.api.flow_keys.forms import FlowKeyForm
from functions.api.forms import parsed
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.errors import NotFound

FLOW_KEYS: Final = Routes("/api/v1/flow-keys")
READ, WRITE = "tasks:read", "tasks:write"
_KEY_CHARACTERS_MAX: Final = 128


@FLOW_KEYS.serves(
    "get",
    "",
    name="listFlowKeys",
    summary="List flow keys",
    text="Keys that were set, or used in the last days, in the order of their names.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_keys(caller: Caller) -> answers.FlowKeyList:
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span, flow, now = (
        Span.of(parameters, "flow_keys", caller.tenant),
        wired().tables.flow,
        wired().clock.now(),
    )
    found = flow.keys_listed(caller.tenant, after=span.after, limit=span.limit + 1)
    shown, cursor = span.cut(found, str)
    used = flow.used(caller.tenant, shown)
    return {"flow_keys": [answers.of(key, used[key], now) for key in shown], "next_cursor": cursor}


@FLOW_KEYS.serves(
    "get",
    "/<flow_key>",
    name="getFlowKey",
    summary="Get a flow key",
    text="As it is now.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, flow_key: str) -> Response[answers.FlowKey]:
    return _answer(caller, _named(flow_key))


@FLOW_KEYS.serves(
    "patch",
    "/<flow_key>",
    name="changeFlowKey",
    summary="Pin values of a flow key",
    text="A pinned value overrides the value of each task of the key. `null` removes the pin. Workers know of it "
    "within two seconds; places that were given away stay.",
    body=FlowKeyForm,
    examples={
        "slower": {"summary": "At most five begin in a minute", "value": {"rate": 5, "period_seconds": 60}},
        "as tasks say": {"summary": "As each task says", "value": {"rate": None, "parallelism": None}},
    },
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("malformed", "validation_failed", "not_found", "version_conflict"),
)
def change(caller: Caller, flow_key: str) -> Response[answers.FlowKey]:
    key, form = _named(flow_key), parsed(FlowKeyForm, requests.body(_event()))
    _changer().pin(caller.tenant, key, form, version=requests.version_wanted(_event()))
    return _answer(caller, key)


@FLOW_KEYS.serves(
    "post",
    "/<flow_key>/pause",
    name="pauseFlowKey",
    summary="Pause a flow key",
    text="From two seconds later on no run of the key begins; runs that have begun go on. Runs that are due wait. They "
    "use up no attempt, but one that waits beyond its end is EXPIRED.",
    scope=WRITE,
    headers=("ETag",),
    codes=("not_found",),
)
def pause(caller: Caller, flow_key: str) -> Response[answers.FlowKey]:
    key = _named(flow_key)
    _changer().pause(caller.tenant, key)
    return _answer(caller, key)


@FLOW_KEYS.serves(
    "post",
    "/<flow_key>/resume",
    name="resumeFlowKey",
    summary="Resume a flow key",
    text="Runs that wait begin one by one, within a tenth of the time for which the key was paused: after 15 minutes "
    "at most.",
    scope=WRITE,
    headers=("ETag",),
    codes=("not_found",),
)
def resume(caller: Caller, flow_key: str) -> Response[answers.FlowKey]:
    key = _named(flow_key)
    _changer().resume(caller.tenant, key)
    return _answer(caller, key)


def _event() -> BaseProxyEvent:
    return FLOW_KEYS.router.current_event


def _named(flow_key: str) -> str:
    key = unquote(flow_key)
    if len(key) > _KEY_CHARACTERS_MAX:
        raise NotFound("there is no such flow key")
    return key


def _answer(caller: Caller, key: str) -> Response[answers.FlowKey]:
    shown = answers.of(key, _changer().used(caller.tenant, key), wired().clock.now())
    # The counts of what runs and waits change without the version of the key.
    return requests.item(shown, derived=True)


def _changer() -> FlowKeyChanger:
    return FlowKeyChanger(flow=wired().tables.flow, clock=wired().clock)
