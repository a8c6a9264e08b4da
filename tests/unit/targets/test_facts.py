import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from postdate.targets.facts import facts, sign

OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 25).decode()


def test_the_public_library_verifies_what_we_sign(delivery):
    now = datetime.now(UTC)
    told = dict(facts(delivery(signing_secrets=(NEW,)), b'{"n":1}', at=now))
    assert Webhook(NEW).verify(b'{"n":1}', told) == {"n": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(NEW).verify(b'{"n":2}', told)
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(b'{"n":1}', told)


def test_while_a_secret_is_replaced_either_one_verifies(delivery):
    told = dict(facts(delivery(signing_secrets=(NEW, OLD)), b"1", at=datetime.now(UTC)))
    assert len(told["webhook-signature"].split(" ")) == 2
    for secret in (NEW, OLD):
        assert Webhook(secret).verify(b"1", told) == 1


def test_the_example_of_the_specification_comes_out_the_same():
    signature = sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        run_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp="1614265330",
        body=b'{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_without_its_padding_is_the_same_secret():
    signed = {sign([secret], run_id="r", timestamp="1", body=b"") for secret in (NEW, NEW.rstrip("="))}
    assert len(signed) == 1


def test_everything_the_contract_names_is_told(delivery):
    at = datetime(2026, 11, 18, 10, 5, 2, 999_000, tzinfo=UTC)
    planned = datetime(2026, 11, 18, 12, 5, 0, 7_000, tzinfo=timezone(timedelta(hours=2)))
    assert dict(facts(delivery(planned_at=planned), b"", at=at)) == {
        "Content-Type": "application/json",
        "Idempotency-Key": "run-1",
        "Postdate-Task-Id": "task-1",
        "Postdate-Run-Id": "run-1",
        "Postdate-Depth": "1",
        "Postdate-Attempt": "2",
        "Postdate-Token": "7",
        "Postdate-Planned-At": "2026-11-18T10:05:00.007Z",
        "webhook-id": "run-1",
        "webhook-timestamp": str(int(at.timestamp())),
    }


def test_a_planned_instant_without_an_offset_is_no_delivery(delivery):
    with pytest.raises(ValueError, match="offset"):
        delivery(planned_at=datetime(2026, 11, 18))  # noqa: DTZ001
