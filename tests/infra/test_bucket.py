from typing import Any

import pytest

from functions.reconcile.papers import WORK
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import Stacks, Template

BUCKETS = ("payload-objects", "reports", "archive")


@pytest.fixture(params=BUCKETS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bucket(stacks: Stacks, name: str) -> Template:
    found = {each.partition("-<")[0]: bucket for each, bucket in stacks.all("AWS::S3::Bucket").items()}
    assert found.keys() == set(BUCKETS)
    return found[name]


def test_nothing_in_it_is_public_and_everything_is_encrypted(bucket: Template) -> None:
    properties = bucket["Properties"]
    assert properties["PublicAccessBlockConfiguration"] == dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
    )
    assert properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    (rule,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_on_aws_it_is_spoken_to_by_tls_alone(stacks: Stacks) -> None:
    denied: list[Any] = [
        statement
        for policy in stacks.properties("AWS::S3::BucketPolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    if stacks.environment.name == "local":
        assert denied == []
        return
    over_what_is_there = [each for each in denied if "Null" in each["Condition"]]
    assert len(denied) == len(BUCKETS) + len(over_what_is_there)
    for statement in denied:
        if statement in over_what_is_there:
            continue
        assert (statement["Effect"], statement["Action"], statement["Principal"]) == (
            "Deny",
            "s3:*",
            {"AWS": "*"},
        )
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_objects_go_by_themselves_but_in_prod_and_in_the_archive(
    stacks: Stacks, name: str, bucket: Template
) -> None:
    rules = {rule["Id"]: rule for rule in bucket["Properties"]["LifecycleConfiguration"]["Rules"]}
    days = {"local": 1, "dev": 30, "staging": 90, "prod": None}
    assert days.keys() == ENVIRONMENTS.keys()
    expiry = rules.pop("expiry", {})
    kept = None if name == "archive" else days[stacks.environment.name]
    assert expiry.get("ExpirationInDays") == kept
    passing = rules.pop("passing", {})
    assert (passing.get("Prefix"), passing.get("ExpirationInDays")) == (
        (WORK, 7) if name == "reports" else (None, None)
    )
    assert rules.keys() == {"unfinished-uploads"}


def test_the_archive_alone_is_written_once(stacks: Stacks, name: str, bucket: Template) -> None:
    """S3 refuses a write that does not say `If-None-Match`, and nobody deletes a young one in prod."""
    properties = bucket["Properties"]
    policies = stacks.properties("AWS::S3::BucketPolicy").values()
    once = [
        (statement["Action"], statement["Condition"])
        for policy in policies
        if stacks.text(policy["Bucket"]).startswith(f"bucket:{name}")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] != "s3:*"
    ]
    if name != "archive":
        assert (properties.get("VersioningConfiguration"), once) == (None, [])
        assert "ObjectLockEnabled" not in properties
        return
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    refused = [("s3:PutObject", {"Null": {"s3:if-none-match": "true"}})]
    assert once == ([] if stacks.environment.name == "local" else refused)
    locked = properties.get("ObjectLockConfiguration")
    assert (locked is not None) == (stacks.environment.name == "prod") == ("ObjectLockEnabled" in properties)
    if locked is not None:
        rule = locked["Rule"]["DefaultRetention"]
        assert rule == {"Mode": "COMPLIANCE", "Days": stacks.environment.settings.events_kept_days}
