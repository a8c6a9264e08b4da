"""The tables that tests use are the tables that are deployed."""

from pathlib import Path
from typing import Any

from aws_cdk.assertions import Template

from infra.environments import LOCAL
from infra.state import State
from tests import tables
from tests.infra.synthesis import app


def test_a_test_finds_the_tables_that_the_template_describes(tmp_path: Path) -> None:
    template = Template.from_stack(State(app(tmp_path), environment=LOCAL))
    described = {
        resource["Properties"]["TableName"].removeprefix("postdate-local-").replace("-", "_"): resource[
            "Properties"
        ]
        for resource in template.find_resources("AWS::DynamoDB::Table").values()
    }
    assert described.keys() == tables.KEYS.keys()
    for name, table in described.items():
        assert _compared(table) == _compared(tables.definition(name))


def _compared(table: dict[str, Any]) -> dict[str, Any]:
    attributes = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    asked = {field: table.get(field) for field in ("BillingMode", "KeySchema", "GlobalSecondaryIndexes")}
    return asked | {"attributes": attributes}
