"""Pydantic's findings in our words: a field as the caller wrote it, and what it has to be.

No message names a type of pydantic's or a pattern. A kind of finding without words of its own is "is not valid".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from functions.api.patterns import WORDS
from postdate.domain.errors import ValidationFailed
from postdate.targets.registry import KINDS

INSTANT_WORDS: Final = "is an instant with an offset, such as 2026-11-18T10:05:00Z"
# In the place of a field, the step that leads to the name of a pair instead of its value.
_NAME_OF_PAIR: Final = "[key]"

_PLAIN: Final[Mapping[str, str]] = {
    "missing": "is needed",
    "extra_forbidden": "is not a known field",
    "string_type": "is a text",
    "int_type": "is a whole number",
    "int_from_float": "is a whole number",
    "int_parsing": "is a whole number",
    "int_parsing_size": "is a whole number of fewer digits",
    "float_type": "is a number",
    "finite_number": "is a finite number",
    "bool_type": "is true or false",
    "list_type": "is a list",
    "dict_type": "is an object",
    "model_type": "is an object",
    "model_attributes_type": "is an object",
    "timezone_aware": INSTANT_WORDS,
    "datetime_type": INSTANT_WORDS,
    "datetime_parsing": INSTANT_WORDS,
    "datetime_from_date_parsing": INSTANT_WORDS,
    "datetime_object_invalid": INSTANT_WORDS,
    "union_tag_not_found": "is needed",
}
_WITH_CONTEXT: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "greater_than_equal": lambda told: f"is at least {told['ge']}",
    "less_than_equal": lambda told: f"is at most {told['le']}",
    "string_too_short": lambda told: f"has at least {_count(told['min_length'], 'character')}",
    "string_too_long": lambda told: f"has at most {_count(told['max_length'], 'character')}",
    "too_short": lambda told: f"has at least {_count(told['min_length'], 'entry')}",
    "too_long": lambda told: f"has at most {_count(told['max_length'], 'entry')}",
    "string_pattern_mismatch": lambda told: WORDS[told["pattern"]],
    "enum": lambda told: f"is {_as_json(told['expected'])}",
    "literal_error": lambda told: f"is {_as_json(told['expected'])}",
    "union_tag_invalid": lambda told: f"is one of {told['expected_tags']}",
    "value_error": lambda told: str(told["error"]),
}


def validation_failed(error: ValidationError, within: str = "") -> ValidationFailed:
    found = error.errors(include_url=False, include_input=False)
    return ValidationFailed([_texts(each, within) for each in found])


def _texts(finding: Mapping[str, Any], within: str) -> tuple[str, str]:
    kind, path = finding["type"], list(finding["loc"])
    message = _PLAIN.get(kind) or _WITH_CONTEXT.get(kind, lambda _: "is not valid")(finding.get("ctx", {}))
    if len(path) > 1 and path[0] == "target" and path[1] in KINDS:
        # How pydantic says which kind of target it takes it for: no step of the caller's.
        del path[1]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path.append("type")
    # The name is the caller's text, so no message repeats it.
    if path and path[-1] == _NAME_OF_PAIR:
        path = path[:-2]
        message = f"has a name that is not right: a name {message}"
    return _joined([within, *path] if within else path), message


def _joined(path: Sequence[Any]) -> str:
    return ".".join(map(str, path)) or "body"


def _count(number: int, thing: str) -> str:
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing.removesuffix('y')}{'ies' if thing.endswith('y') else 's'}"


def _as_json(expected: str) -> str:
    return {"True": "true", "False": "false"}.get(expected, expected)
