"""The document of parameters as people write it: its schema, its page, and its check with line numbers.

All three are made from the description in postdate.domain.parameters.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from json.decoder import JSONDecoder
from typing import Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from cli.failure import Failure
from postdate.domain.described import CHOICE, INTEGER, NAMES_MAX
from postdate.domain.parameters import DEFAULTS

Path = tuple[str | int, ...]
_STRICT: Final = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
_BLANKS: Final = " \t\n\r"
_WORDS: Final = {"extra_forbidden": "there is no such parameter"}


Tenant = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]


def _form(usual: Any) -> type[BaseModel]:
    """The pydantic model of a section, which has these defaults."""
    asked: dict[str, Any] = {}
    for each in fields(usual):
        default = getattr(usual, each.name)
        if is_dataclass(each.type):
            inner = _form(default)
            asked[each.name] = (inner, Field(default_factory=inner))
        else:
            asked[each.name] = (_type(each.metadata), _field(default, each.metadata))
    return create_model(type(usual).__name__, __config__=_STRICT, __doc__=type(usual).__doc__, **asked)


def _type(rules: Mapping[str, Any]) -> Any:
    if rules["kind"] == CHOICE:
        return Literal[rules["among"]]
    return int if rules["kind"] == INTEGER else list[Tenant]


def _field(default: Any, rules: Mapping[str, Any]) -> Any:
    if rules["kind"] == CHOICE:
        return Field(default, description=rules["meaning"])
    if rules["kind"] == INTEGER:
        return Field(default, ge=rules["least"], le=rules["most"], description=rules["meaning"])
    return Field(list(default), max_length=NAMES_MAX, description=rules["meaning"])


FORM: Final = _form(DEFAULTS)


def checked(text: str) -> dict[str, Any]:
    """Returns the document. Raises Failure, with the line of each error."""
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise Failure(f"line {error.lineno}: {error.msg}") from None
    lines = _lines(text)
    try:
        FORM.model_validate(given)
    except ValidationError as invalid:
        raise Failure("\n".join(_told(each, lines) for each in invalid.errors())) from None
    return cast(dict[str, Any], given)


def schema() -> dict[str, Any]:
    """The schema for AppConfig, which reads draft 4."""
    text = json.dumps(FORM.model_json_schema()).replace("$defs", "definitions")
    return {"$schema": "http://json-schema.org/draft-04/schema#", **json.loads(text)}


def page() -> str:
    """docs/parameters.md."""
    rows = [
        f"| `{name}` | {_text(rules['usual'])} | {_allowed(rules)} | {rules['meaning']} |"
        for name, rules in described()
    ]
    return _PAGE.format(rows="\n".join(rows))


def described(section: Any = DEFAULTS, before: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each parameter by its name from the root, with its default and its rules."""
    for each in fields(section):
        name, usual = f"{before}{each.name}", getattr(section, each.name)
        if is_dataclass(each.type):
            yield from described(usual, f"{name}.")
        else:
            yield name, {"usual": list(usual) if isinstance(usual, tuple) else usual, **each.metadata}


def _text(usual: Any) -> str:
    return "none" if usual == [] else str(usual)


def _allowed(rules: Mapping[str, Any]) -> str:
    if rules["kind"] == CHOICE:
        return ", ".join(rules["among"])
    if rules["kind"] == INTEGER:
        return f"{rules['least']} to {rules['most']}"
    return f"up to {NAMES_MAX} tenants"


def _told(error: Mapping[str, Any], lines: Mapping[Path, int]) -> str:
    path: Path = tuple(error["loc"])
    known = path
    while known not in lines:
        known = known[:-1]
    name = ".".join(map(str, path)) or "the document"
    message = _WORDS.get(error["type"], f"{error['msg'][:1].lower()}{error['msg'][1:]}")
    return f"line {lines[known]}: {name}: {message}"


def _lines(text: str) -> dict[Path, int]:
    """The line of each name and of each entry of a list, in a text that is JSON. Raises Failure for a name that stands
    twice: readers differ in which of the two counts."""
    places: dict[Path, int] = {(): 1}

    def blank(at: int) -> int:
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        return at

    def noted(path: Path, at: int) -> None:
        line = text.count("\n", 0, at) + 1
        if path in places:
            raise Failure(f"line {line}: {'.'.join(map(str, path))}: the name stands twice")
        places[path] = line

    def value(at: int, path: Path) -> int:
        """The place after the value that begins here."""
        at = blank(at)
        if text[at] not in "{[":
            return JSONDecoder().raw_decode(text, at)[1]
        named, index, at = text[at] == "{", 0, blank(at + 1)
        while text[at] not in "}]":
            # An error tells the line of the name, not that of its value.
            begin, step = at, cast(str | int, index)
            if named:
                step, at = JSONDecoder().raw_decode(text, at)
                at = blank(at) + 1
            noted((*path, step), begin)
            at = blank(value(at, (*path, step)))
            at, index = blank(at + 1) if text[at] == "," else at, index + 1
        return at + 1

    value(0, ())
    return places


_PAGE: Final = """\
# Parameters

Operators change these values while the service runs. This page is made from `shared/postdate/domain/parameters.py`.
Edit that file, then run `GOLDEN=write .venv/bin/pytest tests/unit/cli/test_parameters.py`.

| parameter | default | allowed | meaning |
|---|---|---|---|
{rows}

A document names only the parameters that differ from their defaults:

```json
{{"registering": {{"batch_max": 50}}}}
```

`postdate config` shows and changes the document of an environment ([runbook](runbook.md#change-a-parameter)).
[0135](decisions/0135-parameters.md) has the reasons.
"""
