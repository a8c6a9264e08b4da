"""Rights of the functions' own roles on rows of money, tried on the running stack."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

import boto3
import pytest
from botocore.exceptions import ClientError

from postdate.domain.slots import home
from tests.e2e.conftest import RunningStack

# By the local engine; it checks statements under the name of their request, and on no table.
DENIED: Final = "AccessDeniedException"
NOT_HELD: Final = "TransactionCanceledException"
FUNCTIONS: Final = ("api", "authorize", "run-tasks", "settle", "sweep")
Write = Callable[[Any, str, dict[str, Any]], Any]

WRITES: Final[dict[str, Write]] = {
    "put": lambda client, table, key: client.put_item(TableName=table, Item=key),
    "update": lambda client, table, key: client.update_item(TableName=table, Key=key),
    "delete": lambda client, table, key: client.delete_item(TableName=table, Key=key),
    "batch": lambda client, table, key: client.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": key}}]}
    ),
    "transaction": lambda client, table, key: client.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": table,
                    "Key": key,
                    "UpdateExpression": "SET #status = :status",
                    "ConditionExpression": "attribute_not_exists(id)",
                    "ExpressionAttributeNames": {"#status": "status"},
                    "ExpressionAttributeValues": {":status": {"S": "PENDING"}},
                }
            }
        ]
    ),
}


@contextmanager
def acting_as(stack: RunningStack, function: str) -> Iterator[Any]:
    """A client of DynamoDB with the rights of this function's role, and no others."""
    iam, functions = stack.aws("iam"), stack.aws("lambda")
    arn = functions.get_function_configuration(FunctionName=f"postdate-local-{function}")["Role"]
    role, user = arn.rpartition("/")[2], f"as-{function}-{uuid4().hex[:8]}"
    iam.create_user(UserName=user)
    policies = iam.list_role_policies(RoleName=role)["PolicyNames"]
    for name in policies:
        document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        iam.put_user_policy(UserName=user, PolicyName=name, PolicyDocument=json.dumps(document))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name="us-east-1")
    client = session.client("dynamodb", endpoint_url=stack.endpoint_url)
    try:
        yield client
    finally:
        client.close()
        iam.delete_access_key(UserName=user, AccessKeyId=key["AccessKeyId"])
        for name in policies:
            iam.delete_user_policy(UserName=user, PolicyName=name)
        iam.delete_user(UserName=user)


@pytest.fixture(scope="module")
def payment(stack: RunningStack) -> dict[str, Any]:
    """The key of a payment that was cancelled."""
    client, admin = stack.client(), stack.client(stack.admin_key)
    names = [f"rights-{uuid4().hex[:8]}-{side}" for side in ("payer", "payee")]
    for name in names:
        admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
    form = {
        "from_account_id": names[0],
        "to_account_id": names[1],
        "amount": 1,
        "delay_seconds": 900,
        "funding": "at_execution",
    }
    id = client.post("/api/v1/payments/schedule", form, idempotency_key=names[0]).expect(201)["payment_id"]
    client.post(f"/api/v1/payments/{id}/cancel", {}).expect(200)
    return {"slot": {"S": home(id).key}, "id": {"S": id}}


def refusal(write: Write, client: Any, table: str, key: dict[str, Any]) -> str:
    with pytest.raises(ClientError) as refused:
        write(client, table, key)
    return str(refused.value.response["Error"]["Code"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_payment_is_written_in_transactions_of_two_functions_and_in_no_other_way(
    stack: RunningStack, payment: dict[str, Any], function: str
) -> None:
    may = {"transaction"} if function in ("api", "settle") else set()
    with acting_as(stack, function) as client:
        told = {
            name: refusal(write, client, stack.tables["payments"], payment) for name, write in WRITES.items()
        }
    assert told == {name: NOT_HELD if name in may else DENIED for name in WRITES}


def test_the_row_is_as_it_was_and_the_role_that_settles_reads_no_task(
    stack: RunningStack, payment: dict[str, Any]
) -> None:
    row = stack.aws("dynamodb").get_item(TableName=stack.tables["payments"], Key=payment)["Item"]
    assert row["status"] == {"S": "CANCELLED"}
    with acting_as(stack, "settle") as client:
        read = refusal(
            lambda client, table, key: client.get_item(TableName=table, Key=key),
            client, stack.tables["items"], payment,
        )  # fmt: skip
        written = refusal(WRITES["transaction"], client, stack.tables["items"], payment)
    assert (read, written) == (DENIED, DENIED)
