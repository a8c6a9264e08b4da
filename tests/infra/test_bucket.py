from typing import Any

import pytest

from functions.reconcile.papers import WORK
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import Stacks, Template


@pytest.fixture(params=["payload-objects", "reports"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bucket(stacks: Stacks, name: str) -> Template:
    found = {each.partition("-<")[0]: bucket for each, bucket in stacks.all("AWS::S3::Bucket").items()}
    assert found.keys() == {"payload-objects", "reports"}
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
    assert len(denied) == 2
    for statement in denied:
        assert (statement["Effect"], statement["Action"], statement["Principal"]) == (
            "Deny",
            "s3:*",
            {"AWS": "*"},
        )
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_objects_go_by_themselves_but_in_prod(stacks: Stacks, name: str, bucket: Template) -> None:
    rules = {rule["Id"]: rule for rule in bucket["Properties"]["LifecycleConfiguration"]["Rules"]}
    days = {"local": 1, "dev": 30, "staging": 90, "prod": None}
    assert days.keys() == ENVIRONMENTS.keys()
    expiry = rules.pop("expiry", {})
    assert expiry.get("ExpirationInDays") == days[stacks.environment.name]
    passing = rules.pop("passing", {})
    assert (passing.get("Prefix"), passing.get("ExpirationInDays")) == (
        (WORK, 7) if name == "reports" else (None, None)
    )
    assert rules.keys() == {"unfinished-uploads"}
