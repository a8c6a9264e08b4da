"""Routes of a tenant's API keys, under /api/v1/keys."""

from datetime import timedelta
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.keys import answers
from functions.api.keys.forms import KeyForm, RotateForm
from functions.api.keys.grant import Granted, Keyring
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.scopes import INTERNAL
from postdate.stores.api_key import ApiKey

KEYS: Final = Routes("/api/v1/keys")
READ, WRITE = "keys:read", "keys:write"
_KEY: Final[dict[str, Any]] = {
    "key_id": "5f1c9a30b7d2e846",
    "prefix": "pd_5f1c9a30b7d2e846",
    "name": "shop",
    "status": "ACTIVE",
    "scopes": ["payments:read", "payments:write"],
    "account_ids": ["rent"],
    "amount_max": 1000,
    "amount_per_day_max": 5000,
    "networks": ["203.0.113.0/24"],
    "actions": ["schedulePayment", "getPayment"],
    "read_only": False,
    "requests_per_second": 20,
    "created_at": "2026-11-18T09:30:12.408Z",
    "made_by": "0b6de1f8a2c39457",
    "expires_at": "2027-11-18T00:00:00.000Z",
    "last_used_at": None,
    "previous_until": None,
}
_NEW: Final = {**_KEY, "key": "pd_5f1c9a30b7d2e846_<secret>"}


@KEYS.serves(
    "post",
    "",
    name="makeKey",
    summary="Make a key",
    text="The text of the key is in this answer and in no other. No scope and no limit may exceed those of the key "
    "that makes the request. `actions` are names of operations of this description. A key with `requests_per_second` "
    "gets the headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10) with each answer. "
    "The request is not idempotent: after a lost answer, list the keys and revoke the one that nobody knows.",
    status=201,
    body=KeyForm,
    examples={
        "reader": {"summary": "A key that reads", "value": {"name": "report", "scopes": ["payments:read"]}},
        "narrow": {
            "summary": "A key that pays little, from one account and one network",
            "value": {
                "name": "shop",
                "scopes": ["payments:read", "payments:write"],
                "account_ids": ["rent"],
                "amount_max": 1000,
                "amount_per_day_max": 5000,
                "networks": ["203.0.113.0/24"],
                "actions": ["schedulePayment", "getPayment"],
                "requests_per_second": 20,
                "expires_at": "2027-11-18T00:00:00Z",
            },
        },
    },
    example=_NEW,
    scope=WRITE,
    headers=("Location",),
    codes=("malformed", "validation_failed"),
)
def make(caller: Caller) -> Response[answers.NewKey]:
    granted = _keyring().make(caller, parsed(KeyForm, requests.body(_event())))
    return Response(
        status_code=201,
        content_type="application/json",
        body=_answer(granted),
        headers={"Location": f"/api/v1/keys/{granted.key.id}"},
    )


@KEYS.serves(
    "get",
    "",
    name="listKeys",
    summary="List keys",
    text="In the order of their ids, without their secrets. A key that was made just now may be missing.",
    example={"keys": [_KEY], "next_cursor": None},
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_keys(caller: Caller) -> answers.KeyList:
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span, keys, now = Span.of(parameters, "keys", caller.tenant), wired().tables.keys, wired().clock.now()
    ids, cursor = span.cut(keys.listed(caller.tenant, after=span.after, limit=span.limit + 1), str)
    found = keys.some(ids)
    shown = [answers.of(found[id], now) for id in ids if id in found and _is_tenants(found[id])]
    return {"keys": shown, "next_cursor": cursor}


@KEYS.serves(
    "get",
    "/<key_id>",
    name="getKey",
    summary="Get a key",
    text="Without its secret.",
    example=_KEY,
    scope=READ,
    codes=("not_found",),
)
def get(caller: Caller, key_id: str) -> answers.Key:
    return answers.of(_keyring().find(caller, key_id), wired().clock.now())


@KEYS.serves(
    "delete",
    "/<key_id>",
    name="revokeKey",
    summary="Revoke a key",
    text="For good, everywhere within 2 seconds. Revoking twice is no error. A key may revoke itself.",
    example={**_KEY, "status": "REVOKED"},
    scope=WRITE,
    codes=("not_found",),
)
def revoke(caller: Caller, key_id: str) -> answers.Key:
    return answers.of(_keyring().revoke(caller, key_id), wired().clock.now())


@KEYS.serves(
    "post",
    "/<key_id>/rotate",
    name="rotateKey",
    summary="Give a key a new secret",
    text="The new text is in this answer and in no other; id, scopes and limits stay. The text until now works for "
    "`overlap_seconds` more, by default not at all. The new text works within 2 seconds. "
    "A key with more rights than the key of this request is refused.",
    body=RotateForm,
    body_needed=False,
    examples={"day": {"summary": "With a day's overlap", "value": {"overlap_seconds": 86_400}}},
    example=_NEW,
    scope=WRITE,
    codes=("malformed", "validation_failed", "not_found", "invalid_state"),
)
def rotate(caller: Caller, key_id: str) -> answers.NewKey:
    form = parsed(RotateForm, requests.body(_event()) or b"{}")
    return _answer(_keyring().rotate(caller, key_id, overlap=timedelta(seconds=form.overlap_seconds)))


def _event() -> BaseProxyEvent:
    return KEYS.router.current_event


def _keyring() -> Keyring:
    return Keyring(keys=wired().tables.keys, hashes=wired().hashes, clock=wired().clock)


def _answer(granted: Granted) -> answers.NewKey:
    return {**answers.of(granted.key, wired().clock.now()), "key": granted.text}


def _is_tenants(key: ApiKey) -> bool:
    return INTERNAL not in key.scopes
