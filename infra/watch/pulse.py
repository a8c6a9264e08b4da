"""The pulse: a sign of life for a service outside of AWS, which calls a person when no sign comes.

An alarm fires in five minutes of each ten by the clock alone, as long as the sweep emits its metrics. Each time that
it fires, EventBridge calls the address. So a signal shows that the sweep runs, that its metrics arrive, that CloudWatch
evaluates alarms, and that EventBridge delivers them.
"""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import Alarm, Comparison, Severity
from infra.watch.series import own
from postdate.runtime import metric

NAME: Final = "pulse"


def pulse_alarms(environment: Environment) -> Iterator[Alarm]:
    """The alarm that a service outside of AWS listens for; yields nothing without the address of that service."""
    if environment.heartbeat_url is not None:
        yield Alarm(
            name=NAME,
            meaning="Fires and ends every 10 minutes, so that EventBridge sends a signal to a service outside of AWS.",
            severity=Severity.PART,
            entry=NAME,
            series={"wake_ups": own(environment, "sweep", metric.WAKE_UPS)},
            expression="MINUTE(wake_ups) - 10 * FLOOR(MINUTE(wake_ups) / 10)",
            threshold=5,
            comparison=Comparison.BELOW,
        )
