from collections.abc import Sequence

from aws_cdk import Stack, aws_dynamodb
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.environment import Environment


class Table(aws_dynamodb.Table):
    """A table on demand, recoverable to any second of the last 35 days. Keys are strings. Without `then` it has no sort
    key.

    `label` is its name in every environment. `name` and `arn` are of the table that is used: this one, or the restored
    one in its place. This one is kept then. `construct_id` is for a name that another construct of the stack has. A
    table that `streams` tells each change of a row, with the row before and after.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        by: str,
        then: str | None = None,
        expires: bool = True,
        construct_id: str | None = None,
        streams: bool = False,
    ) -> None:
        super().__init__(
            scope,
            construct_id or name,
            table_name=environment.named(name),
            partition_key=_text(by),
            sort_key=_text(then) if then else None,
            billing_mode=aws_dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=aws_dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute="expires_at" if expires else None,
            warm_throughput=_warm(environment.warm_writes.get(name)),
            removal_policy=removal_policy(environment),
            stream=aws_dynamodb.StreamViewType.NEW_AND_OLD_IMAGES if streams else None,
        )
        self.label, self.name, self.arn = name, self.table_name, self.table_arn
        self._environment = environment
        # A restored table has another name, and is no resource of this stack.
        if name in environment.restored:
            self.name = environment.table(name)
            self.arn = Stack.of(self).format_arn(
                service="dynamodb", resource="table", resource_name=self.name
            )

    def index(
        self, name: str, *, by: str, then: str, whole: bool = False, having: Sequence[str] = ()
    ) -> None:
        """Adds an index of keys only, of keys and the attributes `having`, or of `whole` rows. Whole rows pay off
        where rows are small, never change and are read by the index."""
        projected = aws_dynamodb.ProjectionType
        some = projected.INCLUDE if having else projected.KEYS_ONLY
        writes = self._environment.warm_writes.get(f"{self.label}/{name}")
        self.add_global_secondary_index(
            index_name=name,
            partition_key=_text(by),
            sort_key=_text(then),
            projection_type=projected.ALL if whole else some,
            non_key_attributes=list(having) or None,
            warm_throughput=_warm(writes),
        )

    def index_arn(self, name: str) -> str:
        return f"{self.arn}/index/{name}"


def _warm(writes: int | None) -> aws_dynamodb.WarmThroughput | None:
    return aws_dynamodb.WarmThroughput(write_units_per_second=writes) if writes else None


def _text(name: str) -> aws_dynamodb.Attribute:
    return aws_dynamodb.Attribute(name=name, type=aws_dynamodb.AttributeType.STRING)
