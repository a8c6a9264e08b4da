from pathlib import Path
from typing import Final

from aws_cdk import ArnFormat, Aws, Duration, Stack, aws_iam, aws_scheduler, aws_scheduler_targets
from constructs import Construct

from infra.constructs.function import Function
from infra.constructs.http_api import HttpApi
from infra.constructs.layer import Layer
from infra.constructs.state_machine import BEFORE_RECONCILIATION, StateMachine
from infra.constructs.waiver import waive
from infra.environments import Environment, Size
from infra.state import State
from postdate.targets.kind import Service as TargetService
from postdate.targets.registry import KINDS

GET: Final = "dynamodb:GetItem"
BATCH_GET: Final = "dynamodb:BatchGetItem"
QUERY: Final = "dynamodb:Query"
SCAN: Final = "dynamodb:Scan"
DELETE_ROW: Final = "dynamodb:DeleteItem"
PUT: Final = "dynamodb:PutItem"
UPDATE: Final = "dynamodb:UpdateItem"
BATCH_WRITE: Final = "dynamodb:BatchWriteItem"
DELETE_ITEM: Final = "dynamodb:DeleteItem"
PARTIQL_INSERT: Final = "dynamodb:PartiQLInsert"
PARTIQL_UPDATE: Final = "dynamodb:PartiQLUpdate"
DEPTH: Final = "sqs:GetQueueAttributes"
SEND: Final = "sqs:SendMessage"
RECEIVE: Final = "sqs:ReceiveMessage"
DELETE: Final = "sqs:DeleteMessage"
HIDE: Final = "sqs:ChangeMessageVisibility"
GET_OBJECT: Final = "s3:GetObject"
PUT_OBJECT: Final = "s3:PutObject"
LIST_BUCKET: Final = "s3:ListBucket"
DESCRIBE: Final = "dynamodb:DescribeTable"
# The rows of the calendar begin like this. The others of their table are the sweep's.
CALENDAR_ROWS: Final = "calendar#*"
# The rows of the walk that archives payments.
RETENTION_ROWS: Final = "retention"
# More would make a worker that dies repeat more; fewer would cost more invocations.
EVENTS_AT_ONCE: Final = 100
# The records of a stream that reach the recorder.
NOTED: Final = {"dynamodb": {"NewImage": {"note": {"S": [{"exists": True}]}}}}
OF_HEADS: Final = {"dynamodb": {"Keys": {"place": {"S": ["head"]}}}}
PUBLISH: Final = "events:PutEvents"
START: Final = "states:StartExecution"
ALARMS: Final = "cloudwatch:DescribeAlarms"
READ_PARAMETERS: Final = ("appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration")
ASSUME: Final = "sts:AssumeRole"
MAKE_DATA_KEY: Final = "kms:GenerateDataKey"
OPEN_DATA_KEY: Final = "kms:Decrypt"
# The owner of the data key for the hashes of API keys. Workers open the data keys of tenants only.
OF_ARCHIVE: Final = {"StringLike": {"kms:EncryptionContext:owner": "archive/*"}}
OF_API_KEYS: Final = {"StringEquals": {"kms:EncryptionContext:owner": "@keys"}}
NOT_OF_API_KEYS: Final = {"StringNotEquals": {"kms:EncryptionContext:owner": "@keys"}}

# The row of a failing dependency: settle writes nothing else into the table `flow`.
DEPENDENCY_ATTRIBUTES: Final = ("tenant", "name", "opened", "since", "open_until", "error", "expires_at")
# The key, the condition and the instant of the removal: an update of a payment's row names nothing else.
REMOVAL_ATTRIBUTES: Final = ("slot", "id", "version", "expires_at")
# All of a key's row but `operator`: the API makes no operator's key, and a stolen credential of it makes none either.
KEY_ATTRIBUTES: Final = (
    *("key_id", "secret_sha256", "tenant", "scopes", "accounts", "expires_at", "name", "amount_max"),
    *(
        "amount_per_day_max",
        "networks",
        "actions",
        "read_only",
        "requests_a_second",
        "before_sha256",
        "before_until",
        "made_by",
        "created_at",
        "revoked_at",
        "spent",
        "spent_on",
        "events",
        "note",
    ),
)


