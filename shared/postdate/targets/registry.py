"""The kinds of destinations: a new one is a module and a line here."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import datetime
from ssl import create_default_context
from typing import Final

from postdate.targets.base import Target
from postdate.targets.connections import Connections
from postdate.targets.eventbridge import EventBridgeTarget, EventsClient
from postdate.targets.guard import Endpoint, parse
from postdate.targets.loop import BackgroundLoop
from postdate.targets.resolver import Resolver
from postdate.targets.sqs import QueueClient, SqsTarget
from postdate.targets.webhook import WebhookTarget

# Of 32: names that hang take no more of them from other tenants' names.
_TENANT_RESOLVER_THREADS: Final = 4


def targets(
    *,
    loopback_allowed: bool,
    sqs: QueueClient,
    events: EventsClient,
    now: Callable[[], datetime],
    sqs_pool: Executor | None = None,
) -> Mapping[str, Target]:
    """Built once for a process, with threads and connections of its own.

    `sqs_pool` runs the calls to SQS, four at once by default; a simulation gives one that runs them on the spot.
    """

    def endpoint(url: str) -> Endpoint:
        return parse(url, loopback_allowed)

    webhook = WebhookTarget(
        endpoint=endpoint,
        resolver=Resolver(tenant_threads=_TENANT_RESOLVER_THREADS),
        connections=Connections(create_default_context()),
        loop=BackgroundLoop(),
        now=now,
    )
    pool = sqs_pool or ThreadPoolExecutor(4, thread_name_prefix="sqs")
    return {
        "webhook": webhook,
        "sqs": SqsTarget(client=sqs, pool=pool, now=now),
        "eventbridge": EventBridgeTarget(
            client=events, pool=ThreadPoolExecutor(4, thread_name_prefix="events")
        ),
    }
