"""Checks which destinations of a request may be called now. Every attempt checks again."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.task import Destination
from postdate.stores.tenants import Tenant
from postdate.targets.kind import TargetKind
from postdate.targets.registry import KINDS

_AT_ONCE: Final = 32
# One name is given up after three seconds. All names of a batch together take no more than this.
TIME_SECONDS: Final = 4.0


def refusals(
    destinations: Iterable[Destination],
    *,
    tenant: Tenant,
    loopback_allowed: bool,
    kinds: Mapping[str, TargetKind] = KINDS,
    seconds: float = TIME_SECONDS,
) -> Mapping[Destination, PostdateError]:
    """Returns the reason for each refused destination. Each is checked once, in parallel, because a name can take
    seconds to resolve. A destination without an answer in time is Unavailable: the caller sends its task again."""

    def refusal(destination: Destination) -> PostdateError | None:
        try:
            kinds[destination.type].refuse(
                destination, allowed=tenant.allowed(destination.type), loopback_allowed=loopback_allowed
            )
        except PostdateError as error:
            return error
        return None

    distinct = list(dict.fromkeys(destinations))
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(distinct)))
    asked = {pool.submit(refusal, destination): destination for destination in distinct}
    known, unknown = wait(asked, timeout=seconds)
    # Nobody waits for look-ups that are under way: they end by themselves.
    pool.shutdown(wait=False, cancel_futures=True)
    found = {asked[each]: each.result() for each in known} | {asked[each]: Unavailable() for each in unknown}
    return {destination: error for destination, error in found.items() if error is not None}
