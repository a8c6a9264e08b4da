from collections.abc import Sequence

from aws_cdk import Duration, Stack, aws_sqs
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.constructs.waiver import waive
from infra.environment import Environment


class Queue(Construct):
    """A queue and its dead letters. SQS moves messages there from this queue and its `lanes` only. Workers also send
    letters there directly: a redrive of those must name its destination."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        visible_after: Duration,
        receives: int,
        lanes: Sequence[str] = (),
    ) -> None:
        super().__init__(scope, name)
        # A queue and its dead letters name each other, so one of them has to be named by its ARN.
        sources = [
            aws_sqs.Queue.from_queue_arn(
                self,
                "Source" if source == name else f"Source-{source}",
                Stack.of(self).format_arn(service="sqs", resource=environment.named(source)),
            )
            for source in (name, *lanes)
        ]
        self.dead_letters = aws_sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{environment.named(name)}-dlq",
            retention_period=Duration.days(14),
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=environment.tls_only,
            redrive_allow_policy=aws_sqs.RedriveAllowPolicy(
                redrive_permission=aws_sqs.RedrivePermission.BY_QUEUE, source_queues=sources
            ),
            removal_policy=removal_policy(environment),
        )
        letters = aws_sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=receives)
        self.queue = _queue(self, name, environment=environment, visible_after=visible_after, letters=letters)


class Letters(Construct):
    """Dead letters of a stream: no queue has them as its own, so nothing is redriven from here."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        if not environment.tls_only:
            waive(self, "SQS4", "This stack listens on the loopback interface and speaks plain HTTP.")
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=f"{environment.named(name)}-dlq",
            retention_period=Duration.days(14),
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=environment.tls_only,
            removal_policy=removal_policy(environment),
        )
        waive(self, "SQS3", "These are dead letters themselves.")


class Lane(Construct):
    """Another queue of the same messages, with the same dead letters."""

    def __init__(
        self, scope: Construct, name: str, *, environment: Environment, of: Queue, visible_after: Duration
    ) -> None:
        super().__init__(scope, name)
        self.queue = _queue(
            self,
            name,
            environment=environment,
            visible_after=visible_after,
            letters=of.queue.dead_letter_queue,
        )


def _queue(
    construct: Construct,
    name: str,
    *,
    environment: Environment,
    visible_after: Duration,
    letters: aws_sqs.DeadLetterQueue | None,
) -> aws_sqs.Queue:
    if not environment.tls_only:
        waive(construct, "SQS4", "This stack listens on the loopback interface and speaks plain HTTP.")
    return aws_sqs.Queue(
        construct,
        "Queue",
        queue_name=environment.named(name),
        visibility_timeout=visible_after,
        # Dead letters keep the age they had here, and need time left for someone to look at them.
        retention_period=Duration.days(4),
        encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=environment.tls_only,
        dead_letter_queue=letters,
        removal_policy=removal_policy(environment),
    )
