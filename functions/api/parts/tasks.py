"""The use cases of one-time tasks and of all runs."""

import random

from functions.api.parts.base import Base, unique
from functions.api.parts.tables import Tables
from functions.api.runs.acknowledge import Acknowledger
from functions.api.runs.rooms import Rooms
from functions.api.tasks.checks.places import PlaceCheck
from functions.api.tasks.one_time.change import TaskChanger
from functions.api.tasks.one_time.register import TaskRegistrar
from postdate.use_cases.plan_templates import PAYLOAD_KEPT


class Tasks:
    def __init__(self, base: Base, tables: Tables, places: PlaceCheck) -> None:
        self.registrar = TaskRegistrar(
            tasks=tables.tasks,
            payloads=tables.payloads,
            reservations=tables.reservations,
            queue=base.tasks_queue,
            shards=base.shards,
            horizon=base.horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=base.clock,
            unique=unique,
        )
        self.changer = TaskChanger(
            tasks=tables.tasks,
            payloads=tables.payloads,
            places=places,
            queue=base.tasks_queue,
            horizon=base.horizon,
            payload_kept=PAYLOAD_KEPT,
            clock=base.clock,
            unique=unique,
        )
        self.acknowledger = Acknowledger(
            tasks=tables.tasks,
            rooms=Rooms(flow=tables.flow),
            queue=base.tasks_queue,
            clock=base.clock,
            draw=random.random,
        )
