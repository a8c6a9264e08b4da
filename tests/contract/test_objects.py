"""Payloads that tenants keep themselves, over both stores."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import boto3
import pytest

from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.runtime import aws
from postdate.runtime.clock import SystemClock
from postdate.stores.objects import TOO_LARGE, MemoryObjects, Objects, UnreadableObject
from postdate.stores.objects_s3 import S3Objects
from tests.boundary import Boundary

BUCKET = "contract-objects"
ROLE = "contract-payload-reader"
_tenants = count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """`put` is the tenant's own doing."""

    objects: Objects
    put: Callable[[str, bytes], Any]


@pytest.fixture
def tenant() -> str:
    return f"acme-{next(_tenants)}"


@pytest.fixture
def on_engine(boundary: Boundary) -> Kept:
    s3, role_arn = boto3.Session().client("s3"), reader_role(BUCKET, ROLE)
    s3.create_bucket(Bucket=BUCKET)
    objects = S3Objects(
        bucket=BUCKET,
        role_arn=role_arn,
        sts=lambda: boto3.Session().client("sts"),
        s3=lambda credentials: aws.client_with("s3", credentials),
        clock=SystemClock(),
    )
    return Kept(objects=objects, put=lambda name, body: s3.put_object(Bucket=BUCKET, Key=name, Body=body))


def reader_role(bucket: str, name: str) -> str:
    """May read the whole bucket, as the one that the infrastructure makes."""
    iam = boto3.Session().client("iam")
    try:
        return str(iam.get_role(RoleName=name)["Role"]["Arn"])
    except iam.exceptions.NoSuchEntityException:
        pass
    trusts = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
    reads = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document(trusts))
    iam.put_role_policy(RoleName=name, PolicyName="reads", PolicyDocument=_document(reads))
    return str(role["Role"]["Arn"])


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture(params=["memory", "engine"])
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    if request.param == "engine":
        yield request.getfixturevalue("on_engine")
        return
    objects = MemoryObjects()
    yield Kept(objects=objects, put=objects.kept.__setitem__)


def test_an_object_is_read_as_it_is_now(kept: Kept, tenant: str) -> None:
    name = f"{tenant}/2026/a=b,c@d+e:'f'(g)!.json"
    for body in (b'{"n": 1}', b""):
        kept.put(name, body)
        assert kept.objects.read(tenant, name) == body


def test_the_largest_payload_allowed_is_read_and_one_byte_more_is_final(kept: Kept, tenant: str) -> None:
    kept.put(f"{tenant}/large", b"x" * PAYLOAD_BYTES_MAX)
    kept.put(f"{tenant}/larger", b"x" * (PAYLOAD_BYTES_MAX + 1))
    assert kept.objects.read(tenant, f"{tenant}/large") == b"x" * PAYLOAD_BYTES_MAX
    assert kept.objects.read(tenant, f"{tenant}/larger") == TOO_LARGE


def test_a_missing_object_may_be_there_later(kept: Kept, tenant: str) -> None:
    missing = kept.objects.read(tenant, f"{tenant}/later")
    assert isinstance(missing, UnreadableObject)
    assert ("missing" in missing.why, missing.final) == (True, False)
    kept.put(f"{tenant}/later", b"1")
    assert kept.objects.read(tenant, f"{tenant}/later") == b"1"


def test_no_tenant_reads_what_is_another_tenants(kept: Kept, tenant: str) -> None:
    """Not even if our own check had let it through: the session itself has no right to."""
    theirs = f"{tenant}2/secret"
    kept.put(theirs, b"1")
    assert kept.objects.read(f"{tenant}2", theirs) == b"1"
    refused = kept.objects.read(tenant, theirs)
    assert isinstance(refused, UnreadableObject)
    assert not refused.final
