import pytest

from postdate.domain.errors import ValidationFailed
from postdate.targets.headers import BYTES_MAX, COUNT_MAX, check_headers

ALLOWED = [
    ("Authorization", "Bearer a.b-c"),
    ("X-Name", "two  words\tand"),
    ("Cookie", "a=1; b=2"),
    ("Accept", "*/*"),
]
REFUSED = [
    ("X-Evil", "a\r\nHost: b"),
    ("X-Evil", "a\nb"),
    ("X-Evil", "a\rb"),
    ("X-Evil", "a\x00b"),
    ("X-Evil", "a\x7f"),
    ("X-Evil", "é"),
    ("X-Evil", "\u010a\u010d"),  # LF and CR to who keeps the low byte
    ("X-Evil", " a"),
    ("X-Evil", "a\t"),
    ("X-Evil\r\nHost", "a"),
    ("X Evil", "a"),
    ("X-Evil:", "a"),
    ("", "a"),
    ("X-Évil", "a"),
    ("X" * 129, "a"),
    ("Host", "a.example"),
    ("hOsT", "a.example"),
    ("Content-Length", "1"),
    ("Content-Type", "text/plain"),
    ("Content-Encoding", "gzip"),
    ("Transfer-Encoding", "chunked"),
    ("Connection", "close"),
    ("Keep-Alive", "x"),
    ("Upgrade", "h2c"),
    ("Expect", "100-continue"),
    ("TE", "trailers"),
    ("Trailer", "x"),
    ("User-Agent", "x"),
    ("Accept-Encoding", "gzip"),
    ("Proxy-Authorization", "x"),
    ("Idempotency-Key", "x"),
    ("webhook-signature", "v1,x"),
    ("Webhook-Anything", "x"),
    ("Postdate-Token", "9"),
    ("postdate-anything", "x"),
    # Read as one of the above by a server that hands headers on as variables.
    ("webhook_signature", "v1,x"),
    ("Webhook_Id", "x"),
    ("content_length", "1"),
    ("CONTENT_LENGTH", "1"),
    ("content_type", "text/plain"),
    ("transfer_encoding", "chunked"),
    ("postdate_token", "9"),
    ("postdate.token", "9"),
    ("idempotency_key", "x"),
    ("user'agent", "x"),
    ("Proxy_Authorization", "x"),
    ("X_Name", "read as the X-Name that is given"),
]


def test_ordinary_headers_pass():
    check_headers(ALLOWED)
    check_headers([("X-Empty", "")])
    check_headers([(f"X-{number}", "a") for number in range(COUNT_MAX)])


@pytest.mark.parametrize("header", REFUSED)
def test_a_header_that_would_change_the_request_is_refused(header):
    with pytest.raises(ValidationFailed):
        check_headers([*ALLOWED, header])


@pytest.mark.parametrize(
    "headers",
    [
        [(f"X-{number}", "a") for number in range(COUNT_MAX + 1)],
        [("X-Long", "a" * BYTES_MAX)],
        [("X-Twice", "a"), ("x-twice", "b")],
    ],
)
def test_too_many_too_long_or_twice_is_refused(headers):
    with pytest.raises(ValidationFailed):
        check_headers(headers)


def test_the_message_names_the_field_and_never_the_value():
    with pytest.raises(ValidationFailed) as failed:
        check_headers([("Authorization", "secret\n")], field="targets.0.headers")
    assert failed.value.fields[0][0] == "targets.0.headers"
    assert "secret" not in str(failed.value)
