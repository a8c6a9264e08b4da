from collections.abc import Callable

from tests.infra.synthesis import Stacks

TABLES = "AWS::DynamoDB::Table"
KEYS = {
    "items": ["slot", "id"],
    "payloads": ["id"],
    "idempotency": ["key"],
    "tenants": ["tenant"],
    "keys": ["key_id"],
    "slots": ["scope", "name"],
}


def test_the_tables_have_the_keys_their_stores_use(stacks: Stacks) -> None:
    tables = stacks.properties(TABLES)
    assert {
        name: [key["AttributeName"] for key in each["KeySchema"]] for name, each in tables.items()
    } == KEYS
    for table in tables.values():
        assert {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]} == {"S"}


def test_the_listing_is_an_index_of_keys(stacks: Stacks) -> None:
    indexes = {
        name: each["GlobalSecondaryIndexes"]
        for name, each in stacks.properties(TABLES).items()
        if "GlobalSecondaryIndexes" in each
    }
    assert indexes == {
        "items": [
            {
                "IndexName": "by_listing",
                "KeySchema": [
                    {"AttributeName": "listing", "KeyType": "HASH"},
                    {"AttributeName": "id", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ]
    }


def test_every_table_is_on_demand_and_recoverable_to_a_point_in_time(stacks: Stacks) -> None:
    for table in stacks.properties(TABLES).values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_rows_expire_everywhere_but_among_the_tenants(stacks: Stacks) -> None:
    expiring = {
        name
        for name, each in stacks.properties(TABLES).items()
        if each.get("TimeToLiveSpecification") == {"AttributeName": "expires_at", "Enabled": True}
    }
    assert expiring == KEYS.keys() - {"tenants"}
    assert "TimeToLiveSpecification" not in stacks.properties(TABLES)["tenants"]


def test_in_prod_and_only_there_what_must_survive_does(stacks: Stacks) -> None:
    kept = stacks.environment.name == "prod"
    for table in stacks.properties(TABLES).values():
        assert table["DeletionProtectionEnabled"] is kept
    for resource in [*stacks.all(TABLES).values(), *stacks.all("AWS::SQS::Queue").values()]:
        assert (
            resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == ("Retain" if kept else "Delete")
        )


def test_the_stacks_say_where_everything_is(stacks_of: Callable[[str], Stacks]) -> None:
    stacks = stacks_of("local")
    told = {
        name: stacks.text(each["Value"])
        for name, each in stacks.state["Outputs"].items()
        if "Export" not in each
    }
    assert told == {
        "ItemsTable": "table:items",
        "PayloadsTable": "table:payloads",
        "IdempotencyTable": "table:idempotency",
        "TenantsTable": "table:tenants",
        "KeysTable": "table:keys",
        "SlotsTable": "table:slots",
        "TasksQueueUrl": "queue:tasks",
        "TasksDlqUrl": "queue:tasks-dlq",
        "TicksQueueUrl": "queue:ticks",
        "TicksDlqUrl": "queue:ticks-dlq",
    }
    assert {"ApiUrl", "ApiId"} <= set(stacks.service["Outputs"])
