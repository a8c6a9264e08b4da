"""Alarms about messages: how many wait, for how long, and dead letters."""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import PAGES_AFTER, Alarm, Missing, Severity
from infra.watch.series import DAY, HOUR, MINUTE, QUEUES, of_queue, queues

# The age beyond which a message means that a worker is missing. Slow destinations may keep their lane busy for a while.
_AGES: Final = {"payments": 5 * MINUTE, "tasks": 15 * MINUTE, "ticks": 5 * MINUTE, "slow": HOUR}
# A parked payment waits for a person. A dead task is mostly that of one tenant's destination, and can wait for a day.
_LETTERS_PAGE_AFTER: Final = {"payments": HOUR, "tasks": DAY}
# A message carries up to 25 items.
_BACKLOG_MESSAGES: Final = 1_000_000 // 25


def queue_alarms(environment: Environment) -> Iterator[Alarm]:
    visible = "ApproximateNumberOfMessagesVisible"
    # The queue of the clock has no items.
    receiving = [each for each in queues(environment) if each != "ticks"]
    yield Alarm(
        name="backlog",
        meaning="More than 40,000 messages, up to a million items, wait for a worker.",
        severity=Severity.PAGE,
        series={queue: of_queue(environment, queue, visible) for queue in receiving},
        expression=" + ".join(receiving),
        threshold=_BACKLOG_MESSAGES,
        datapoints=3,
        periods=3,
    )
    for queue, seconds in _AGES.items():
        if queue not in queues(environment):
            continue
        yield Alarm(
            name=f"messages_wait_{queue}",
            entry="messages_wait",
            meaning=f"A message of the queue {queue} is older than {seconds // MINUTE} minutes.",
            severity=Severity.PAGE if queue == "payments" else Severity.TICKET,
            series={"age": of_queue(environment, queue, "ApproximateAgeOfOldestMessage")},
            threshold=seconds,
            datapoints=3,
            periods=5,
            # The destinations of one tenant may fill this lane.
            pages_after=DAY if queue == "slow" else PAGES_AFTER,
        )
    # The recorder of events reads streams, and has dead letters alone.
    for queue in (*QUEUES, "events"):
        yield Alarm(
            name=f"dead_letters_{queue}",
            meaning=f"The queue {queue} has dead letters."
            if queue in QUEUES
            else "Changes could not be recorded as events.",
            severity=Severity.TICKET,
            series={"letters": of_queue(environment, f"{queue}-dlq", visible)},
            threshold=0,
            period=5 * MINUTE,
            # SQS stops counting a queue that nobody has used for six hours, and the letters are still there.
            missing=Missing.IGNORE,
            pages_after=_LETTERS_PAGE_AFTER.get(queue, PAGES_AFTER),
        )
