from aws_cdk import Duration, Stack, aws_sqs
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.constructs.waiver import waive
from infra.environments import Environment


class Queue(Construct):
    """A queue and its dead letters, which only this queue may fill and which a redrive sends back to it."""

    def __init__(
        self, scope: Construct, name: str, *, environment: Environment, visible_after: Duration, receives: int
    ) -> None:
        super().__init__(scope, name)
        queue_name = environment.named(name)
        # The two name each other, so one of them has to be named by its ARN.
        source = aws_sqs.Queue.from_queue_arn(
            self, "Source", Stack.of(self).format_arn(service="sqs", resource=queue_name)
        )
        self.dead_letters = aws_sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{queue_name}-dlq",
            retention_period=Duration.days(14),
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=environment.tls_only,
            redrive_allow_policy=aws_sqs.RedriveAllowPolicy(
                redrive_permission=aws_sqs.RedrivePermission.BY_QUEUE, source_queues=[source]
            ),
            removal_policy=removal_policy(environment),
        )
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=queue_name,
            visibility_timeout=visible_after,
            # Dead letters keep the age they had here, and need time left for someone to look at them.
            retention_period=Duration.days(4),
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=environment.tls_only,
            dead_letter_queue=aws_sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=receives),
            removal_policy=removal_policy(environment),
        )
        if not environment.tls_only:
            waive(self, "SQS4", "This stack listens on the loopback interface and speaks plain HTTP.")
