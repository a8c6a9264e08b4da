"""Routes of switches, under /api/v1/ops/switches."""

from typing import Any, Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.switches import answers
from functions.api.switches.forms import SwitchForm
from functions.api.switches.turn import Turner
from functions.api.wiring import wired
from postdate.domain.scopes import OPS

SWITCHES: Final = Routes("/api/v1/ops/switches")
_STATE: Final[dict[str, Any]] = {
    "name": "settlement",
    "on": False,
    "off_at": "2026-11-19T09:30:12.408Z",
    "on_at": None,
    "caught_up_at": None,
    "version": 1,
}
_OFF: Final[dict[str, Any]] = {
    **_STATE,
    "history": [
        {"at": "2026-11-19T09:30:12.408Z", "on": False, "by": "key:3f9a", "reason": "wrong rates"},
    ],
}


@SWITCHES.serves(
    "get",
    "",
    name="listSwitches",
    summary="List switches",
    text="Those that were ever turned, by name. All others are on.",
    example={"switches": [_STATE]},
    scope=OPS,
    codes=(),
)
def list_switches(_: Caller) -> answers.SwitchList:
    return {"switches": [answers.state_of(each) for each in wired().tables.switches.all()]}


@SWITCHES.serves(
    "get",
    "/<switch_name>",
    name="getSwitch",
    summary="Get a switch",
    text="With its history: who turned it, when and why.",
    example=_OFF,
    scope=OPS,
    headers=("ETag",),
    codes=("not_found",),
)
def get(_: Caller, switch_name: str) -> Response[answers.Switch]:
    return requests.item(answers.of(_turner().find(unquote(switch_name))))


@SWITCHES.serves(
    "put",
    "/<switch_name>",
    name="turnSwitch",
    summary="Turn a switch off or on",
    text="`settlement` stops all payments, `tenant:<id>` a tenant's payments and tasks, `target:<type>` tasks to one "
    "kind of destination, and `api_writes` all writes of the API but this one. It takes effect within two seconds. "
    "What is due waits: no attempt is counted, and nothing becomes a dead letter. Payments go on in the order of their "
    "instants when the switch is on again. A task whose end comes while it waits is EXPIRED.",
    body=SwitchForm,
    examples={
        "stop": {"summary": "Stop", "value": {"on": False, "reason": "wrong rates"}},
        "go on": {"summary": "Go on", "value": {"on": True, "reason": "rates corrected"}},
    },
    example=_OFF,
    scope=OPS,
    headers=("ETag",),
    codes=("malformed", "validation_failed", "not_found"),
    while_read_only=True,
)
def turn(caller: Caller, switch_name: str) -> Response[answers.Switch]:
    form = parsed(SwitchForm, requests.body(SWITCHES.router.current_event))
    turned = _turner().turn(unquote(switch_name), on=form.on, by=caller.actor, why=form.reason)
    return requests.item(answers.of(turned))


def _turner() -> Turner:
    return Turner(switches=wired().tables.switches, clock=wired().clock)
