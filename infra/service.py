from pathlib import Path
from typing import Final

from aws_cdk import Aws, Duration, Stack, aws_iam, aws_scheduler, aws_scheduler_targets
from constructs import Construct

from infra.constructs.function import Function
from infra.constructs.http_api import HttpApi
from infra.constructs.layer import Layer
from infra.constructs.waiver import waive
from infra.environments import Environment, Size
from infra.state import State
from postdate.targets.kind import Service as TargetService
from postdate.targets.registry import KINDS

GET: Final = "dynamodb:GetItem"
BATCH_GET: Final = "dynamodb:BatchGetItem"
QUERY: Final = "dynamodb:Query"
PUT: Final = "dynamodb:PutItem"
UPDATE: Final = "dynamodb:UpdateItem"
PARTIQL_INSERT: Final = "dynamodb:PartiQLInsert"
PARTIQL_UPDATE: Final = "dynamodb:PartiQLUpdate"
SEND: Final = "sqs:SendMessage"
HIDE: Final = "sqs:ChangeMessageVisibility"
GET_OBJECT: Final = "s3:GetObject"
ASSUME: Final = "sts:AssumeRole"


class Service(Stack):
    """What a release replaces: the functions, what wakes each of them, and what each of them may do."""

    def __init__(
        self, scope: Construct, *, environment: Environment, state: State, build: Path, require_layer: bool
    ) -> None:
        super().__init__(scope, environment.named("service"))
        self._environment = environment
        self._state = state
        self._build = build
        self._reader_name = environment.named("payload-reader")
        self._reader_arn = self.format_arn(
            service="iam", region="", resource="role", resource_name=self._reader_name
        )
        self._values = (
            environment.settings.variables() | state.variables() | {"PAYLOADS_ROLE_ARN": self._reader_arn}
        )
        self._layer = Layer(
            self, "dependencies", environment=environment, build=build, required=require_layer
        )
        http = HttpApi(self, "http", environment=environment, api=self._api(), authorizer=self._authorize())
        self.api_id = http.id
        self._sweep()
        self._run_tasks()
        self._settle()
        self._tick()

    def _api(self) -> Function:
        api, state = self._function("api"), self._state
        api.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
        api.allow(state.items.index_arn("by_listing"), QUERY)
        api.allow(state.payments.arn, GET, BATCH_GET)
        api.allow_in_transactions(state.payments.arn, PUT, UPDATE)
        for index in ("by_tenant", "by_state", "by_listing", "by_payee"):
            api.allow(state.payments.index_arn(index), QUERY)
        api.allow(state.accounts.arn, GET, BATCH_GET)
        api.allow(state.accounts.index_arn("by_tenant"), QUERY)
        api.allow_in_transactions(state.accounts.arn, PUT, UPDATE)
        api.allow(state.journal.arn, GET, BATCH_GET)
        api.allow(state.journal.index_arn("by_payer"), QUERY)
        api.allow(state.journal.index_arn("by_payee"), QUERY)
        api.allow_in_transactions(state.journal.arn, PUT)
        api.allow(state.payloads.arn, GET, PUT)
        api.allow(state.idempotency.arn, GET, PUT)
        api.allow(state.tenants.arn, GET)
        api.allow(state.keys.arn, GET)
        api.allow(state.flow.arn, GET, BATCH_GET, UPDATE)
        api.allow(state.tasks.queue.queue_arn, SEND)
        api.allow(state.payments_queue.queue.queue_arn, SEND)
        return api

    def _authorize(self) -> Function:
        authorize = self._function("authorize")
        authorize.allow(self._state.keys.arn, GET)
        return authorize

    def _sweep(self) -> None:
        sweep, state = self._function("sweep", recurs=True), self._state
        sweep.allow(state.items.arn, QUERY, BATCH_GET)
        sweep.allow(state.payments.arn, QUERY, BATCH_GET)
        sweep.allow(state.slots.arn, GET, QUERY, PUT, UPDATE)
        sweep.allow(state.tasks.queue.queue_arn, SEND)
        sweep.allow(state.payments_queue.queue.queue_arn, SEND)
        sweep.allow(state.ticks.queue.queue_arn, SEND)
        sweep.consume(state.ticks.queue, at_once=1, consumers=self._size("sweep").consumers)

    def _run_tasks(self) -> None:
        run_tasks, state = self._function("run_tasks", recurs=True), self._state
        run_tasks.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
        run_tasks.allow(state.payloads.arn, BATCH_GET)
        run_tasks.allow(state.tenants.arn, GET)
        run_tasks.allow(state.flow.arn, GET, BATCH_GET, UPDATE)
        run_tasks.allow(state.tasks.queue.queue_arn, SEND, HIDE)
        run_tasks.allow(state.tasks.dead_letters.queue_arn, SEND)
        for name in self._environment.destinations:
            for kind in KINDS.values():
                if kind.service is not None:
                    self._allow_destination(run_tasks, kind.service, name)
        size = self._size("run_tasks")
        run_tasks.consume(state.tasks.queue, at_once=10, consumers=size.consumers)
        if size.slow_consumers:
            run_tasks.allow(state.slow.queue.queue_arn, SEND, HIDE)
            run_tasks.consume(state.slow.queue, at_once=10, consumers=size.slow_consumers, name="slow")
        self._read_payloads(run_tasks)

    def _read_payloads(self, run_tasks: Function) -> None:
        """What `run_tasks` becomes to read one tenant's objects: it may not read any as itself. The role has a name, so
        that each of the two can know the other."""
        reader = aws_iam.Role(
            self,
            "payload-reader",
            role_name=self._reader_name,
            assumed_by=run_tasks.grant_principal,
        )
        name = self._environment.named("payload_objects")
        objects = f"arn:{Aws.PARTITION}:s3:::{name}-{Aws.ACCOUNT_ID}-{Aws.REGION}/*"
        reader.add_to_policy(aws_iam.PolicyStatement(actions=[GET_OBJECT], resources=[objects]))
        waive(
            reader,
            f"IAM5[Resource::arn:<AWS::Partition>:s3:::{name}-<AWS::AccountId>-<AWS::Region>/*]",
            "Each session is held to one tenant's prefix by its own policy.",
        )
        run_tasks.allow(self._reader_arn, ASSUME)

    def _allow_destination(self, run_tasks: Function, service: TargetService, name: str) -> None:
        resource = service.resource.format(name)
        actions = [service.action]
        if self._environment.engine.by_operation:
            actions.append(f"{service.name}:{service.operation}")
        run_tasks.allow(self.format_arn(service=service.name, resource=resource), *actions)
        waive(
            self,
            f"IAM5[Resource::arn:<AWS::Partition>:{service.name}:<AWS::Region>:<AWS::AccountId>:{resource}]",
            "Tenants' own destinations come and go without a release; their names are ours to give.",
        )

    def _settle(self) -> None:
        settle, state = self._function("settle", recurs=True), self._state
        settle.allow(state.payments.arn, GET, BATCH_GET)
        settle.allow(state.accounts.arn, BATCH_GET)
        settle.allow_in_transactions(state.payments.arn, PUT, UPDATE)
        settle.allow_in_transactions(state.accounts.arn, UPDATE)
        settle.allow_in_transactions(state.journal.arn, PUT)
        settle.allow(state.payments_queue.queue.queue_arn, SEND, HIDE)
        settle.allow(state.payments_queue.dead_letters.queue_arn, SEND)
        settle.consume(state.payments_queue.queue, at_once=10, consumers=self._size("settle").consumers)

    def _tick(self) -> None:
        """A tick that cannot be delivered joins the dead ticks: one place to look when the clock stands."""
        ticks = self._state.ticks
        aws_scheduler.Schedule(
            self,
            "tick",
            schedule_name=self._environment.named("tick"),
            schedule=aws_scheduler.ScheduleExpression.rate(Duration.minutes(1)),
            target=aws_scheduler_targets.SqsSendMessage(
                ticks.queue,
                input=aws_scheduler.ScheduleTargetInput.from_object({"kind": "tick"}),
                dead_letter_queue=ticks.dead_letters,
                max_event_age=Duration.minutes(5),
            ),
        )

    def _size(self, name: str) -> Size:
        return self._environment.functions[name]

    def _function(self, name: str, *, recurs: bool = False) -> Function:
        return Function(
            self,
            name,
            environment=self._environment,
            values=self._values,
            layer=self._layer,
            build=self._build,
            recurs=recurs,
        )
