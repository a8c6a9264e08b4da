"""The one Lambda factory: what every function has in common, and, call by call, what it may do."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from aws_cdk import Aws, Duration, aws_iam, aws_lambda, aws_sqs
from constructs import Construct

from infra.bundle import bundle
from infra.constructs.log_group import LogGroup
from infra.constructs.runtime import RUNTIME, architecture
from infra.constructs.waiver import waive
from infra.environment import Environment
from postdate.runtime.settings import names

# Both look names up; the system's resolver knows no other time limit (docs/decisions/0004-webhook-guard.md).
RESOLVING: Final = frozenset({"api", "run_tasks"})
RESOLVER: Final = {"RES_OPTIONS": "timeout:1 attempts:2"}
# The key can have several values, so a plain StringEquals would not do; without the key the answer is no.
IN_TRANSACTIONS: Final = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}}

# An outage of an hour is outlived: Lambda waits longer before each further try. What is given up then is made up for
# from the rows' own histories.
STREAM_TRIES: Final = 100
# A provisioned poller keeps up to ten consumers busy, and a mapping has two pollers at least.
CONSUMERS_OF_POLLER: Final = 10
POLLERS_MIN: Final = 2
UNSCOPED: Final = "The local engine checks these calls on no resource at all."


class Function(aws_lambda.Function):
    """`functions/<name>` with its own role and log group, and of `values` exactly what its `Settings` read.

    A function whose messages lead back to itself says so with `recurs`: Lambda would otherwise take a
    heartbeat, or the sixteenth retry of an item, for a runaway loop and stop it.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        values: Mapping[str, str],
        layer: aws_lambda.ILayerVersion,
        build: Path,
        recurs: bool = False,
    ) -> None:
        function_name = environment.named(name)
        size = environment.functions[name]
        # A log group that Lambda makes by itself keeps its lines for ever.
        logs = LogGroup(
            scope, f"{name}-logs", environment=environment, log_group_name=f"/aws/lambda/{function_name}"
        )
        # The role that CDK makes by itself may write to every log group.
        role = aws_iam.Role(
            scope, f"{name}-role", assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com")
        )
        super().__init__(
            scope,
            name,
            function_name=function_name,
            handler=f"functions.{name}.entry.handler",
            runtime=RUNTIME,
            architecture=architecture(environment),
            code=aws_lambda.Code.from_asset(str(bundle(name, platform=environment.platform, build=build))),
            layers=[layer],
            environment=_read_by(name, values) | (RESOLVER if name in RESOLVING else {}),
            memory_size=size.memory_mb,
            timeout=Duration.seconds(size.timeout_seconds),
            reserved_concurrent_executions=size.reserved,
            role=role,
            log_group=logs,
            tracing=aws_lambda.Tracing.ACTIVE if name in environment.traced else None,
            recursive_loop=aws_lambda.RecursiveLoop.ALLOW if recurs else None,
        )
        logs.grant_write(role)
        self._environment = environment
        self._own_role = role
        self.settings = frozenset(_read_by(name, values))
        if name in environment.traced:
            waive(role, "IAM5[Resource::*]", "X-Ray's two write actions know no resource to name.")

    def allow(self, resource: str, *actions: str) -> None:
        engine = self._environment.engine
        self._grant(resource, [*actions, *(engine.also[each] for each in actions if each in engine.also)])
        if unscoped := [name for each in actions for name in engine.unscoped.get(each, ())]:
            self._grant("*", unscoped)
            waive(self._own_role, "IAM5[Resource::*]", UNSCOPED)

    def allow_everywhere(self, action: str, reason: str) -> None:
        """Allows a call that knows no resource to name, or needs all of them."""
        self._grant("*", [action])
        waive(self._own_role, "IAM5[Resource::*]", reason)

    def allow_objects(self, bucket: str, *actions: str, under: str = "") -> None:
        """Allows these calls on all objects of a bucket that functions alone use, or on those under a prefix."""
        name = self._environment.named(bucket)
        self._grant(f"arn:{Aws.PARTITION}:s3:::{name}-{Aws.ACCOUNT_ID}-{Aws.REGION}/{under}*", list(actions))
        waive(
            self._own_role,
            f"IAM5[Resource::arn:<AWS::Partition>:s3:::{name}-<AWS::AccountId>-<AWS::Region>/{under}*]",
            "Functions alone write these objects, and their names are not known before.",
        )

    def allow_executions(self, resource: str, *actions: str) -> None:
        """Allows these calls on all executions of a state machine."""
        self.allow(resource, *actions)
        found = resource.replace(Aws.PARTITION, "<AWS::Partition>")
        found = found.replace(Aws.REGION, "<AWS::Region>").replace(Aws.ACCOUNT_ID, "<AWS::AccountId>")
        waive(self._own_role, f"IAM5[Resource::{found}]", "An execution is named after its operation.")

    def allow_in_transactions(self, table: str, *actions: str) -> None:
        """Allows these writes only as parts of TransactWriteItems."""
        self.add_to_role_policy(
            aws_iam.PolicyStatement(actions=list(actions), resources=[table], conditions=IN_TRANSACTIONS)
        )

    def allow_attributes(self, table: str, attributes: Iterable[str], *actions: str) -> None:
        """Allows these writes while they name no other attribute of a row."""
        named = {"ForAllValues:StringEquals": {"dynamodb:Attributes": sorted(attributes)}}
        self.add_to_role_policy(
            aws_iam.PolicyStatement(actions=list(actions), resources=[table], conditions=named)
        )

    def allow_rows(self, table: str, keys: str, *actions: str) -> None:
        """Allows these calls on rows whose partition keys are like this."""
        like = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [keys]}}
        self.add_to_role_policy(
            aws_iam.PolicyStatement(actions=list(actions), resources=[table], conditions=like)
        )

    def allow_data_keys(
        self, key: str, *actions: str, owners: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """Allows these uses of the key in KMS. `owners` is a condition on the owners of the data keys."""
        told = self._environment.engine.tells_contexts
        self.add_to_role_policy(
            aws_iam.PolicyStatement(
                actions=list(actions), resources=[key], conditions=owners if told else None
            )
        )

    def _grant(self, resource: str, actions: list[str]) -> None:
        if actions:
            once = list(dict.fromkeys(actions))
            self.add_to_role_policy(aws_iam.PolicyStatement(actions=once, resources=[resource]))

    def consume(
        self,
        queue: aws_sqs.IQueue,
        *,
        at_once: int,
        consumers: int,
        window_seconds: int = 0,
        pollers: int = 0,
        name: str = "messages",
    ) -> None:
        """Takes batches of the queue's messages. Lambda refuses a mapping that has both provisioned pollers and a
        bound of its consumers, so the number of pollers bounds them then."""
        self.allow(queue.queue_arn, "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
        self.add_event_source_mapping(
            name,
            event_source_arn=queue.queue_arn,
            batch_size=at_once,
            report_batch_item_failures=True,
            max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
            max_concurrency=None if pollers else consumers,
            provisioned_poller_config=_pollers(pollers, consumers) if pollers else None,
        )

    def follow(
        self,
        stream_arn: str,
        letters: aws_sqs.IQueue,
        *,
        at_once: int,
        name: str,
        pattern: Mapping[str, Any] | None = None,
    ) -> None:
        """Reads a table's stream in order, the records that fit the pattern alone. A batch that fails is split until
        the record at fault is alone, which then joins the dead letters and lets the others pass."""
        self.allow(stream_arn, "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")
        self.allow(letters.queue_arn, "sqs:SendMessage")
        mapping = self.add_event_source_mapping(
            name,
            event_source_arn=stream_arn,
            starting_position=aws_lambda.StartingPosition.TRIM_HORIZON,
            batch_size=at_once,
            report_batch_item_failures=True,
            bisect_batch_on_error=True,
            retry_attempts=STREAM_TRIES,
            filters=[aws_lambda.FilterCriteria.filter(dict(pattern))] if pattern else None,
        )
        # The construct for this destination would also grant reads of the queue.
        made = mapping.node.default_child
        if isinstance(made, aws_lambda.CfnEventSourceMapping):
            destination = aws_lambda.CfnEventSourceMapping.OnFailureProperty(destination=letters.queue_arn)
            made.destination_config = aws_lambda.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=destination
            )


def _pollers(ready: int, consumers: int) -> aws_lambda.ProvisionedPollerConfig:
    most = max(POLLERS_MIN, consumers // CONSUMERS_OF_POLLER)
    return aws_lambda.ProvisionedPollerConfig(minimum_pollers=ready, maximum_pollers=max(ready, most))


def _read_by(name: str, values: Mapping[str, str]) -> dict[str, str]:
    settings = import_module(f"functions.{name}.settings").Settings
    return {variable: values[variable] for variable in sorted(names(settings))}
