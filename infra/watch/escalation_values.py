"""The values of the definition of the machine that makes a page of a ticket. This module imports no CDK."""

from collections.abc import Iterable

from infra.environment import Environment
from infra.watch.alarm import PAGES_AFTER, Alarm, Severity


def values(environment: Environment, alarms: Iterable[Alarm], *, page: str, ticket: str) -> dict[str, str]:
    """The values of the machine's definition. `page` and `ticket` are the topics."""
    sooner = {
        environment.named(each.name): each.pages_after
        for each in alarms
        if each.severity is Severity.TICKET and each.pages_after != PAGES_AFTER
    }
    return {
        "Seconds": str(PAGES_AFTER),
        "Sooner": "{" + ", ".join(f"'{name}': {seconds}" for name, seconds in sooner.items()) + "}",
        "PageTopic": page,
        "TicketTopic": ticket,
    }
