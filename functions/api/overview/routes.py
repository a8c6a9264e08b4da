"""Routes of the overview: a tenant's own, and the operators'."""

from typing import Final

from functions.api.caller import Caller
from functions.api.operation import Routes
from functions.api.overview import answers
from functions.api.wiring import wired
from postdate.domain.scopes import OPS

OVERVIEW: Final = Routes("/api/v1")
_PAYMENTS_READ: Final = "payments:read"


@OVERVIEW.serves(
    "get",
    "/overview",
    name="getOverview",
    summary="How the tenant's items fare",
    text="What was due in each minute of the last hour and how it fared, one to two minutes behind. Retries after that "
    "do not change a minute's figures. Also the destinations that are left alone, the flow keys that are paused, and "
    "the calendar: what is due in the next hour by minute and in the next week by hour.",
    scope="tasks:read",
    codes=(),
)
def get(caller: Caller) -> answers.Overview:
    payments = _PAYMENTS_READ in caller.scopes
    return answers.of_tenant(
        wired().operators.look.at_tenant(caller.tenant, payments=payments), payments=payments
    )


@OVERVIEW.serves(
    "get",
    "/ops/overview",
    name="getServiceOverview",
    summary="How the service fares",
    text="Of all tenants: each minute of the last hour, the calendar, the queues, the sweep and the alarms "
    "that fire. For operators; the request names no tenant.",
    scope=OPS,
    codes=(),
)
def get_of_service(_: Caller) -> answers.ServiceOverview:
    return answers.of_service(wired().operators.look.at_service())
