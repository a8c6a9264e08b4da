"""The function that runs tasks, with its rights. Includes the role that reads the payloads of tenants."""

from aws_cdk import Aws, aws_iam

from infra.constructs.function import Function
from infra.constructs.waiver import waive
from infra.functions.factory import Factory
from infra.rights import (
    ASSUME,
    BATCH_GET,
    GET,
    GET_OBJECT,
    HIDE,
    MAKE_DATA_KEY,
    NOT_OF_API_KEYS,
    OPEN_DATA_KEY,
    PARTIQL_INSERT,
    PARTIQL_UPDATE,
    PUT,
    QUERY,
    SEND,
    UPDATE,
)
from postdate.targets.kind import Service as TargetService
from postdate.targets.registry import KINDS


def add_run_tasks(factory: Factory) -> None:
    run_tasks, state = factory.function("run_tasks", recurs=True), factory.state
    run_tasks.allow(state.items.arn, GET, BATCH_GET, PARTIQL_INSERT, PARTIQL_UPDATE)
    run_tasks.allow(state.payloads.arn, BATCH_GET)
    run_tasks.allow(state.tenants.arn, GET, BATCH_GET)
    run_tasks.allow(state.switches.arn, BATCH_GET)
    run_tasks.allow(state.data_keys.arn, GET, PUT)
    run_tasks.allow_data_keys(state.secrets_key.key_arn, MAKE_DATA_KEY, OPEN_DATA_KEY, owners=NOT_OF_API_KEYS)
    run_tasks.allow(state.events.arn, BATCH_GET, QUERY)
    run_tasks.allow(state.subscriptions.arn, GET, PUT)
    run_tasks.allow(state.flow.arn, GET, BATCH_GET, UPDATE)
    run_tasks.allow(state.tasks.queue.queue_arn, SEND, HIDE)
    run_tasks.allow(state.tasks.dead_letters.queue_arn, SEND)
    for name in factory.environment.destinations:
        for kind in KINDS.values():
            if kind.service is not None:
                _allow_destination(factory, run_tasks, kind.service, name)
    size = factory.size("run_tasks")
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
    _read_payloads(factory, run_tasks)


def _read_payloads(factory: Factory, run_tasks: Function) -> None:
    """Adds the role that `run_tasks` assumes to read one tenant's objects; its own role may not read any. The
    role has a fixed name, so that each of the two policies can name the other."""
    reader = aws_iam.Role(
        factory.scope,
        "payload-reader",
        role_name=factory.reader_name,
        assumed_by=run_tasks.grant_principal,
    )
    name = factory.environment.named("payload_objects")
    objects = f"arn:{Aws.PARTITION}:s3:::{name}-{Aws.ACCOUNT_ID}-{Aws.REGION}/*"
    reader.add_to_policy(aws_iam.PolicyStatement(actions=[GET_OBJECT], resources=[objects]))
    waive(
        reader,
        f"IAM5[Resource::arn:<AWS::Partition>:s3:::{name}-<AWS::AccountId>-<AWS::Region>/*]",
        "Each session is held to one tenant's prefix by its own policy.",
    )
    run_tasks.allow(factory.reader_arn, ASSUME)


def _allow_destination(factory: Factory, run_tasks: Function, service: TargetService, name: str) -> None:
    resource = service.resource.format(name)
    actions = [service.action]
    if factory.environment.engine.by_operation:
        actions.append(f"{service.name}:{service.operation}")
    run_tasks.allow(factory.scope.format_arn(service=service.name, resource=resource), *actions)
    waive(
        factory.scope,
        f"IAM5[Resource::arn:<AWS::Partition>:{service.name}:<AWS::Region>:<AWS::AccountId>:{resource}]",
        "Tenants' own destinations come and go without a release; their names are ours to give.",
    )
