"""Alarms about state machines whose failed executions nothing else tells.

The sweep finds operations whose execution failed. The reconciliation finds what the archive left, and is missed itself
if its execution fails.
"""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import Alarm, Severity
from infra.watch.series import MINUTE, of_machine

WATCHED: Final = ("erase", "escalate", "recover")


def machine_alarms(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="executions_failed",
        meaning="An erasure, the escalation of a ticket or a recovery after an outage ended without its result.",
        severity=Severity.TICKET,
        series={machine: of_machine(environment, machine, "ExecutionsFailed") for machine in WATCHED},
        # Step Functions counts failures, and no zeros.
        expression=" + ".join(f"FILL({machine}, 0)" for machine in WATCHED),
        threshold=0,
        period=5 * MINUTE,
    )