class Service(Stack):
    """The stack that a release replaces: the functions, their triggers and their rights."""

    def __init__(
        self, scope: Construct, *, environment: Environment, state: State, build: Path, require_layer: bool
    ) -> None:
        super().__init__(scope, environment.named("service"))
        self._environment = environment
        self._state = state
        self._build = build
        # The functions that assume the role are told its name before the role is made.
        self._reader_name = environment.named("payload-reader")
        self._reader_arn = self.format_arn(
            service="iam", region="", resource="role", resource_name=self._reader_name
        )
        self._values = (
            environment.settings.variables()
            | state.variables()
            | {
                "PAYLOADS_ROLE_ARN": self._reader_arn,
                "OPERATION_MACHINE_ARN": self._machine_arn("operation"),
                "ERASE_MACHINE_ARN": self._machine_arn("erase"),
                "ALARM_PREFIX": environment.named(""),
            }
        )
        self._layer = Layer(
            self, "dependencies", environment=environment, build=build, required=require_layer
        )
        http = HttpApi(self, "http", environment=environment, api=self._api(), authorizer=self._authorize())
        self.api_id = http.id
        self._sweep()
        self._run_tasks()
        self._settle()
        record = self._record()
        self._operate()
        self._reconcile(record)
        self._archive()
        self._erase()
        self._tick()

    def _api(self) -> Function:
        api, state = self._function("api"), self._state
        api.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
        for index in ("by_tenant", "by_state", "by_listing"):
            api.allow(state.items.index_arn(index), QUERY)
        api.allow(state.payments.arn, GET, BATCH_GET)
        # Tables of money are written in transactions only.
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
        api.allow(state.tenants.arn, GET, PUT, SCAN)
        api.allow(state.keys.arn, GET, BATCH_GET)
        api.allow(state.keys.index_arn("by_tenant"), QUERY)
        api.allow_attributes(state.keys.arn, KEY_ATTRIBUTES, PUT, UPDATE)
        api.allow(state.data_keys.arn, GET, PUT)
        api.allow(state.switches.arn, GET, BATCH_GET, PUT, SCAN)
        api.allow_data_keys(state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY)
        api.allow(state.events.arn, QUERY, BATCH_GET)
        api.allow(state.subscriptions.arn, GET, PUT, QUERY)
        api.allow(state.flow.arn, GET, BATCH_GET, QUERY, UPDATE)
        api.allow(state.flow.index_arn("by_attention"), QUERY)
        api.allow(state.slots.arn, GET, QUERY)
        for queue in state.all_queues:
            api.allow(queue.queue_arn, DEPTH)
        for letters in (state.tasks.dead_letters, state.payments_queue.dead_letters):
            api.allow(letters.queue_arn, RECEIVE, DELETE, HIDE)
        api.allow(state.operations.arn, GET, PUT, QUERY)
        api.allow(state.operations.index_arn("by_tenant"), QUERY)
        api.allow(self._machine_arn("operation"), START)
        api.allow(self._machine_arn("erase"), START)
        api.allow_everywhere(ALARMS, "CloudWatch tells composite alarms only to a right to all alarms.")
        api.allow(state.tasks.queue.queue_arn, SEND)
        api.allow(state.payments_queue.queue.queue_arn, SEND)
        # Without the right to list a bucket, S3 does not tell a missing object from a forbidden one.
        api.allow(state.archive.bucket_arn, LIST_BUCKET)
        api.allow_objects("archive", GET_OBJECT, under="payments/")
        return api

    def _authorize(self) -> Function:
        authorize = self._function("authorize")
        authorize.allow(self._state.keys.arn, GET)
        authorize.allow(self._state.data_keys.arn, GET)
        authorize.allow_data_keys(self._state.secrets_key.key_arn, OPEN_DATA_KEY, owners=OF_API_KEYS)
        authorize.allow_attributes(self._state.keys.arn, ("key_id", "last_used_at"), UPDATE)
        return authorize

    def _sweep(self) -> None:
        sweep, state = self._function("sweep", recurs=True), self._state
        sweep.allow(state.items.arn, QUERY, BATCH_GET)
        sweep.allow(state.payments.arn, QUERY, BATCH_GET)
        sweep.allow(state.slots.arn, GET, QUERY, PUT, UPDATE, BATCH_WRITE)
        sweep.allow(state.switches.arn, BATCH_GET)
        sweep.allow(state.tasks.queue.queue_arn, SEND)
        sweep.allow(state.payments_queue.queue.queue_arn, SEND)
        sweep.allow(state.ticks.queue.queue_arn, SEND)
        sweep.consume(state.ticks.queue, at_once=1, consumers=self._size("sweep").consumers)

    def _run_tasks(self) -> None:
        run_tasks, state = self._function("run_tasks", recurs=True), self._state
        run_tasks.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
        run_tasks.allow(state.payloads.arn, BATCH_GET)
        run_tasks.allow(state.tenants.arn, GET)
        run_tasks.allow(state.switches.arn, BATCH_GET)
        run_tasks.allow(state.data_keys.arn, GET, PUT)
        run_tasks.allow_data_keys(
            state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY, owners=NOT_OF_API_KEYS
        )
        run_tasks.allow(state.events.arn, BATCH_GET, QUERY)
        run_tasks.allow(state.subscriptions.arn, GET, PUT)
        run_tasks.allow(state.flow.arn, GET, BATCH_GET, UPDATE)
        run_tasks.allow(state.tasks.queue.queue_arn, SEND, HIDE)
        run_tasks.allow(state.tasks.dead_letters.queue_arn, SEND)
        for name in self._environment.destinations:
            for kind in KINDS.values():
                if kind.service is not None:
                    self._allow_destination(run_tasks, kind.service, name)
        size = self._size("run_tasks")
        run_tasks.consume(
            state.tasks.queue,
            at_once=size.batch,
            consumers=size.consumers,
            window_seconds=size.window_seconds,
            pollers=size.pollers,
        )
        if size.slow_consumers:
            run_tasks.allow(state.slow.queue.queue_arn, SEND, HIDE)
            run_tasks.consume(state.slow.queue, at_once=10, consumers=size.slow_consumers, name="slow")
        self._read_payloads(run_tasks)

    def _read_payloads(self, run_tasks: Function) -> None:
        """Adds the role that `run_tasks` assumes to read one tenant's objects; its own role may not read any. The
        role has a fixed name, so that each of the two policies can name the other."""
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
        settle.allow_attributes(state.flow.arn, DEPENDENCY_ATTRIBUTES, UPDATE)
        settle.allow(state.payments.arn, BATCH_GET)
        settle.allow(state.accounts.arn, BATCH_GET)
        settle.allow(state.switches.arn, BATCH_GET)
        settle.allow_in_transactions(state.payments.arn, PUT, UPDATE)
        settle.allow_in_transactions(state.accounts.arn, UPDATE)
        settle.allow_in_transactions(state.journal.arn, PUT)
        settle.allow(state.payments_queue.queue.queue_arn, SEND, HIDE)
        settle.allow(state.payments_queue.dead_letters.queue_arn, SEND)
        size = self._size("settle")
        settle.consume(
            state.payments_queue.queue,
            at_once=size.batch,
            consumers=size.consumers,
            window_seconds=size.window_seconds,
            pollers=size.pollers,
        )

    def _record(self) -> Function:
        """Adds the recorder of events, which may insert rows of events and of their deliveries and change none."""
        record, state = self._function("record"), self._state
        record.allow(state.events.arn, QUERY, BATCH_GET, PARTIQL_INSERT)
        record.allow(state.subscriptions.arn, QUERY)
        record.allow_rows(state.slots.arn, CALENDAR_ROWS, UPDATE)
        record.allow(state.items.arn, BATCH_GET, PARTIQL_INSERT)
        record.allow(state.payments.arn, BATCH_GET)
        record.allow(state.tasks.queue.queue_arn, SEND)
        record.allow(state.event_letters.queue.queue_arn, RECEIVE, DELETE)
        record.allow(state.events_bus.event_bus_arn, PUBLISH)
        for table, pattern in (
            *((table, None) for table in (state.items, state.payments, state.keys, state.tenants)),
            *((table, None) for table in (state.subscriptions, state.switches)),
            # These rows change with each payment, each task and each step; the recorder sees what is told alone.
            *((table, NOTED) for table in (state.accounts, state.flow)),
            (state.operations, OF_HEADS),
        ):
            if (stream := table.table_stream_arn) is not None:
                record.follow(
                    stream,
                    state.event_letters.queue,
                    at_once=EVENTS_AT_ONCE,
                    name=table.label,
                    pattern=pattern,
                )
        return record

    def _operate(self) -> None:
        operate, state = self._function("operate"), self._state
        operate.allow(state.operations.arn, GET, PUT, QUERY)
        operate.allow(state.items.arn, GET, BATCH_GET, QUERY, PARTIQL_INSERT, PARTIQL_UPDATE)
        operate.allow(state.items.index_arn("by_listing"), QUERY)
        operate.allow(state.payloads.arn, GET, PUT)
        operate.allow(state.slots.arn, GET, QUERY, PUT)
        operate.allow(state.payments.arn, BATCH_GET, QUERY)
        operate.allow(state.accounts.arn, BATCH_GET)
        operate.allow_in_transactions(state.payments.arn, PUT, UPDATE)
        operate.allow_in_transactions(state.accounts.arn, UPDATE)
        operate.allow(state.tasks.queue.queue_arn, SEND)
        operate.allow(state.payments_queue.queue.queue_arn, SEND)
        for queue in (state.tasks, state.payments_queue):
            operate.allow(queue.dead_letters.queue_arn, RECEIVE, DELETE, HIDE)
        operate.allow(state.tasks.dead_letters.queue_arn, SEND)
        operate.allow(self._machine_arn("operation"), START)
        for machine in ("operation", "recover"):
            StateMachine(self, machine, environment=self._environment, calls={"Operate": operate})

    def _reconcile(self, record: Function) -> None:
        """Adds the nightly check. It reads whole tables of money, and writes nothing but its reports."""
        reconcile, state = self._function("reconcile"), self._state
        for table in (state.payments, state.journal):
            reconcile.allow(table.arn, SCAN, DESCRIBE, BATCH_GET)
        reconcile.allow(state.accounts.arn, SCAN, DESCRIBE, GET)
        for table in (state.payments, state.journal):
            for index in ("by_listing" if table is state.payments else "by_payer", "by_payee"):
                reconcile.allow(table.index_arn(index), QUERY)
        reconcile.allow(state.items.arn, BATCH_GET)
        for index in ("by_tenant", "by_state", "by_listing"):
            reconcile.allow(state.items.index_arn(index), QUERY)
        reconcile.allow(state.tenants.arn, SCAN)
        reconcile.allow(state.operations.arn, GET, PUT, QUERY)
        reconcile.allow(state.operations.index_arn("by_tenant"), QUERY)
        for queue in (state.tasks, state.payments_queue):
            reconcile.allow(queue.dead_letters.queue_arn, RECEIVE, HIDE)
        reports = state.reports.bucket_arn
        reconcile.allow(reports, LIST_BUCKET)
        reconcile.allow_objects("reports", GET_OBJECT, PUT_OBJECT)
        calls = {"Reconcile": reconcile, "Record": record}
        machine = StateMachine(self, "reconcile", environment=self._environment, calls=calls)
        machine.nightly()

    def _archive(self) -> None:
        """Adds the nightly archive of events and payments. It opens the data keys of the archive alone, and of a
        payment's row it writes nothing but the instant of the removal."""
        archive, state = self._function("archive"), self._state
        archive.allow(state.tenants.arn, SCAN)
        archive.allow(state.events.arn, QUERY, BATCH_GET)
        archive.allow(state.payments.arn, QUERY)
        archive.allow_attributes(state.payments.arn, REMOVAL_ATTRIBUTES, UPDATE)
        archive.allow(state.journal.arn, BATCH_GET)
        archive.allow_rows(state.slots.arn, RETENTION_ROWS, GET, QUERY, PUT, DELETE_ITEM)
        archive.allow(state.data_keys.arn, GET, PUT)
        archive.allow_data_keys(state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY, owners=OF_ARCHIVE)
        archive.allow(state.archive.bucket_arn, LIST_BUCKET)
        archive.allow_objects("archive", GET_OBJECT, PUT_OBJECT)
        archive.allow_objects("reports", PUT_OBJECT)
        StateMachine(self, "archive", environment=self._environment, calls={"Archive": archive}).nightly(
            at=BEFORE_RECONCILIATION
        )

    def _erase(self) -> None:
        """Adds the erasure of tenants. No other function may delete rows. It writes money in transactions alone, as all
        others, and opens no data key."""
        erase, state = self._function("erase"), self._state
        for table in (
            *(state.keys, state.items, state.payloads, state.idempotency, state.subscriptions, state.flow),
            *(state.operations, state.switches, state.slots, state.events, state.tenants, state.data_keys),
        ):
            erase.allow(table.arn, SCAN, DELETE_ROW)
        erase.allow(state.tenants.arn, GET, PUT, UPDATE)
        erase.allow(state.items.arn, BATCH_GET)
        erase.allow(state.operations.arn, GET, PUT, QUERY)
        erase.allow(state.payments.arn, SCAN, BATCH_GET)
        erase.allow_in_transactions(state.payments.arn, PUT, UPDATE, DELETE_ROW)
        for index in ("by_listing", "by_payee"):
            erase.allow(state.payments.index_arn(index), QUERY)
        erase.allow(state.journal.arn, SCAN, BATCH_GET)
        erase.allow_in_transactions(state.journal.arn, PUT, DELETE_ROW)
        for index in ("by_payer", "by_payee"):
            erase.allow(state.journal.index_arn(index), QUERY)
        erase.allow(state.accounts.arn, SCAN, GET, BATCH_GET)
        erase.allow(state.accounts.index_arn("by_tenant"), QUERY)
        erase.allow_in_transactions(state.accounts.arn, PUT, UPDATE, DELETE_ROW)
        for queue in (state.tasks, state.payments_queue):
            erase.allow(queue.dead_letters.queue_arn, RECEIVE, DELETE, HIDE)
        erase.allow(state.reports.bucket_arn, LIST_BUCKET)
        erase.allow_objects("reports", GET_OBJECT, PUT_OBJECT)
        StateMachine(self, "erase", environment=self._environment, calls={"Erase": erase})

    def _machine_arn(self, name: str) -> str:
        return self.format_arn(
            service="states",
            resource="stateMachine",
            resource_name=self._environment.named(name),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

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
        made = Function(
            self,
            name,
            environment=self._environment,
            values=self._values,
            layer=self._layer,
            build=self._build,
            recurs=recurs,
        )
        if "PARAMETERS" in made.settings:
            made.allow(self._state.parameters.arn, *READ_PARAMETERS)
        return made
