from aws_cdk import Aws, Duration, aws_s3
from constructs import Construct

from infra.constructs.removal import removal_policy
from infra.constructs.waiver import waive
from infra.environments import Environment


class Bucket(aws_s3.Bucket):
    """All accounts of the world share one space of names, so its name says whose it is. What tenants put there is
    theirs to take away; where nothing has to last, it goes by itself. Objects under the prefix `passing` go after a
    week everywhere."""

    def __init__(
        self, scope: Construct, name: str, *, environment: Environment, passing: str | None = None
    ) -> None:
        kept = environment.objects_kept_days
        super().__init__(
            scope,
            name,
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
        )
        waive(self, "S1", "Who reads what is in CloudTrail, under the name of the tenant it was read for.")
        if not environment.tls_only:
            waive(self, "S10", "This stack listens on the loopback interface and speaks plain HTTP.")
