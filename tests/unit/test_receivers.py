"""The receiver's contract, told three times: on its page, in the API's description, and by what is sent and done."""

import base64
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from functions.api.reference import receiving
from postdate.domain.task import Destination
from postdate.targets.answer import Head
from postdate.targets.base import Delivered, Delivery, Failed
from postdate.targets.facts import facts
from postdate.targets.verdict import verdict
from tests.described import DESCRIPTION

PAGE = Path("docs/receivers.md").read_text(encoding="utf-8")
NOW = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()


def flowing(text: str) -> str:
    """Without fences and with single spaces, so that line ends do not count."""
    return " ".join(re.sub(r"```\w*", "", text).split())


def rows(*, heading: str) -> dict[str, str]:
    table = PAGE.partition(f"| {heading} | meaning |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", table, re.MULTILINE))


def sent(*, at: datetime = NOW) -> dict[str, str]:
    delivery = Delivery(
        run_id="run_1",
        task_id="rtask_1",
        tenant="demo",
        attempt=1,
        token=1,
        planned_at=NOW,
        timeout_seconds=1,
        destination=Destination(type="webhook", address="https://example.com"),
        payload=b"{}",
        signing_secrets=(SECRET,),
    )
    return dict(facts(delivery, delivery.body, at=at))


def answered(status: int, **headers: str) -> Delivered | Failed:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return verdict(Head(status=status, keeps_alive=True, headers=named, ends=0), now=NOW)


def test_every_header_that_is_sent_is_told_and_no_other() -> None:
    told = {name: text for name, (_, text) in receiving.HEADERS.items()}
    assert list(told) == list(sent())
    assert rows(heading="header") == told


def test_the_description_carries_the_contract() -> None:
    operation = DESCRIPTION["webhooks"]["run"]["post"]
    parameters = {each["name"] for each in operation["parameters"]}
    assert parameters == sent().keys() - {"Content-Type"}
    assert {status: told["description"] for status, told in operation["responses"].items()} == rows(
        heading="answer"
    )


@pytest.mark.parametrize("paragraph", receiving.PARAGRAPHS, ids=lambda text: text[:30])
def test_the_page_says_what_the_description_says(paragraph: str) -> None:
    assert flowing(paragraph) in flowing(PAGE)


def test_the_snippet_of_the_page_verifies_what_is_sent() -> None:
    (snippet,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    headers = sent(at=datetime.now(UTC))
    assert 'Webhook("whsec_...").verify(body, headers)' in snippet
    assert Webhook(SECRET).verify(b"{}", headers) == {}


def test_the_headers_of_a_run_lead_to_its_word() -> None:
    headers = sent()
    assert (headers["Postdate-Run-Id"], headers["Postdate-Task-Id"]) == ("run_1", "rtask_1")


def test_statuses_do_what_is_told() -> None:
    assert all(isinstance(answered(status), Delivered) for status in (200, 202, 204, 299))
    for status in (301, 307, 400, 401, 404, 409, 429, 500, 503):
        refused = answered(status)
        assert isinstance(refused, Failed)
        assert refused.retry
    for final in (answered(410), answered(422), answered(503, postdate_retry="never")):
        assert isinstance(final, Failed)
        assert not final.retry
    asked = answered(503, retry_after="7")
    assert isinstance(asked, Failed)
    assert timedelta(seconds=asked.retry_after_seconds or 0) == timedelta(seconds=7)
