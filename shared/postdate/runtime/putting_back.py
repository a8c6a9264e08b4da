"""Puts messages back while the breaker of a table is open."""

from collections.abc import Sequence
from datetime import datetime

from postdate.runtime.agenda import calls_of
from postdate.runtime.clock import Clock
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received


def put_back(
    messages: Sequence[Received], *, until: datetime, outbox: Outbox, clock: Clock
) -> tuple[int, set[str]]:
    """Sends the calls of these messages again for `until`, as if no worker had had them: no attempt is counted and no
    message becomes a dead letter. Returns the number of calls, and the messages that have to come back instead."""
    calls = calls_of(messages, clock.now())
    for call in calls:
        outbox.send_on(call.due, call.message, not_before=max(until, call.at))
    outbox.send()
    return len(calls), set(outbox.failed_messages)
