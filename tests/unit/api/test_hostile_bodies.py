"""Bodies that an attacker sends: each is refused by name, in words of ours, and in an answer of a bounded size."""

import json
import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from functions.api.accounts.forms import AccountForm, AdjustmentForm
from functions.api.errors import problem
from functions.api.findings import validation_failed
from functions.api.forms import ENTRIES_MAX, Form, parsed, part_of_batch
from functions.api.payments.forms import BatchPaymentForm, PaymentChangeForm, PaymentForm
from functions.api.reference import schemas
from functions.api.runs.forms import CompleteForm
from functions.api.tasks.forms import BatchTaskForm, TaskForm
from functions.api.tasks.recurring.forms import PreviewForm, RecurringChangeForm
from postdate.domain.errors import Malformed, NotFound, PostdateError, ValidationFailed
from postdate.targets.registry import KINDS
from tests.unit.api.asking import HOOK, PAYMENT, TASK, refused

CHANGE = {"description": "text"}


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)


def with_a_name_twice(draw: Any, value: Any) -> str:
    """The value as JSON in which one object, somewhere, gives a name twice; the second time perhaps escaped."""
    if isinstance(value, list) and value:
        place = draw(st.integers(0, len(value) - 1))
        items = [
            with_a_name_twice(draw, each) if at == place else json.dumps(each)
            for at, each in enumerate(value)
        ]
        return f"[{','.join(items)}]"
    crowd = value if isinstance(value, dict) and value else {"a": 1}
    pairs = [(json.dumps(name), json.dumps(each)) for name, each in crowd.items()]
    again = draw(st.sampled_from(pairs))[0]
    if draw(st.booleans()):
        again = '"' + "".join(f"\\u{unit:04x}" for unit in utf16(json.loads(again))) + '"'
    return "{" + ",".join(f"{name}:{each}" for name, each in [*pairs, (again, "null")]) + "}"


def utf16(text: str) -> list[int]:
    sent = text.encode("utf-16-be")
    return [sent[at] << 8 | sent[at + 1] for at in range(0, len(sent), 2)]


@given(st.data(), VALUES.filter(lambda value: isinstance(value, dict | list)))
def test_a_name_that_is_given_twice_makes_a_body_malformed_however_deep(
    data: st.DataObject, value: Any
) -> None:
    twice = with_a_name_twice(data.draw, value)
    body = f'{{"delay_seconds":5,"target":{json.dumps(HOOK)},"payload":{twice}}}'
    with pytest.raises(Malformed, match="gives a name twice"):
        parsed(TaskForm, body)


@given(VALUES)
def test_any_other_payload_passes_as_it_is(value: Any) -> None:
    assert parsed(TaskForm, json.dumps(TASK | {"payload": value})).payload == value


def test_the_second_amount_does_not_count() -> None:
    for body in ('{"amount":1,"amount":2}', '{"amount":1,"\\u0061mount":2}'):
        with pytest.raises(Malformed):
            parsed(PaymentChangeForm, body)


@pytest.mark.parametrize("field", ["cron", "timezone"])
def test_an_empty_text_is_no_cron_and_no_zone(field: str) -> None:
    words = {field: "has at least 1 character"}
    assert refused(RecurringChangeForm, {field: ""}) == words
    assert refused(TaskForm, {"cron": "@daily", "target": HOOK} | {field: ""}) == words
    assert refused(PreviewForm, {"cron": "@daily"} | {field: ""}) == words


def wrong_bodies() -> list[Any]:
    """Each field of each form, with a value of each kind that is not right somewhere."""
    values = [
        "",
        "x",
        "x" * 2000,
        -1,
        0,
        10**20,
        10**400,
        1.5,
        1e999,
        True,
        None,
        [],
        [1],
        ["\u00d7"],
        {},
        {"": 1},
        {"type": "x"},
    ]
    names = {
        field.alias or name
        for form in [*schemas.FORMS, *Form.__subclasses__()]
        for name, field in form.model_fields.items()
    }
    return [*values, *({name: value} for name in sorted(names) for value in values)]


# Pydantic's own phrases begin with these words; the others are its names of types and of ours.
FOREIGN = re.compile(
    r"\b(Input|String|Value|Field|List|Dictionary|Object|Unable|Extra|Datetime|Tuple|Decimal|URL|Assertion) |"
    r"pydantic|constrained|instance of|pattern|[a-z]Form\b|\^|\\x|tagged-union|\[key\]|function-|True|False|None"
)


@pytest.mark.parametrize("form", [*schemas.FORMS, *Form.__subclasses__()], ids=lambda form: form.__name__)
def test_no_refusal_names_a_type_of_pydantics_or_a_pattern(form: type[Form]) -> None:
    for body in wrong_bodies():
        for wrong in (body, TASK | body if isinstance(body, dict) else body):
            try:
                parsed(form, json.dumps(wrong))
            except PostdateError as refusal:
                for field, message in getattr(refusal, "fields", ()):
                    assert not FOREIGN.search(f"{field} {message}"), (wrong, field, message)
                    assert not message.endswith("is not valid"), (wrong, field, message)


