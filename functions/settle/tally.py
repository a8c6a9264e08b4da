"""The counts of a batch for its log lines and metrics, and the messages that have to come back."""

from dataclasses import dataclass, field

from postdate.domain.payment import Payment


@dataclass(kw_only=True, slots=True)
class PaymentTally:
    """The counts of a batch for its log lines and metrics, and the messages that have to come back."""

    # Completed payments.
    settled: int = 0
    # Payments that ended as FAILED.
    failed: int = 0
    # Attempts that did not commit and are followed by another.
    stumbled: int = 0
    # Payments that are left to a person.
    parked: int = 0
    # Payments whose rows do not fit each other.
    disagreeing: int = 0
    # Calls without effect.
    dropped: int = 0
    # Calls that were sent again.
    deferred: int = 0
    # Calls that were sent again because a switch stops their payments.
    stopped: int = 0
    # The time from the instant to the answer of the commit, of each completed payment.
    lateness_ms: list[float] = field(default_factory=list)
    # The time from the instant to the decision, of each completed payment.
    wait_ms: list[float] = field(default_factory=list)
    # The time from the decision to the answer of the commit.
    execution_ms: list[float] = field(default_factory=list)
    # Payments whose attempt failed.
    failures: list[Payment] = field(default_factory=list)
    # Payments that ended, with the milliseconds from their instant to their end.
    ended: list[tuple[Payment, float]] = field(default_factory=list)
    # The ids of messages that SQS delivers again.
    failed_messages: set[str] = field(default_factory=set)
