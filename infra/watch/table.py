"""The table of alarms: the parts of it, and the alarms on alarms. Every alarm has an entry in docs/runbook.md."""

from infra.environment import Environment
from infra.watch.alarm import Alarm, Composite, Severity
from infra.watch.burns import pages
from infra.watch.capacity import capacity_alarms
from infra.watch.machines import machine_alarms
from infra.watch.payments import payment_alarms
from infra.watch.pulse import pulse_alarms
from infra.watch.queues import queue_alarms
from infra.watch.reconciling import reconciling_alarms
from infra.watch.requests import request_alarms
from infra.watch.tasks import task_alarms
from infra.watch.throttles import throttle_alarms
from infra.watch.timer import timer_alarms


def alarms(environment: Environment) -> tuple[Alarm, ...]:
    """All alarms on metrics, parts of composite alarms included."""
    return (
        *payment_alarms(environment),
        *reconciling_alarms(environment),
        *task_alarms(environment),
        *timer_alarms(environment),
        *queue_alarms(environment),
        *request_alarms(environment),
        *capacity_alarms(environment),
        *throttle_alarms(environment),
        *machine_alarms(environment),
        *pulse_alarms(environment),
    )


def composites(environment: Environment) -> tuple[Composite, ...]:
    """Alarms on alarms: one page for one cause."""
    return (
        Composite(
            name="timer_down",
            meaning="The sweep opens or closes no minutes: items that are not in a queue yet are not called.",
            severity=Severity.PAGE,
            rule="wake_ups_missing OR sweep_behind",
            parts=("wake_ups_missing", "sweep_behind"),
        ),
        *pages("payments_late", "Payments are late"),
        *pages("api_unavailable", "Requests fail"),
        Composite(
            name="payments_slow",
            meaning="Payments complete late, and the timer is not the reason.",
            severity=Severity.PAGE,
            rule="payment_p95_over_1s AND NOT timer_down",
            parts=("payment_p95_over_1s", "timer_down"),
        ),
    )
