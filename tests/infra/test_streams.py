from tests.infra.permissions import GRANTED
from tests.infra.synthesis import Stacks
from tests.infra.test_permissions import WRITES, grants

MAPPINGS = "AWS::Lambda::EventSourceMapping"
FOLLOWED = {
    *("items", "payments", "accounts", "keys", "tenants", "subscriptions", "flow", "operations"),
    "switches",
}
FILTERED = {"accounts", "flow", "operations"}


def test_the_tables_whose_changes_are_events_tell_the_row_before_and_after(stacks: Stacks) -> None:
    streams = {
        name: each["StreamSpecification"]["StreamViewType"]
        for name, each in stacks.properties("AWS::DynamoDB::Table").items()
        if "StreamSpecification" in each
    }
    assert streams == dict.fromkeys(FOLLOWED, "NEW_AND_OLD_IMAGES")


def test_a_stream_is_read_from_its_begin_and_a_record_at_fault_stops_no_other(stacks: Stacks) -> None:
    mappings = {
        stacks.text(each["EventSourceArn"]): each
        for each in stacks.properties(MAPPINGS).values()
        if "StartingPosition" in each
    }
    assert set(mappings) == {f"stream:{name}" for name in FOLLOWED}
    for mapping in mappings.values():
        assert stacks.text(mapping["FunctionName"]) == "function:record"
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["BisectBatchOnFunctionError"] is True
        assert mapping["MaximumRetryAttempts"] == 100
        assert stacks.text(mapping["DestinationConfig"]["OnFailure"]["Destination"]) == "queue:events-dlq"
        # One worker a shard keeps the changes of a row in their order, and no change waits for others.
        assert "ParallelizationFactor" not in mapping
        assert "MaximumBatchingWindowInSeconds" not in mapping


def test_no_role_changes_what_is_recorded_and_the_erasure_alone_removes_it(stacks: Stacks) -> None:
    """An insert is refused where a row exists. Only the recorder has even that."""
    allowed = {"record": {"dynamodb:PartiQLInsert"}, "erase": {"dynamodb:DeleteItem"}}
    for role in GRANTED:
        assert WRITES & grants(stacks, role)["table:events"] == allowed.get(role, set())
