"""The limit of the time that a worker waits for an answer. Longer work acknowledges by a request of its own."""

from collections.abc import Callable

from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Ack


def refusal(
    timeout_seconds: int, ack: Ack, *, response_seconds_max: int, named: Callable[[str], str]
) -> ValidationFailed | None:
    """The error for a timeout that needs an explicit acknowledgement; None for every other timeout."""
    if ack is Ack.EXPLICIT or timeout_seconds <= response_seconds_max:
        return None
    limit = f"is at most {response_seconds_max} unless {named('ack')} is explicit"
    return ValidationFailed([(named("timeout_seconds"), limit)])
