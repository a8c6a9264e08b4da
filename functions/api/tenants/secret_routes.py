"""The route by which a tenant rotates its own signing secret."""

from datetime import timedelta
from typing import Final

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.tenants import answers
from functions.api.tenants.forms import SecretRotationForm
from functions.api.tenants.routes import registry

SECRETS: Final = Routes("/api/v1/signing-secrets")


@SECRETS.serves(
    "post",
    "/rotate",
    name="rotateSigningSecret",
    summary="Give the tenant a new signing secret",
    text="The new secret is in this answer and in no other. Webhooks carry a signature of each live secret: of the new "
    "one within 30 seconds, and of the previous one for `overlap_seconds` more, by default a day. With 0 the previous "
    "secret ends within 30 seconds.",
    body=SecretRotationForm,
    body_needed=False,
    examples={"week": {"summary": "With a week's overlap", "value": {"overlap_seconds": 604_800}}},
    example={"signing_secret": "whsec_<secret>", "previous_until": "2026-11-19T09:30:12.408Z"},
    scope="keys:write",
    codes=("malformed", "validation_failed", "not_found"),
)
def rotate(caller: Caller) -> answers.NewSigningSecret:
    form = parsed(SecretRotationForm, requests.body(SECRETS.router.current_event) or b"{}")
    rotated = registry().rotate(caller.tenant, overlap=timedelta(seconds=form.overlap_seconds))
    return answers.rotated(rotated)