def test_every_kind_of_finding_has_words_of_ours() -> None:
    """Also the kinds that no form of today leads to: they are told as not valid."""
    with pytest.raises(ValidationError) as error:
        parsed_kind_of_tomorrow()
    assert validation_failed(error.value).fields == (("body", "is not valid"),)


def parsed_kind_of_tomorrow() -> None:
    TypeAdapter(UUID).validate_json('"no uuid"')


@pytest.mark.parametrize(
    ("form", "body", "told"),
    [
        (
            TaskForm,
            TASK | {"target": {"type": "ftp"}},
            {"target.type": f"is one of {str(tuple(KINDS))[1:-1]}"},
        ),
        (TaskForm, TASK | {"target": {}}, {"target.type": "is needed"}),
        (TaskForm, TASK | {"target": HOOK | {"headers": {"sqs": 1}}}, {"target.headers.sqs": "is a text"}),
        (TaskForm, TASK | {"overlap": "maybe"}, {"overlap": "is 'skip', 'allow' or 'queue'"}),
        (TaskForm, TASK | {"timeout_seconds": 1.5}, {"timeout_seconds": "is a whole number"}),
        (TaskForm, TASK | {"timeout_seconds": 901}, {"timeout_seconds": "is at most 900"}),
        (TaskForm, TASK | {"tags": ["t"] * 11}, {"tags": "has at most 10 entries"}),
        (AdjustmentForm, {"to_journal": False, "reason": "r"}, {"to_journal": "is true"}),
        (PaymentForm, PAYMENT | {"metadata": {"webhook": 1}}, {"metadata.webhook": "is a text"}),
        (
            PaymentForm,
            PAYMENT | {"metadata": {"k" * 41: "v"}},
            {"metadata": "has a name that is not right: a name has at most 40 characters"},
        ),
        (
            CompleteForm,
            {"token": "seven"},
            {"token": "must be the token of a delivery: a number of at most nine digits"},
        ),
        (
            CompleteForm,
            {"token": "٣"},
            {"token": "must be the token of a delivery: a number of at most nine digits"},
        ),
        (CompleteForm, {"token": 1.5}, {"token": "is a whole number"}),
        (
            AccountForm,
            {"account_id": "a", "limits": {"amount_min": 2, "amount_max": 1}},
            {"limits": "has an amount_min above its amount_max"},
        ),
    ],
)
def test_a_refusal_names_the_field_that_is_wrong(form: type[Form], body: Any, told: dict[str, str]) -> None:
    assert refused(form, body) == told


def test_a_crowd_of_wrong_fields_is_refused_as_one() -> None:
    crowd = {f"f{number}": 0 for number in range(ENTRIES_MAX + 1)}
    told = f"has more than {ENTRIES_MAX} entries"
    assert refused(PaymentForm, crowd) == {"body": told}
    assert refused(PaymentForm, PAYMENT | {"metadata": crowd}) == {"metadata": told}
    assert refused(TaskForm, TASK | {"target": HOOK | {"headers": crowd}}) == {"target.headers": told}
    assert refused(TaskForm, TASK | {"tags": list(crowd)}) == {"tags": told}
    with pytest.raises(ValidationFailed, match="metadata: has more"):
        part_of_batch(BatchPaymentForm, PAYMENT | {"metadata": crowd})


def test_a_payload_may_have_as_many_entries_as_it_likes() -> None:
    crowd = {f"f{number}": 0 for number in range(ENTRIES_MAX + 1)}
    assert parsed(TaskForm, json.dumps(TASK | {"payload": crowd})).payload == crowd
    assert part_of_batch(BatchTaskForm, TASK | {"payload": crowd}).payload == crowd
    nested = {"target": HOOK | {"payload": crowd}}
    assert refused(TaskForm, TASK | nested) == {"target.payload": f"has more than {ENTRIES_MAX} entries"}


@given(st.dictionaries(st.text(min_size=1, max_size=2000), st.integers(), min_size=30, max_size=60))
def test_an_answer_tells_twenty_problems_at_most_and_each_is_cut(unknown: dict[str, int]) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        parsed(PaymentForm, json.dumps(unknown))
    told = problem(refusal.value, "r-1")
    assert len(told["errors"]) == 20
    assert f"(and {len(refusal.value.fields) - 20} more)" in told["detail"]
    assert len(json.dumps(told, ensure_ascii=False).encode()) < 20_000


def test_a_detail_that_repeats_what_was_sent_is_cut() -> None:
    told = problem(NotFound(f"there is no task {'x' * 10_000}"), "r-1")
    assert len(told["detail"]) == 500
    assert told["detail"].endswith("…")
