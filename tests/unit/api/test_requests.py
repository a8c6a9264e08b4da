import base64

import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api import requests
from postdate.domain.errors import IdempotencyKeyMissing, ValidationFailed


def event(body=None, *, encoded=False, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
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


@pytest.mark.parametrize(("text", "version"), [("3", 3), ('"3"', 3), ("0", 0), ("*", None), (None, None)])
def test_if_match_names_a_version_as_our_etags_do(text, version):
    headers = {} if text is None else {"if_match": text}
    assert requests.version_wanted(event(**headers)) == version


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", 'W/"3"', '"3", "4"', "3 ", "1" * 10])
def test_any_other_if_match_is_refused(text):
    with pytest.raises(ValidationFailed, match="If-Match"):
        requests.version_wanted(event(if_match=text))


def test_a_body_is_its_bytes_however_it_travelled():
    assert requests.body(event('{"a":"ü"}')) == '{"a":"ü"}'.encode()
    assert requests.body(event(base64.b64encode(b'{"a":1}').decode(), encoded=True)) == b'{"a":1}'
    assert requests.body(event()) == b""


def test_an_item_carries_its_version_as_etag():
    answer = requests.item({"version": 7}, status=201, headers={"Location": "/x"})
    assert answer.status_code == 201
    assert (answer.headers["ETag"], answer.headers["Location"]) == ('"7"', "/x")
