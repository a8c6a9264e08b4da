"""Requests that are right, to be made wrong in one place; and what their forms say then."""

import json
from typing import Any

import pytest

from functions.api.forms import Form, parsed
from postdate.domain.errors import ValidationFailed

HOOK = {"type": "webhook", "url": "https://hooks.example.com/a"}
TASK = {"delay_seconds": 5, "target": HOOK}
PAYMENT = {"from_account_id": "a", "to_account_id": "b", "amount": 1, "delay_seconds": 1}


def refused(form: type[Form], body: Any) -> dict[str, str]:
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    with pytest.raises(ValidationFailed) as refusal:
        parsed(form, text)
    return dict(refusal.value.fields)


def wrong_fields(form: type[Form], body: Any) -> set[str]:
    """None if the form takes it."""
    try:
        parsed(form, json.dumps(body))
    except ValidationFailed as refusal:
        return {field for field, _ in refusal.fields}
    return set()
