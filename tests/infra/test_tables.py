import json
from collections.abc import Callable

from cli.commands import recover
from infra.environments import NEVER_EXPIRE
from tests.infra.synthesis import Stacks, Template

TABLES = "AWS::DynamoDB::Table"
KEYS = {
    "items": ["slot", "id"],
    "payments": ["slot", "id"],
    "accounts": ["account"],
    "journal": ["listing", "id"],
    "payloads": ["id"],
    "idempotency": ["key"],
    "tenants": ["tenant"],
    "keys": ["key_id"],
    "data-keys": ["owner"],
    "slots": ["scope", "name"],
    "flow": ["tenant", "name"],
    "events": ["subject", "sequence"],
    "operations": ["operation", "place"],
    "subscriptions": ["tenant", "id"],
    "switches": ["name"],
}


def test_the_tables_have_the_keys_their_stores_use(stacks: Stacks) -> None:
    tables = stacks.properties(TABLES)
    assert {
        name: [key["AttributeName"] for key in each["KeySchema"]] for name, each in tables.items()
    } == KEYS
    for table in tables.values():
        assert {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]} == {"S"}


def test_lists_are_indexes_of_keys_with_two_exceptions(stacks: Stacks) -> None:
    indexes = {
        name: [{key: value for key, value in index.items() if key != "WarmThroughput"} for index in found]
        for name, each in stacks.properties(TABLES).items()
        if (found := each.get("GlobalSecondaryIndexes"))
    }
    assert indexes == {
        "items": [
            index("by_tenant", "tenant_listing", "place"),
            index("by_state", "state_listing", "place"),
            index("by_listing", "listing", "id"),
        ],
        "payments": [
            index("by_tenant", "tenant_listing", "place"),
            index("by_state", "state_listing", "place", having=["payer", "payee"]),
            index("by_listing", "listing", "place"),
            index("by_payee", "payee_listing", "place"),
        ],
        "accounts": [index("by_tenant", "tenant", "account")],
        "keys": [index("by_tenant", "tenant", "key_id")],
        "flow": [index("by_attention", "attention", "tenant")],
        "operations": [
            index("by_tenant", "tenant", "operation"),
            index("by_activity", "active", "operation"),
        ],
        "journal": [
            index("by_payer", "listing", "place", projected="ALL"),
            index("by_payee", "payee_listing", "place", projected="ALL"),
        ],
    }


def index(
    name: str, by: str, then: str, projected: str = "KEYS_ONLY", having: list[str] | None = None
) -> Template:
    keys = {by: "HASH", then: "RANGE"}
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": having}
        if having
        else {"ProjectionType": projected},
    }


def test_every_table_is_on_demand_and_recoverable_to_a_point_in_time(stacks: Stacks) -> None:
    for table in stacks.properties(TABLES).values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_money_and_tenants_never_expire_and_everything_else_does(stacks: Stacks) -> None:
    expiring = {
        name
        for name, each in stacks.properties(TABLES).items()
        if each.get("TimeToLiveSpecification") == {"AttributeName": "expires_at", "Enabled": True}
    }
    assert expiring == KEYS.keys() - {name.replace("_", "-") for name in NEVER_EXPIRE}
    for name in KEYS.keys() - expiring:
        assert "TimeToLiveSpecification" not in stacks.properties(TABLES)[name]


def test_in_prod_and_only_there_data_outlives_an_update_and_its_stack(stacks: Stacks) -> None:
    kept = stacks.environment.name == "prod"
    for kind in (TABLES, "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::KMS::Key"):
        for resource in stacks.all(kind).values():
            assert resource["DeletionPolicy"] == ("RetainExceptOnCreate" if kept else "Delete")
            assert resource["UpdateReplacePolicy"] == ("Retain" if kept else "Delete")


def test_no_table_resists_the_rollback_of_its_own_creation(stacks: Stacks) -> None:
    assert not [table for table in stacks.properties(TABLES).values() if "DeletionProtectionEnabled" in table]


def test_nothing_outlives_the_rollback_of_its_own_creation(stacks: Stacks) -> None:
    """A name that is left behind is taken when the deployment is repeated."""
    for template in (stacks.state, stacks.service):
        policies = {each.get("DeletionPolicy", "Delete") for each in template["Resources"].values()}
        assert policies <= {"Delete", "RetainExceptOnCreate"}


def test_no_stack_pins_what_another_one_has(stacks: Stacks) -> None:
    """CloudFormation refuses to change or remove an export for as long as a stack imports it."""
    for template in (stacks.state, stacks.service):
        assert not [each for each in template["Outputs"].values() if "Export" in each]
        assert "Fn::ImportValue" not in json.dumps(template)


def test_the_stacks_say_where_everything_is(stacks_of: Callable[[str], Stacks]) -> None:
    stacks = stacks_of("local")
    told = {
        name: stacks.text(each["Value"])
        for name, each in stacks.state["Outputs"].items()
        if not name.startswith("PublishOutput")
    }
    assert told == {
        "ItemsTable": "table:items",
        "PaymentsTable": "table:payments",
        "AccountsTable": "table:accounts",
        "JournalTable": "table:journal",
        "PayloadsTable": "table:payloads",
        "IdempotencyTable": "table:idempotency",
        "TenantsTable": "table:tenants",
        "KeysTable": "table:keys",
        "SlotsTable": "table:slots",
        "FlowTable": "table:flow",
        "EventsTable": "table:events",
        "SubscriptionsTable": "table:subscriptions",
        "OperationsTable": "table:operations",
        "SwitchesTable": "table:switches",
        "ArchiveBucket": "bucket:archive-<AWS::AccountId>-<AWS::Region>",
        "DataKeysTable": "table:data-keys",
        "SecretsKeyId": "key:secrets",
        "ReportsBucket": "bucket:reports-<AWS::AccountId>-<AWS::Region>",
        "PayloadsBucket": "bucket:payload-objects-<AWS::AccountId>-<AWS::Region>",
        "TasksQueueUrl": "queue:tasks",
        "SlowQueueUrl": "queue:slow",
        "TasksDlqUrl": "queue:tasks-dlq",
        "PaymentsQueueUrl": "queue:payments",
        "PaymentsDlqUrl": "queue:payments-dlq",
        "TicksQueueUrl": "queue:ticks",
        "TicksDlqUrl": "queue:ticks-dlq",
        "Parameters": "parameters of:parameters/stage:local/profile:parameters",
        "EventsBus": "bus:events",
        "EventsDlqUrl": "queue:events-dlq",
    }
    assert {"ApiUrl", "ApiId"} <= set(stacks.service["Outputs"])


def test_a_table_has_the_warm_throughput_that_its_environment_names(stacks: Stacks) -> None:
    found = {
        name: each["WarmThroughput"]["WriteUnitsPerSecond"]
        for table, each in stacks.properties(TABLES).items()
        for name, each in (
            (table, each),
            *((f"{table}/{index['IndexName']}", index) for index in each.get("GlobalSecondaryIndexes", ())),
        )
        if "WarmThroughput" in each
    }
    assert found == dict(stacks.environment.warm_writes)


def test_every_table_can_be_named_as_restored(stacks: Stacks) -> None:
    assert set(recover.TABLES) == {name.replace("-", "_") for name in stacks.all("AWS::DynamoDB::Table")}
