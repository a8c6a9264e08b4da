from datetime import UTC, datetime

import pytest

from postdate.targets.answer import Head
from postdate.targets.base import Delivered, Failed
from postdate.targets.verdict import retry_after_seconds, verdict

NOW = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)


def judged(status, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return verdict(Head(status=status, keeps_alive=True, headers=named, ends=0), now=NOW)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success_whatever_its_headers_say(status):
    assert judged(status, postdate_retry="never", retry_after="9") == Delivered(http_status=status)


@pytest.mark.parametrize(
    "status", [101, 400, 401, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 599]
)
def test_other_failures_may_pass(status):
    """Only a 5xx says that the destination itself is in trouble."""
    assert judged(status) == Failed(reason=f"http {status}", http_status=status, down=status >= 500)


@pytest.mark.parametrize("status", [410, 422])
def test_410_and_422_are_final(status):
    assert judged(status) == Failed(reason=f"http {status}", retry=False, http_status=status)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_a_failure(status):
    assert judged(status) == Failed(reason="redirect refused", http_status=status)


@pytest.mark.parametrize("value", ["never", "Never", "NEVER", "never, never"])
def test_a_receiver_can_say_never(value):
    assert judged(503, postdate_retry=value) == Failed(
        reason="http 503", retry=False, http_status=503, down=True
    )


@pytest.mark.parametrize("value", ["", "later", "nevermore"])
def test_another_word_is_not_never(value):
    assert judged(503, postdate_retry=value).retry


@pytest.mark.parametrize("status", [302, 429, 503])
def test_when_to_come_back_is_passed_on(status):
    assert judged(status, retry_after="120").retry_after_seconds == 120


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("999999999", 999_999_999),
        ("Wed, 18 Nov 2026 10:07:00 GMT", 120),
        ("Wednesday, 18-Nov-26 10:07:00 GMT", 120),
        ("Wed Nov 18 10:07:00 2026", 120),
        ("Wed, 18 Nov 2026 11:07:00 +0100", 120),
        ("Wed, 18 Nov 2026 10:07:00 -0000", 120),
        ("Wed, 18 Nov 2020 10:07:00 GMT", 0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("1" * 400, None),
        ("\u0661", None),
        ("²", None),
        ("Wed, 32 Nov 2026 10:07:00 GMT", None),
        ("Wed, 18 Nov 99999 10:07:00 GMT", None),
        ("120, 240", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(value, seconds):
    assert retry_after_seconds(value, now=NOW) == seconds
