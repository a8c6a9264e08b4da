"""Texts of the API's description that belong to no operation."""

from typing import Final

from functions.api.reference.schemas import SCHEMAS

ABOUT: Final = (
    "Moves money between accounts and makes calls, later: a payment, a webhook, a message or an event, at an "
    "instant up to a year ahead; a call also again and again, as a cron says. Amounts are whole units of one virtual "
    "currency. "
    "Requests and answers are JSON, sent as `application/json` in UTF-8; a name that is given twice makes a body "
    "malformed, and a field that is not known is refused by its name. Texts such as names and descriptions have no "
    "control characters and none that cannot be seen. Instants are RFC 3339 with an "
    "offset, from 1970 to 2200, and are answered in UTC with milliseconds. A body has at most 1 MB, that of a batch "
    "5 MB, with each quote, backslash and line break counted twice. Every GET is also there as HEAD. "
    "A GET that succeeds answers an `ETag`, and 304 without a body to the same tag in `If-None-Match`. "
    "Errors are `application/problem+json` with a stable `code`; a method that a path does not take is answered 405 "
    "`method_not_allowed` with `Allow`. "
    'Four answers come from the gateway in front of the API and look like `{"message": "…"}`: 401 for a request '
    "without an `Authorization` header, 429 above the rate of the gateway, 413 for a body above the limit of the "
    "gateway, 500 or 503 if a function did not run."
)
KEY: Final = (
    "`Authorization: Bearer pd_<key id>_<secret>`. A key belongs to one tenant and has scopes. It may be "
    "bound to accounts: then it pays from no other, and administers no other. An operator's key belongs to no tenant: "
    "each request names in the header `Postdate-Tenant` the one that it acts for."
)
INTERNAL: Final = "`X-Internal-Auth: pd_<key id>_<secret>`, of a key with the scope `internal`."
NO_KEY: Final = "A request without any Authorization is answered by the gateway, and not with a problem."
_MESSAGE: Final = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
OF_GATEWAY: Final = {"application/json": {"schema": _MESSAGE}}
RATE_LIMITED: Final = {
    "description": "quota_exceeded, or rate_limited for a key with a limit of requests. Or the gateway's rate is used "
    "up, which is not a problem.",
    "headers": {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in ("Retry-After", "RateLimit-Policy", "RateLimit")
    },
    "content": {
        "application/problem+json": {
            "schema": {"$ref": f"{SCHEMAS}Problem"},
            "examples": {
                code: {"$ref": f"#/components/examples/{code}"} for code in ("quota_exceeded", "rate_limited")
            },
        },
        **OF_GATEWAY,
    },
}
