from pathlib import Path

from aws_cdk import Duration, Stack, aws_scheduler, aws_scheduler_targets
from constructs import Construct

from infra.constructs.http_api import HttpApi
from infra.environment import Environment
from infra.functions.api import add_api, add_authorize
from infra.functions.factory import Factory
from infra.functions.operators import add_operate, add_reconcile
from infra.functions.retention import add_archive, add_erase
from infra.functions.run_tasks import add_run_tasks
from infra.functions.workers import add_record, add_settle, add_sweep
from infra.state import State


class Service(Stack):
    """The stack that a release replaces: the functions, their triggers and their rights."""

    def __init__(
        self, scope: Construct, *, environment: Environment, state: State, build: Path, require_layer: bool
    ) -> None:
        super().__init__(scope, environment.named("service"))
        factory = Factory(
            self, environment=environment, state=state, build=build, require_layer=require_layer
        )
        http = HttpApi(
            self, "http", environment=environment, api=add_api(factory), authorizer=add_authorize(factory)
        )
        self.api_id = http.id
        add_sweep(factory)
        add_run_tasks(factory)
        add_settle(factory)
        recorder = add_record(factory)
        add_operate(factory)
        add_reconcile(factory, recorder)
        add_archive(factory)
        add_erase(factory)
        _tick(self, environment, state)


def _tick(stack: Stack, environment: Environment, state: State) -> None:
    """A tick that cannot be delivered joins the dead ticks: one place to look when the clock stands."""
    ticks = state.ticks
    aws_scheduler.Schedule(
        stack,
        "tick",
        schedule_name=environment.named("tick"),
        schedule=aws_scheduler.ScheduleExpression.rate(Duration.minutes(1)),
        target=aws_scheduler_targets.SqsSendMessage(
            ticks.queue,
            input=aws_scheduler.ScheduleTargetInput.from_object({"kind": "tick"}),
            dead_letter_queue=ticks.dead_letters,
            max_event_age=Duration.minutes(5),
        ),
    )
