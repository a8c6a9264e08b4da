"""The use cases of recurring tasks."""

from functions.api.operations.backfill import Backfills
from functions.api.parts.base import Base, unique
from functions.api.parts.tables import Tables
from functions.api.tasks.recurring.by_hand import ByHand
from functions.api.tasks.recurring.register import DefinitionRegistrar
from postdate.domain.recurrence import Runs
from postdate.use_cases.plan_changes import DefinitionChanger
from postdate.use_cases.plan_templates import PAYLOAD_KEPT, Templates
from postdate.use_cases.planned_chain import PlannedChain


class Recurring:
    def __init__(self, base: Base, tables: Tables) -> None:
        runs = Runs(shards=base.shards)
        self.chain = PlannedChain(tasks=tables.tasks, runs=runs)
        self.templates = Templates(
            tasks=tables.tasks,
            payloads=tables.payloads,
            runs=runs,
            payload_kept=PAYLOAD_KEPT,
            unique=unique,
        )
        self.registrar = DefinitionRegistrar(
            definitions=tables.definitions,
            chain=self.chain,
            templates=self.templates,
            reservations=tables.reservations,
            queue=base.tasks_queue,
            shards=base.shards,
            horizon=base.horizon,
            clock=base.clock,
            unique=unique,
        )
        self.changer = DefinitionChanger(
            definitions=tables.definitions,
            chain=self.chain,
            templates=self.templates,
            queue=base.tasks_queue,
            horizon=base.horizon,
            clock=base.clock,
            unique=unique,
        )
        self.by_hand = ByHand(
            definitions=tables.definitions,
            tasks=tables.tasks,
            runs=runs,
            reservations=tables.reservations,
            triggered_for=base.retention,
            queue=base.tasks_queue,
            horizon=base.horizon,
            clock=base.clock,
            unique=unique,
        )
        self.backfills = Backfills(
            tasks=tables.tasks,
            shards=base.shards,
            reservations=tables.reservations,
            made_for=base.retention,
            queue=base.tasks_queue,
            horizon=base.horizon,
            clock=base.clock,
            unique=unique,
        )
