"""Which destinations of a request may be called now. Every attempt asks again."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination
from postdate.stores.tenants import Tenant
from postdate.targets.registry import KINDS

_AT_ONCE = 32


def refusals(
    destinations: Iterable[Destination], *, tenant: Tenant, loopback_allowed: bool
) -> Mapping[Destination, PostdateError]:
    """What speaks against those that are refused; each is asked for once and side by side, for a name can take
    seconds not to resolve."""

    def refusal(destination: Destination) -> PostdateError | None:
        try:
            KINDS[destination.type].refuse(
                destination, allowed=tenant.allowed(destination.type), loopback_allowed=loopback_allowed
            )
        except PostdateError as error:
            return error
        return None

    distinct = list(dict.fromkeys(destinations))
    with ThreadPoolExecutor(min(_AT_ONCE, len(distinct))) as pool:
        found = zip(distinct, pool.map(refusal, distinct), strict=True)
        return {destination: error for destination, error in found if error is not None}
