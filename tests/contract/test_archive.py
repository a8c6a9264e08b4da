"""Objects of the archive are written once, over both stores."""

from itertools import count

import boto3
import pytest

from postdate.domain.errors import Unavailable
from postdate.runtime import aws
from postdate.stores.archive import Archive, MemoryArchive, S3Archive
from tests.boundary import Boundary

BUCKET = "contract-archive"
_prefixes = count(1)


@pytest.fixture
def on_aws(boundary: Boundary) -> S3Archive:
    boto3.Session().client("s3").create_bucket(Bucket=BUCKET)
    return S3Archive(bucket=BUCKET, client=aws.client.__wrapped__("s3"))


@pytest.fixture(params=["memory", "aws"])
def archive(request: pytest.FixtureRequest) -> Archive:
    if request.param == "memory":
        return MemoryArchive()
    found: S3Archive = request.getfixturevalue("on_aws")
    return found


@pytest.fixture
def prefix() -> str:
    return f"p{next(_prefixes)}/"


def test_an_object_is_read_as_it_was_first_written(archive: Archive, prefix: str) -> None:
    assert archive.get(f"{prefix}a") is None
    assert archive.put(f"{prefix}a", b"one")
    assert not archive.put(f"{prefix}a", b"two")
    assert not archive.put(f"{prefix}a", b"one")
    assert archive.get(f"{prefix}a") == b"one"


def test_keys_and_folders_are_listed_in_their_order(archive: Archive, prefix: str) -> None:
    for key in ("b/2", "a/1", "a/3", "c"):
        archive.put(f"{prefix}{key}", b"")
    assert archive.keys(prefix) == [f"{prefix}{key}" for key in ("a/1", "a/3", "b/2", "c")]
    assert archive.folders(prefix) == [f"{prefix}a/", f"{prefix}b/"]
    assert (archive.keys("none/"), archive.folders("none/")) == ([], [])


def test_a_refusal_by_s3_is_no_answer(on_aws: S3Archive, prefix: str) -> None:
    """There is no such bucket."""
    none = S3Archive(bucket="contract-none", client=aws.client.__wrapped__("s3"))
    for call in (
        lambda: none.put(f"{prefix}a", b""),
        lambda: none.get(f"{prefix}a"),
        lambda: none.keys(prefix),
    ):
        with pytest.raises(Unavailable):
            call()
