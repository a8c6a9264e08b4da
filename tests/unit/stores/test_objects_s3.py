import json
from datetime import timedelta
from threading import Barrier, Thread
from time import sleep

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.stores.objects import TOO_LARGE, UnreadableObject
from postdate.stores.objects_s3 import S3Objects
from tests.unit.doubles import ManualClock


class Body:
    def __init__(self, content):
        self.content, self.reads, self.closed = content, 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def read(self):
        self.reads += 1
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


class Engine:
    """STS and S3 in one: what it was asked, and what it answers or raises."""

    def __init__(self):
        self.assumed, self.made, self.got = [], [], []
        self.answer = b"{}"
        self.refuses = None
        self.takes_seconds = 0

    def assume_role(self, **asked):
        if self.refuses:
            raise self.refuses
        sleep(self.takes_seconds)
        self.assumed.append(asked)
        return {"Credentials": {"AccessKeyId": asked["RoleSessionName"]}}

    def s3(self, credentials):
        self.made.append(credentials["AccessKeyId"])
        return self

    def get_object(self, **asked):
        self.got.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        body = self.answer if isinstance(self.answer, Body) else Body(self.answer)
        size = len(body.content) if isinstance(body.content, bytes) else 2
        return {"Body": body, "ContentLength": size}


@pytest.fixture
def engine():
    return Engine()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def objects(engine, clock):
    return S3Objects(
        bucket="b",
        role_arn="arn:aws-cn:iam::1:role/reader",
        sts=lambda: engine,
        s3=engine.s3,
        clock=clock,
    )


def error(code):
    return ClientError({"Error": {"Code": code}}, "GetObject")


def test_a_session_has_its_tenants_name_and_reaches_its_prefix_alone(objects, engine):
    assert objects.read("acme", "acme/a") == b"{}"
    (asked,) = engine.assumed
    assert (asked["RoleArn"], asked["RoleSessionName"]) == ("arn:aws-cn:iam::1:role/reader", "tenant-acme")
    (statement,) = json.loads(asked["Policy"])["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Action": "s3:GetObject",
        "Resource": "arn:aws-cn:s3:::b/acme/*",
    }
    assert engine.got == [{"Bucket": "b", "Key": "acme/a"}]


def test_a_session_serves_one_tenant_until_shortly_before_it_ends(objects, engine, clock):
    for _ in range(3):
        objects.read("acme", "acme/a")
    objects.read("other", "other/a")
    assert engine.made == ["tenant-acme", "tenant-other"]
    clock.move(timedelta(minutes=49))
    objects.read("acme", "acme/a")
    assert len(engine.made) == 2
    clock.move(timedelta(minutes=1))
    objects.read("acme", "acme/a")
    assert engine.made == ["tenant-acme", "tenant-other", "tenant-acme"]


def test_sessions_are_not_kept_without_end(objects, engine):
    for number in range(201):
        objects.read(f"t{number}", f"t{number}/a")
    objects.read("t200", "t200/a")
    assert len(engine.made) == 201
    objects.read("t0", "t0/a")
    assert len(engine.made) == 202


def test_of_many_threads_one_opens_the_prefix(objects, engine):
    together, engine.takes_seconds = Barrier(8), 0.02

    def reads():
        together.wait()
        objects.read("acme", "acme/a")

    threads = [Thread(target=reads) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (engine.made, len(engine.got)) == (["tenant-acme"], 8)


@pytest.mark.parametrize("refusal", [error("AccessDenied"), ConnectTimeoutError(endpoint_url="e")])
def test_a_session_that_is_not_given_now_may_be_given_later(objects, engine, refusal):
    engine.refuses = refusal
    assert objects.read("acme", "acme/a") == UnreadableObject(why="the tenant's prefix could not be opened")
    engine.refuses = None
    assert objects.read("acme", "acme/a") == b"{}"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (error("NoSuchKey"), "the payload is missing"),
        (error("AccessDenied"), "the payload is missing, or may not be read"),
        (error("403"), "the payload is missing, or may not be read"),
        (error("SlowDown"), "S3 SlowDown"),
        (error("<b>"), "S3 did not return the payload"),
        (ReadTimeoutError(endpoint_url="e"), "S3 did not answer"),
        (Body(ReadTimeoutError(endpoint_url="e")), "S3 did not answer"),
    ],
    ids=["missing", "denied", "403", "slow down", "odd code", "silent", "breaks off"],
)
def test_whatever_stands_in_the_way_is_told_in_our_words_and_may_pass(objects, engine, answer, why):
    engine.answer = answer
    assert objects.read("acme", "acme/a") == UnreadableObject(why=why)


def test_an_object_that_is_too_large_is_not_read(objects, engine):
    engine.answer = Body(b"x" * (PAYLOAD_BYTES_MAX + 1))
    assert objects.read("acme", "acme/a") == TOO_LARGE
    assert (engine.answer.reads, engine.answer.closed) == (0, True)
