"""Texts that people read: what cannot be seen in them is refused, what people write passes."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.accounts.forms import AdjustmentForm, DepositForm
from functions.api.forms import Form, parsed
from functions.api.payments.forms import PaymentChangeForm, PaymentForm
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.recurring.forms import PauseForm, RecurringChangeForm
from tests.unit.api.asking import PAYMENT, TASK, refused, wrong_fields

CHANGE = {"description": "text"}
UNSEEN = {
    "NUL": "\x00",
    "a bell": "\x07",
    "an escape": "\x1b",
    "a line break": "\n",
    "DEL": "\x7f",
    "NEL": "\x85",
    "a soft hyphen": "\xad",
    "a grapheme joiner": "\u034f",
    "an Arabic letter mark": "\u061c",
    "a Hangul filler": "\u115f",
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a left-to-right mark": "\u200e",
    "a right-to-left mark": "\u200f",
    "a line separator": "\u2028",
    "a paragraph separator": "\u2029",
    "a right-to-left override": "\u202e",
    "a word joiner": "\u2060",
    "an isolate": "\u2066",
    "another Hangul filler": "\u3164",
    "a selector": "\ufe01",
    "a byte order mark": "\ufeff",
    "a half-width filler": "\uffa0",
    "a tag": "\U000e0041",
    "a selector of the second hundred": "\U000e0101",
}
# Form, a request that is right, and where in it a text for people stands.
TEXTS: list[tuple[type[Form], dict[str, Any], str]] = [
    (TaskForm, TASK, "name"),
    (TaskForm, TASK, "tags.0"),
    (TaskForm, TASK | {"flow_control": {"key": "k", "rate": 1}}, "flow_control.key"),
    (TaskForm, TASK | {"target": {"type": "eventbridge", "bus": "b"}}, "target.detail_type"),
    (RecurringChangeForm, CHANGE | {"name": "n"}, "name"),
    (RecurringChangeForm, {}, "tags.0"),
    (PauseForm, {}, "reason"),
    (AdjustmentForm, {"amount": 1}, "reason"),
    (PaymentForm, PAYMENT, "description"),
    (PaymentForm, PAYMENT, "metadata.order"),
    (PaymentChangeForm, {}, "description"),
    (PaymentChangeForm, {}, "metadata.order"),
    (DepositForm, {"amount": 1}, "reference"),
    (DepositForm, {"amount": 1}, "description"),
    (DepositForm, {"amount": 1}, "metadata.order"),
]


def with_text(body: dict[str, Any], place: str, text: str) -> dict[str, Any]:
    first, _, rest = place.partition(".")
    if rest == "0":
        return body | {first: [text]}
    if rest:
        return body | {first: body.get(first, {}) | {rest: text}}
    return {name: value for name, value in body.items() if name != "description"} | {first: text}


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize(
    ("form", "body", "place"), TEXTS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_text_that_people_read_has_no_character_that_cannot_be_seen(
    form: type[Form], body: dict[str, Any], place: str, char: str
) -> None:
    assert list(refused(form, with_text(body, place, f"a{char}b"))) == [place]


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN)
def test_a_name_of_metadata_has_none_either(char: str) -> None:
    assert list(refused(PaymentForm, PAYMENT | {"metadata": {f"a{char}": "v"}})) == ["metadata"]


@pytest.mark.parametrize(
    "text", ["Miete für März", "家賃", "إيجار", "₹ & £", "❤\ufe0f", "a\u0301", "1\xa02", "🐈"]
)
@pytest.mark.parametrize(
    ("form", "body", "place"), TEXTS[:2] + TEXTS[8:9], ids=["name", "tag", "description"]
)
def test_texts_that_people_write_pass(form: type[Form], body: dict[str, Any], place: str, text: str) -> None:
    parsed(form, json.dumps(with_text(body, place, text)))


@given(st.text(min_size=1, max_size=20))
def test_a_name_passes_exactly_if_all_of_it_can_be_seen(text: str) -> None:
    """By Unicode's own categories; the table of ignorable characters adds to them."""
    hidden = any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} for char in text)
    wrong = wrong_fields(TaskForm, TASK | {"name": text})
    assert wrong <= {"name"}
    assert wrong or not hidden
