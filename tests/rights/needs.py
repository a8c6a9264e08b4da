"""The rights that a call of AWS needs, by the names of IAM, of the golden list's resources and of AWS's own rules.

https://docs.aws.amazon.com/service-authorization/latest/reference/ lists them. A batch, a transaction or a
statement needs the right of each row that it names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests import partiql
from tests.infra.permissions import (
    ARCHIVE,
    ARCHIVE_OBJECTS,
    BUSES,
    ERASING_MACHINE,
    EXECUTIONS,
    MACHINE,
    OBJECTS,
    PARAMETERS,
    QUEUES,
    READER,
    REPORT_OBJECTS,
    REPORTS,
    TOPICS,
)

# The prefix that the tests' worlds put before each name.
_PREFIX: Final = re.compile(r"^integration-\d+-")
_STATEMENTS: Final = {"BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
_IN_BATCHES: Final = {
    "SendMessageBatch": "SendMessage",
    "DeleteMessageBatch": "DeleteMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
    "PublishBatch": "Publish",
}
_DESTINATION: Final = "postdate-destination-*"
_PARTITION: Final = re.compile(r"\(*(#?\w+) = (:\w+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """`attributes` are those that a write names, `leading` the partition key of one row or the name of an object,
    `owner` the one whose data key is used."""

    action: str
    resource: str
    in_transaction: bool = False
    attributes: frozenset[str] = field(default=frozenset(), compare=False)
    leading: str = field(default="", compare=False)
    owner: str = ""


def needs(service: str, operation: str, asked: Mapping[str, Any]) -> Iterator[Need]:
    match service:
        case "dynamodb":
            yield from _of_dynamodb(operation, asked)
        case "sqs":
            action = f"sqs:{_IN_BATCHES.get(operation, operation)}"
            yield Need(action=action, resource=_queue(asked["QueueUrl"]))
        case "sns":
            yield Need(action=f"sns:{_IN_BATCHES.get(operation, operation)}", resource=TOPICS + _DESTINATION)
        case "events":
            for bus in {each.get("EventBusName", "default") for each in asked["Entries"]}:
                own = bus.endswith("-events")
                yield Need(
                    action=f"events:{operation}", resource="bus:events" if own else BUSES + _DESTINATION
                )
        case "kms":
            owner = asked["EncryptionContext"]["owner"]
            yield Need(action=f"kms:{operation}", resource="key:secrets", owner=owner)
        case "s3":
            yield _of_s3(operation, asked["Bucket"], asked.get("Key", ""))
        case "stepfunctions":
            if "executionArn" in asked:
                yield Need(action=f"states:{operation}", resource=EXECUTIONS)
                return
            erases = str(asked.get("stateMachineArn", "")).endswith("erase")
            yield Need(action=f"states:{operation}", resource=ERASING_MACHINE if erases else MACHINE)
        case "sts":
            yield Need(action=f"sts:{operation}", resource=READER)
        case "appconfigdata":
            yield Need(action=f"appconfig:{operation}", resource=PARAMETERS)
        case "cloudwatch":
            yield Need(action=f"cloudwatch:{operation}", resource="*")
        case _:
            raise ValueError(f"no rights are known of {service} {operation}")


def _of_dynamodb(operation: str, asked: Mapping[str, Any]) -> Iterator[Need]:
    if operation in _STATEMENTS:
        for statement in asked[_STATEMENTS[operation]]:
            verb = statement["Statement"].split(" ", 1)[0].title()
            yield Need(action=f"dynamodb:PartiQL{verb}", resource=_table(partiql.table_of(statement)))
    elif operation == "TransactWriteItems":
        for item in asked["TransactItems"]:
            ((kind, each),) = item.items()
            action = "ConditionCheckItem" if kind == "ConditionCheck" else f"{kind}Item"
            yield Need(
                action=f"dynamodb:{action}",
                resource=_table(each["TableName"]),
                in_transaction=True,
                attributes=_attributes(each),
            )
    elif "RequestItems" in asked:
        for table in asked["RequestItems"]:
            yield Need(action=f"dynamodb:{operation}", resource=_table(table))
    else:
        index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
        yield Need(
            action=f"dynamodb:{operation}",
            resource=_table(asked["TableName"]) + index,
            attributes=_attributes(asked),
            leading=_leading(asked),
        )


def _leading(asked: Mapping[str, Any]) -> str:
    """The partition key of the table `slots`; empty for rows of other tables."""
    named = asked.get("ExpressionAttributeNames", {})
    found = _PARTITION.match(asked.get("KeyConditionExpression", ""))
    if found and named.get(found[1], found[1]) == "scope":
        return str(asked["ExpressionAttributeValues"][found[2]]["S"])
    return str((asked.get("Key") or asked.get("Item") or {}).get("scope", {}).get("S", ""))


def _attributes(asked: Mapping[str, Any]) -> frozenset[str]:
    names = asked.get("ExpressionAttributeNames", {}).values()
    return frozenset({*asked.get("Item", {}), *asked.get("Key", {}), *names})


def _table(name: str) -> str:
    return "table:" + _PREFIX.sub("", name).removesuffix("-restored").replace("_", "-")


def _queue(url: str) -> str:
    name = url.rpartition("/")[2]
    return f"queue:{_PREFIX.sub('', name)}" if _PREFIX.match(name) else QUEUES + _DESTINATION


def _of_s3(operation: str, bucket: str, key: str) -> Need:
    if operation.startswith("ListObjects"):
        return Need(action="s3:ListBucket", resource=REPORTS if "reports" in bucket else ARCHIVE)
    action = "s3:GetObject" if operation == "HeadObject" else f"s3:{operation}"
    return Need(action=action, resource=_objects(bucket), leading=key)


def _objects(bucket: str) -> str:
    if "reports" in bucket:
        return REPORT_OBJECTS
    return ARCHIVE_OBJECTS if "archive" in bucket or "retention" in bucket else OBJECTS
