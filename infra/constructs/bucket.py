from aws_cdk import Aws, Duration, aws_iam, aws_s3
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.constructs.waiver import waive
from infra.environment import Environment


class Bucket(aws_s3.Bucket):
    """A bucket. Its name contains the account and the region, because all accounts of the world share one space of
    names. Objects stay until their owner deletes them; where nothing has to last, they expire. Objects under the prefix
    `passing` expire after a week everywhere. With `written_once` S3 refuses to write over an object, and where data is
    kept nobody can delete one for as long as events are kept. `construct_id` is for a name that another construct of
    the templates has."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        passing: str | None = None,
        written_once: bool = False,
        construct_id: str | None = None,
    ) -> None:
        # Manifests name all objects, so none may go by itself.
        kept = None if written_once else environment.objects_kept_days
        locked = written_once and environment.keeps_data
        locked_for = Duration.days(environment.settings.events_kept_days)
        super().__init__(
            scope,
            construct_id or name,
            bucket_name=f"{environment.named(name)}-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=aws_s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=environment.tls_only,
            lifecycle_rules=[
                aws_s3.LifecycleRule(
                    id="unfinished-uploads", abort_incomplete_multipart_upload_after=Duration.days(1)
                ),
                *(
                    [aws_s3.LifecycleRule(id="passing", prefix=passing, expiration=Duration.days(7))]
                    if passing
                    else []
                ),
                *([aws_s3.LifecycleRule(id="expiry", expiration=Duration.days(kept))] if kept else []),
            ],
            removal_policy=removal_policy(environment),
            # Object lock needs versions.
            versioned=written_once or None,
            object_lock_enabled=locked or None,
            object_lock_default_retention=aws_s3.ObjectLockRetention.compliance(locked_for)
            if locked
            else None,
        )
        # S3 compares nothing by itself: each write has to carry the condition that its key is free.
        if written_once and environment.tls_only:
            self.add_to_resource_policy(
                aws_iam.PolicyStatement(
                    effect=aws_iam.Effect.DENY,
                    principals=[aws_iam.AnyPrincipal()],
                    actions=["s3:PutObject"],
                    resources=[self.arn_for_objects("*")],
                    conditions={"Null": {"s3:if-none-match": "true"}},
                )
            )
        waive(self, "S1", "Who reads what is in CloudTrail, under the name of the tenant it was read for.")
        if not environment.tls_only:
            waive(self, "S10", "This stack listens on the loopback interface and speaks plain HTTP.")
