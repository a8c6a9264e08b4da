"""The use cases of operators: the overview, dead letters, operations on many items, and the erasure of a tenant."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial

from functions.api.letters.show import DeadLetters, Item
from functions.api.operations.find import Finder
from functions.api.operations.plan import Planner
from functions.api.overview.calendar import REACHES, Calendars
from functions.api.overview.look import (
    AGES_KEPT,
    ALARMS_KEPT,
    CALENDAR_KEPT,
    DEPTHS_KEPT,
    RECONCILIATION_KEPT,
    Look,
)
from functions.api.overview.remembered import Remembered
from functions.api.parts.base import Base, unique
from functions.api.parts.tables import Tables
from functions.api.settings import Settings
from functions.api.unfinished import Unfinished
from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.domain.reconciling import Reconciliation
from postdate.runtime import aws
from postdate.runtime.ages import oldest_seconds
from postdate.runtime.alarms import firing
from postdate.runtime.clock import Clock
from postdate.runtime.dead_letters import SqsLetters
from postdate.runtime.depths import depth
from postdate.runtime.invoked import LambdaFunction
from postdate.runtime.machine import StepFunctions
from postdate.stores.calendar import DynamoCalendar

# A count of what an erasure would do takes so long at most; the request itself ends after 29 seconds.
_COUNT_SECONDS = 22


class Operators:
    def __init__(self, base: Base, tables: Tables) -> None:
        self._base = base
        self._tables = tables
        given, clock = base.given, base.clock
        self.unfinished = Unfinished(
            passes=tables.passes, groups=base.groups, horizon=base.horizon, clock=clock
        )
        self.dead_letters = {
            "tasks": _letters(given.tasks_dlq_url, tables.tasks.get_many, clock),
            "payments": _letters(given.payments_dlq_url, tables.ledger.payments, clock),
        }
        self.erasing_machine = StepFunctions(arn=given.erase_machine_arn, client=aws.client("stepfunctions"))
        self.erasing_function = LambdaFunction(
            name=given.erase_function, client=lambda: aws.patient_client("lambda", seconds=_COUNT_SECONDS)
        )
        self.planner = self._planner()
        self.look = self._look()

    def _planner(self) -> Planner:
        base, tables = self._base, self._tables
        return Planner(
            operations=tables.operations,
            tasks=tables.tasks,
            ledger=tables.ledger,
            finder=Finder(
                tasks=tables.tasks,
                definitions=tables.definitions,
                ledger=tables.ledger,
                unfinished=self.unfinished,
                clock=base.clock,
            ),
            definitions=tables.definitions,
            subscriptions=tables.subscriptions,
            shards=base.shards,
            machine=StepFunctions(arn=base.given.operation_machine_arn, client=aws.client("stepfunctions")),
            clock=base.clock,
            unique=unique,
        )

    def _look(self) -> Look:
        base, tables, sqs = self._base, self._tables, aws.client("sqs")
        return Look(
            passes=tables.passes,
            tallies=tables.tallies,
            flow=tables.flow,
            switches=tables.switches,
            failing=tables.dependencies,
            calendars=Calendars(tasks=tables.tasks, ledger=tables.ledger),
            # SQS and CloudWatch charge for each request, so all readers share one answer for a while.
            depths={
                name: Remembered(partial(depth, sqs, url), keep=DEPTHS_KEPT, clock=base.clock)
                for name, url in _queues(base.given).items()
            },
            ages=Remembered(
                partial(oldest_seconds, partial(aws.client, "cloudwatch"), _queues(base.given), base.clock),
                keep=AGES_KEPT,
                clock=base.clock,
            ),
            alarms=Remembered(
                partial(firing, partial(aws.client, "cloudwatch"), base.given.alarm_prefix),
                keep=ALARMS_KEPT,
                clock=base.clock,
            ),
            counts=Remembered(
                partial(_counts, base.given.slots_table, base.clock), keep=CALENDAR_KEPT, clock=base.clock
            ),
            reconciled=Remembered(self._reconciled, keep=RECONCILIATION_KEPT, clock=base.clock),
            groups=base.groups,
            horizon=base.horizon,
            beat=timedelta(seconds=base.given.tick_seconds),
            clock=base.clock,
        )

    def _reconciled(self) -> Reconciliation | None:
        return next(iter(self._tables.reconciliations.newest(before="", limit=1)), None)


def _queues(given: Settings) -> dict[str, str]:
    return {
        "tasks": given.tasks_queue_url,
        "slow": given.slow_queue_url,
        "payments": given.payments_queue_url,
        "ticks": given.ticks_queue_url,
        "tasks-dlq": given.tasks_dlq_url,
        "payments-dlq": given.payments_dlq_url,
        "ticks-dlq": given.ticks_dlq_url,
        "events-dlq": given.events_dlq_url,
    }


def _counts(table: str, clock: Clock) -> Mapping[str, Mapping[int, DueCount]]:
    first = instants.minute_of(clock.now())
    last = first + REACHES // instants.MINUTE
    return DynamoCalendar(table=table, client=aws.client("dynamodb")).between(first, last)


def _letters(url: str, load: Callable[[Iterable[str]], Mapping[str, Item]], clock: Clock) -> DeadLetters:
    return DeadLetters(letters=SqsLetters(url=url, client=aws.client("sqs")), load=load, clock=clock)
