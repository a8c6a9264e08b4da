"""Route of /api/v1/limits: the limits of a tenant."""

from typing import Final

from functions.api.caller import Caller
from functions.api.limits import answers
from functions.api.operation import Routes
from functions.api.tasks.routes import READ
from functions.api.wiring import wired

LIMITS: Final = Routes("/api/v1/limits")


@LIMITS.serves(
    "get",
    "",
    name="getLimits",
    summary="Get the limits of a tenant",
    text="`registered` follows the tenant's tier or its own quota, `runs_in_flight` its own quota if it has one; the "
    "other limits are those of every tenant. A call above `runs_in_flight` waits. A "
    "registration above `registered` or `tasks_stored` is answered 429 `quota_exceeded`, one above `depth` 422 "
    "`loop_refused`.",
    scope=READ,
    codes=(),
)
def get(caller: Caller) -> answers.TenantLimits:
    tenant = caller.tenant
    return answers.limits(
        wired().guards.tenant(tenant),
        registered=wired().guards.meter.used(tenant),
        tasks_stored=wired().guards.stored.used(tenant),
        workers=wired().workers,
    )
