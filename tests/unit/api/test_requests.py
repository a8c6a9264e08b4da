import base64
import json

import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api import requests
from postdate.domain.errors import (
    IdempotencyKeyMissing,
    Malformed,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
)


def event(body=None, *, encoded=False, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named.setdefault("content-type", "application/json")
    return APIGatewayProxyEventV2({"headers": named, "body": body, "isBase64Encoded": encoded})


@pytest.mark.parametrize("key", ["k", "k" * 255, "!~", "a-b_c:1/2"])
def test_an_idempotency_key_is_visible_ascii(key):
    assert requests.idempotency_key(event(idempotency_key=key)) == key
    assert requests.idempotency_key(event()) is None


@pytest.mark.parametrize("key", ["", "k" * 256, "with space", "ü", "tab\t", "line\n", "\x7f"])
def test_any_other_idempotency_key_is_refused(key):
    with pytest.raises(ValidationFailed, match="Idempotency-Key"):
        requests.idempotency_key(event(idempotency_key=key))


def test_an_idempotency_key_that_is_needed_is_not_left_out():
    assert requests.idempotency_key_needed(event(idempotency_key="k")) == "k"
    for without in (event(), event(idempotency_key="")):
        with pytest.raises(IdempotencyKeyMissing):
            requests.idempotency_key_needed(without)
    with pytest.raises(ValidationFailed, match="Idempotency-Key"):
        requests.idempotency_key_needed(event(idempotency_key="with space"))


@pytest.mark.parametrize(
    ("text", "version"), [("3", 3), ('"3"', 3), ('"3-0123abcd"', 3), ("0", 0), ("*", None), (None, None)]
)
def test_if_match_names_a_version_as_our_etags_do(text, version):
    headers = {} if text is None else {"if_match": text}
    assert requests.version_wanted(event(**headers)) == version


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "-1",
        "1.0",
        'W/"3"',
        '"3", "4"',
        "3 ",
        "1" * 10,
        '"3',
        '3"',
        '""',
        "٣",
        '"\uff13"',
        "3\n",
        "3-0123abcd",
        '"3-0123"',
        '"3-x"',
    ],
)
def test_any_other_if_match_is_refused(text):
    with pytest.raises(ValidationFailed, match="If-Match"):
        requests.version_wanted(event(if_match=text))


def test_a_body_is_its_bytes_however_it_travelled():
    assert requests.body(event('{"a":"ü"}')) == '{"a":"ü"}'.encode()
    assert requests.body(event(base64.b64encode(b'{"a":1}').decode(), encoded=True)) == b'{"a":1}'
    assert requests.body(event()) == b""


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; version=1",
    ],
)
def test_json_in_utf_8_is_taken(content_type):
    assert requests.body(event("{}", content_type=content_type)) == b"{}"


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "json",
        "text/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json, text/plain",
        "application/json; charset=iso-8859-1",
        "application/json; charset=utf-8; charset=utf-16",
        "application/problem+json",
        "application/\u212ason",
    ],
)
def test_any_other_content_type_is_refused(content_type):
    with pytest.raises(UnsupportedMediaType):
        requests.body(event("{}", content_type=content_type))


def test_a_body_without_a_content_type_is_refused_and_no_body_needs_none():
    with pytest.raises(UnsupportedMediaType):
        requests.body(APIGatewayProxyEventV2({"headers": {}, "body": "{}"}))
    assert requests.body(APIGatewayProxyEventV2({"headers": {}})) == b""


@pytest.mark.parametrize("text", ["x", "é", "🐈", '"', "\\", "\n"])
@pytest.mark.parametrize(("read", "most"), [(requests.body, 1024**2), (requests.batch, 5 * 1024**2)])
def test_a_body_is_bounded_before_it_is_parsed(read, most, text):
    """In bytes as Lambda counts them: within a JSON string."""
    fits = most // (len(json.dumps(text, ensure_ascii=False).encode()) - 2)
    assert read(event(text * fits)) == (text * fits).encode()
    with pytest.raises(PayloadTooLarge, match=f"larger than {most // 1024**2} MB"):
        read(event(text * (fits + 1)))


def test_bytes_that_are_no_utf_8_are_refused_as_the_gateway_hands_them_on():
    with pytest.raises(Malformed, match="is not UTF-8"):
        requests.body(event(b'{"name":"caf\xe9"}'.decode(errors="replace")))


def test_an_item_carries_its_version_as_etag():
    answer = requests.item({"version": 7}, status=201, headers={"Location": "/x"})
    assert answer.status_code == 201
    assert (answer.headers["ETag"], answer.headers["Location"]) == ('"7"', "/x")


def test_the_etag_of_a_derived_answer_tells_its_text_too():
    one, other, same = (
        requests.item({"version": 7, "runs": runs}, derived=True).headers["ETag"] for runs in (1, 2, 1)
    )
    assert one == same != other
    assert {requests.version_wanted(event(if_match=each)) for each in (one, other)} == {7}
