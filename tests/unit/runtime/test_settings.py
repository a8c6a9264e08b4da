from dataclasses import dataclass, fields

import pytest

from functions.api.settings import Settings as Api
from functions.authorize.settings import Settings as Authorize
from functions.run_tasks.settings import Settings as RunTasks
from functions.sweep.settings import Settings as Sweep
from postdate.runtime import settings
from postdate.runtime.settings import SettingsInvalid


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    items_table: str
    shards: int
    share: float
    enabled: bool


GIVEN = {"ITEMS_TABLE": "items", "SHARDS": "4", "SHARE": "0.5", "ENABLED": "true", "PATH": "/bin"}


def test_settings_are_read_from_variables_of_their_names():
    read = settings.read(Example, GIVEN)
    assert read == Example(items_table="items", shards=4, share=0.5, enabled=True)
    assert settings.names(Example) == {"ITEMS_TABLE", "SHARDS", "SHARE", "ENABLED"}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_a_switch_is_true_or_false(text, value):
    assert settings.read(Example, GIVEN | {"ENABLED": text}).enabled is value


@pytest.mark.parametrize(
    ("name", "text"), [("ENABLED", "yes"), ("ENABLED", "True"), ("SHARDS", "4.0"), ("SHARE", "x")]
)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_variable(name, text):
    with pytest.raises(SettingsInvalid, match=name):
        settings.read(Example, GIVEN | {name: text})


@pytest.mark.parametrize("name", ["ITEMS_TABLE", "SHARDS", "SHARE", "ENABLED"])
def test_a_missing_variable_is_named(name):
    with pytest.raises(SettingsInvalid, match=name):
        settings.read(Example, {key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize("kind", [Api, Authorize, RunTasks, Sweep], ids=lambda kind: kind.__module__)
def test_every_functions_settings_can_be_read(kind):
    texts = {str: "text", int: "7", bool: "false"}
    read = settings.read(kind, {field.name.upper(): texts[field.type] for field in fields(kind)})
    assert {type(getattr(read, field.name)) for field in fields(kind)} <= {str, int, bool}
