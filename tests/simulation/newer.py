"""Newer code beside the code as it is, while a deploy goes on: any event may be handled by either.

What it writes has one attribute more, and what it sends one field more and a reason that nobody knew before. Both must
be in nobody's way, and what it wrote must stay. Its API's forms have one field more, which no caller gives. With
`newer_forms` it also writes rows that the code as it is cannot read: crons of every second minute, tasks to one of the
queues, deposits and adjustments. Such a row has to wait for newer code, and nothing else has to. Neither knows a state
or an order of calls that the other does not.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from pydantic import create_model

from functions.api.forms import Form
from tests.simulation.destination import OTHER_QUEUE

ADDED: Final = "later"
_VALUE: Final = {"S": "added"}
_ROWS: Final = frozenset({"sim-items", "sim-payments", "sim-accounts", "sim-journal"})


# The beginnings of texts, and the same beginnings in newer code's form.
_CRON: Final = ('{"cron":"*/', '{"cron":"%*/')
_TARGET: Final = ('{"type":', '{"%type":')
_MOVEMENTS: Final = (("DEPOSIT", "%DEPOSIT"), ("ADJUSTMENT", "%ADJUSTMENT"))


@cache
def form_of_newer_code(form: type[Form]) -> type[Form]:
    return create_model(form.__name__, __base__=form, later=(int, 3))


def asked_by_newer_code(operation: str, asked: dict[str, Any], *, forms: bool) -> dict[str, Any]:
    """The statement that newer code sends instead; with `forms`, in forms of its own."""
    more = _with_more(operation, asked)
    return in_newer_form(more) if forms else more


def told_to_newer_code(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as newer code reads it, in its own forms."""
    return dict(_mapped(answer, in_known_form))


def in_newer_form(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_mapped(dict(row), _in_newer_form))


def in_known_form(text: str) -> str:
    for known, newer in (_CRON, _TARGET, *_MOVEMENTS):
        if text.startswith(newer):
            return known + text.removeprefix(newer)
    return text


def _in_newer_form(text: str) -> str:
    for known, newer in (_CRON, _TARGET, *_MOVEMENTS):
        if text.startswith(known) and (known != _TARGET[0] or OTHER_QUEUE in text):
            return newer + text.removeprefix(known)
    return text


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Each text that is an attribute's value, changed."""
    match value:
        case {"S": str(text)} if len(value) == 1:
            return {"S": change(text)}
        case dict():
            return {name: _mapped(each, change) for name, each in value.items()}
        case list():
            return [_mapped(each, change) for each in value]
        case _:
            return value


def _with_more(operation: str, asked: dict[str, Any]) -> dict[str, Any]:
    match operation:
        case "PutItem":
            return _put(asked)
        case "TransactWriteItems":
            return {**asked, "TransactItems": [_action(each) for each in asked["TransactItems"]]}
        case "BatchExecuteStatement":
            return {**asked, "Statements": [_statement(each) for each in asked["Statements"]]}
        case "ExecuteTransaction":
            return {**asked, "TransactStatements": [_statement(each) for each in asked["TransactStatements"]]}
        case "SendMessage":
            return _message(asked)
        case "SendMessageBatch":
            return {**asked, "Entries": [_message(each) for each in asked["Entries"]]}
        case _:
            return asked


def _action(action: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, asked),) = action.items()
    return {kind: _put(asked) if kind == "Put" else _update(asked)}


def _put(asked: Mapping[str, Any]) -> dict[str, Any]:
    if asked["TableName"] not in _ROWS:
        return dict(asked)
    return {**asked, "Item": {**asked["Item"], ADDED: _VALUE}}


def _update(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **asked,
        "UpdateExpression": asked["UpdateExpression"].replace("SET ", f"SET #{ADDED} = :{ADDED}, ", 1),
        "ExpressionAttributeNames": {**asked["ExpressionAttributeNames"], f"#{ADDED}": ADDED},
        "ExpressionAttributeValues": {**asked["ExpressionAttributeValues"], f":{ADDED}": _VALUE},
    }


def _statement(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A lease that is made longer is no new version, and nothing else is written with it."""
    text = asked["Statement"]
    if text.startswith("INSERT"):
        text = text.replace(" VALUE {", f" VALUE {{'{ADDED}':?,", 1)
    elif ' SET "version"=?' in text:
        text = text.replace(" SET ", f' SET "{ADDED}"=? SET ', 1)
    else:
        return dict(asked)
    return {**asked, "Statement": text, "Parameters": [_VALUE, *asked["Parameters"]]}


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    body = json.loads(given["MessageBody"]) | {ADDED: 1}
    if "via" in body:
        body["via"] = ADDED
    return {**given, "MessageBody": json.dumps(body)}
