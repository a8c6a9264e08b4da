"""Parameters: values that operators change while the service runs, without a deployment.

This one description makes the defaults, the schema that a document is checked against, and docs/parameters.md. A
document names only the parameters that differ from their defaults. The bounds are those that the code is built for, so
no document can loosen a promise.
"""

from dataclasses import dataclass, replace
from typing import Final

from postdate.domain.described import bounded, read_section, section
from postdate.domain.limits import OPERATED_A_SECOND_MAX, PASSES_MAX, REGISTERED_A_SECOND_OF, SEGMENTS_MAX
from postdate.domain.retry import ATTEMPTS_MAX, RetryPolicy
from postdate.domain.rollouts import Flag, RetryExperiment

_DAY_SECONDS: Final = 86_400
_QUOTA_MAX: Final = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Registering:
    """Limits of requests that register payments, tasks and jobs. Items that were registered before keep theirs."""

    batch_max: int = bounded(100, least=1, most=100, meaning="Payments or tasks that one batch may register.")
    days_ahead_max: int = bounded(
        365,
        least=1,
        most=365,
        meaning="Days from the registration to the instant of a payment or of a one-time task.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotas:
    """Payments and tasks that a tenant of a tier may register a second. A tenant's own quota counts before them."""

    standard: int = bounded(
        REGISTERED_A_SECOND_OF["standard"], least=1, most=_QUOTA_MAX, meaning="Quota of the tier `standard`."
    )
    gold: int = bounded(
        REGISTERED_A_SECOND_OF["gold"], least=1, most=_QUOTA_MAX, meaning="Quota of the tier `gold`."
    )

    def of(self, tier: str) -> int:
        return self.gold if tier == "gold" else self.standard


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRetries:
    """Bounds of the retries of all tasks, over the policy of each."""

    attempts_max: int = bounded(
        ATTEMPTS_MAX, least=1, most=ATTEMPTS_MAX, meaning="Attempts of a task, however many it asks for."
    )
    pause_seconds_min: int = bounded(0, least=0, most=3600, meaning="Shortest pause before another attempt.")
    pause_seconds_max: int = bounded(
        365 * _DAY_SECONDS, least=1, most=365 * _DAY_SECONDS, meaning="Longest pause before another attempt."
    )

    def within(self, policy: RetryPolicy) -> RetryPolicy:
        """The policy inside these bounds; the same object if it is inside."""
        attempts = min(policy.max_attempts, self.attempts_max)
        longest = min(policy.max_seconds, self.pause_seconds_max)
        first = min(max(policy.initial_seconds, self.pause_seconds_min), longest)
        bounds = (policy.max_attempts, policy.initial_seconds, policy.max_seconds)
        if (attempts, first, longest) == bounds:
            return policy
        return RetryPolicy(
            max_attempts=attempts,
            initial_seconds=first,
            multiplier=policy.multiplier,
            max_seconds=longest,
            jitter=policy.jitter,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentRetries:
    """Retries of payments whose transaction did not commit. 0 keeps the value of the deployment."""

    attempts_max: int = bounded(
        0, least=0, most=100, meaning="Attempts before a payment is parked for a person; 0: as deployed."
    )
    first_pause_seconds: int = bounded(
        0, least=0, most=900, meaning="First pause after an attempt that did not commit; 0: as deployed."
    )

    def over(self, policy: RetryPolicy) -> RetryPolicy:
        if not self.attempts_max and not self.first_pause_seconds:
            return policy
        return replace(
            policy,
            max_attempts=self.attempts_max or policy.max_attempts,
            initial_seconds=min(self.first_pause_seconds or policy.initial_seconds, policy.max_seconds),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweeping:
    """Work of one wake-up of the sweep. Fewer passes let an environment catch up more slowly after an outage."""

    passes_max: int = bounded(
        PASSES_MAX,
        least=50,
        most=PASSES_MAX,
        meaning="Passes that one wake-up of the sweep makes or hands out.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Operating:
    """Pace of operations, also of those that run."""

    items_a_second_max: int = bounded(
        OPERATED_A_SECOND_MAX,
        least=1,
        most=OPERATED_A_SECOND_MAX,
        meaning="Items a second of one operation, whatever its plan allows.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconciling:
    """Load that the nightly check puts on the tables of money."""

    segments_max: int = bounded(
        SEGMENTS_MAX, least=1, most=SEGMENTS_MAX, meaning="Parts of one table that are scanned side by side."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """Behaviour that is on for some tenants."""

    long_waits: Flag = section(Flag, percent=100)
    bus: Flag = section(Flag, percent=100)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiments:
    """Two settings side by side, with their outcomes in the logs."""

    task_retries: RetryExperiment = section(RetryExperiment)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """All parameters of an environment."""

    registering: Registering = section(Registering)
    quotas: Quotas = section(Quotas)
    task_retries: TaskRetries = section(TaskRetries)
    payment_retries: PaymentRetries = section(PaymentRetries)
    sweeping: Sweeping = section(Sweeping)
    operating: Operating = section(Operating)
    reconciling: Reconciling = section(Reconciling)
    flags: Flags = section(Flags)
    experiments: Experiments = section(Experiments)


DEFAULTS: Final = Parameters()


def read(document: object) -> Parameters:
    """Parameters of a document. Raises DocumentInvalid.

    Names that this code does not know are passed over: a newer release may have written them. A document is checked
    for unknown names before it goes out.
    """
    return read_section(Parameters, document, usual=DEFAULTS)
