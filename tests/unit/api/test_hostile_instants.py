"""Instants at the edges of the calendar: refused by name in every form and every query."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.forms import Form, instant_of, parsed
from functions.api.payments.forms import PaymentChangeForm, PaymentForm
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.recurring.forms import BackfillForm, PreviewForm, RecurringChangeForm
from postdate.domain.errors import ValidationFailed
from tests.unit.api.asking import HOOK, PAYMENT, refused, wrong_fields

INSTANTS: list[tuple[type[Form], dict[str, Any], str]] = [
    (TaskForm, {"target": HOOK}, "run_at"),
    (TaskForm, {"cron": "@daily", "target": HOOK}, "start_at"),
    (TaskForm, {"cron": "@daily", "target": HOOK}, "end_at"),
    (RecurringChangeForm, {}, "start_at"),
    (RecurringChangeForm, {}, "end_at"),
    (PaymentForm, {name: PAYMENT[name] for name in PAYMENT if name != "delay_seconds"}, "scheduled_time"),
    (PaymentChangeForm, {}, "scheduled_time"),
    (BackfillForm, {"to": "2026-01-01T00:00:00Z"}, "from"),
    (BackfillForm, {"from": "2026-01-01T00:00:00Z"}, "to"),
    (PreviewForm, {"cron": "@daily"}, "from"),
]
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
OUTSIDE = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00+00:01",
    "2200-01-01T00:00:00.000001Z",
    "2199-12-31T23:59:59-00:01",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-14:00",
]


@pytest.mark.parametrize("instant", OUTSIDE)
@pytest.mark.parametrize(
    ("form", "body", "field"), INSTANTS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_an_instant_outside_1970_to_2200_is_refused_everywhere(
    form: type[Form], body: dict[str, Any], field: str, instant: str
) -> None:
    assert refused(form, body | {field: instant}) == {field: "is an instant from 1970 to 2200"}


@pytest.mark.parametrize("instant", OUTSIDE)
def test_an_instant_of_a_query_has_the_same_bounds(instant: str) -> None:
    with pytest.raises(ValidationFailed, match="until: is an instant from 1970 to 2200"):
        instant_of("until", instant)


@pytest.mark.parametrize("form_body_field", INSTANTS, ids=lambda each: each[2])
@given(at=st.datetimes(timezones=st.timezones()), seconds=st.integers(-86_340, 86_340))
def test_no_instant_breaks_a_form(form_body_field: Any, at: datetime, seconds: int) -> None:
    form, body, field = form_body_field
    zoned = at.replace(microsecond=0, tzinfo=None).isoformat()
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    offset = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    wrong = wrong_fields(form, body | {field: zoned + offset})
    assert wrong <= {field}
    assert wrong or FIRST <= datetime.fromisoformat(zoned + offset) <= LAST


def test_the_bounds_of_an_instant_are_allowed() -> None:
    for instant in (FIRST, LAST):
        assert instant_of("until", instant.isoformat()) == instant
        assert (
            parsed(PreviewForm, json.dumps({"cron": "@daily", "from": instant.isoformat()})).from_ == instant
        )
