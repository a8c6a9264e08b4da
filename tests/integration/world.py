"""The functions on tables and queues of their own, called as Lambda calls them."""

import base64
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from threading import Lock
from typing import Any, Final, TypeAlias

from cli.tenants import KeyTable
from functions.api.handler import handler as api
from functions.authorize.handler import handler as authorize
from functions.run_tasks.handler import handler as run_tasks
from functions.settle.handler import handler as settle
from functions.sweep.handler import handler as sweep
from postdate.domain.due import Packet
from postdate.domain.scopes import OF_TENANTS
from postdate.runtime import aws
from postdate.runtime.queue import received
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.key_text import bearer_text
from postdate.stores.keys_dynamo import DynamoKeys
from postdate.stores.tenants import Tenant
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.vault import SIGNING, Vault
from tests.boundary import Call

ALL_SCOPES: Final = " ".join(sorted(OF_TENANTS))
SECRET: Final = "secret"
SIGNING_SECRET: Final = "whsec_c2lnbmluZy1zZWNyZXQtb2YtYS10ZXN0"
Record: TypeAlias = dict[str, Any]
_invocations = count(1)
_API: Final = Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The part of Lambda's context that the handlers read. Each invocation has an id of its own."""

    function_name: str = "postdate-test"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:postdate-test"
    aws_request_id: str = field(
        default_factory=lambda: f"{next(_invocations):08x}-0000-0000-0000-000000000000"
    )

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`bytes_sent`: what Lambda counts against its 6 MB."""

    status: int
    headers: Mapping[str, str]
    body: Any
    bytes_sent: int


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    dynamodb: Any
    sqs: Any
    tables: Mapping[str, str]
    queues: Mapping[str, str]
    tenants: DynamoTenants
    keys: DynamoKeys
    vault: Vault
    environment: Mapping[str, str]

    def tenant(self, id: str) -> "Client":
        """A tenant with a queue of its own, and its client."""
        queue_url = self.sqs.create_queue(QueueName=f"postdate-test-destination-{id}")["QueueUrl"]
        sealed = self.vault.seal(id, SIGNING, SIGNING_SECRET)
        self.tenants.put(
            Tenant(id=id, destinations=frozenset({("sqs", queue_url)}), signing_secrets=(sealed,))
        )
        return Client(tenant=id, queue_url=queue_url)

    @property
    def key_table(self) -> KeyTable:
        return KeyTable(
            keys=self.keys, hashes=_hashes(self.tables["data_keys"], self.environment["SECRETS_KEY_ID"])
        )

    def signing_secrets(self, tenant: str) -> tuple[str, ...]:
        """Readable."""
        found = self.tenants.get(tenant)
        assert found is not None
        return tuple(self.vault.open(tenant, SIGNING, each) for each in found.signing_secrets)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, by its full name. The tests of a run share the tables, so one page may not be all."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [row for page in pages for row in page["Items"]]

    def received(self, queue_url: str, *, tenant: str | None = None) -> list[Record]:
        """Records that a consumer would receive now; of one tenant only, so that tests can share a queue."""
        found: list[Record] = []
        while messages := self.sqs.receive_message(
            QueueUrl=queue_url,
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages"):
            arn = f"arn:aws:sqs:us-east-1:000000000000:{queue_url.rpartition('/')[2]}"
            found += [_record(message) | {"eventSourceARN": arn} for message in messages]
        return [record for record in found if tenant is None or f'"tenant":"{tenant}"' in record["body"]]

    def run(self, records: Iterable[Record]) -> list[str]:
        """The messages that failed."""
        with _failing_quietly():
            answer = run_tasks({"Records": list(records)}, Context())
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def settle(self, records: Iterable[Record]) -> list[str]:
        """The messages that failed."""
        with _failing_quietly():
            answer = settle({"Records": list(records)}, Context())
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def sweep(self, *bodies: Any) -> list[str]:
        """The places of the wake-ups that failed; a text is a body as it is."""
        records = [
            {"messageId": str(place), "body": body if isinstance(body, str) else json.dumps(body)}
            for place, body in enumerate(bodies)
        ]
        with _failing_quietly():
            answer = sweep({"Records": records}, Context())
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def authorize(self, headers: Mapping[str, str]) -> dict[str, Any]:
        with _failing_quietly():
            answer: dict[str, Any] = authorize({"headers": headers}, Context())
        return answer

    def sent(self, calls: Iterable[Call], queue: str) -> list[tuple[Packet, timedelta]]:
        """The packets among these calls to that queue, with their delays."""
        url = self.queues[queue]
        return [
            (packet_of(entry["MessageBody"]), timedelta(seconds=entry["DelaySeconds"]))
            for call in calls
            if call.operation == "SendMessageBatch" and call.asked["QueueUrl"] == url
            for entry in call.asked["Entries"]
        ]


@cache
def _keys(table: str) -> DynamoKeys:
    """Shares one connection among all clients."""
    return DynamoKeys(table=table)


@cache
def _hashes(table: str, key_id: str) -> KeyHashes:
    return KeyHashes(KmsDataKeys(table=table, kms=lambda: aws.client("kms"), key_id=key_id))


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """Requests of one tenant, as they reach the function behind its authorizer, with a key of the tenant's that has
    these scopes; or those of an operator who acts for the tenant. A key that is bound to no account pays from each."""

    tenant: str
    queue_url: str = ""
    scopes: str = ALL_SCOPES
    bound_to: frozenset[str] | None = None
    operates: bool = False

    def __post_init__(self) -> None:
        keys = _keys(os.environ["KEYS_TABLE"])
        scopes = frozenset(self.scopes.split())
        keys.put(
            ApiKey(
                id=self.key_id,
                secret_sha256=_hashes(os.environ["DATA_KEYS_TABLE"], os.environ["SECRETS_KEY_ID"]).of(SECRET),
                tenant=None if self.operates else self.tenant,
                scopes=scopes,
                accounts=self.bound_to,
            )
        )

    @property
    def key_id(self) -> str:
        bound = sorted(self.bound_to) if self.bound_to is not None else None
        return plain_hash_of(repr((self.tenant, self.scopes, bound, self.operates)))[:16]

    @property
    def target(self) -> dict[str, Any]:
        return {"type": "sqs", "queue_url": self.queue_url}

    @property
    def job_target(self) -> dict[str, Any]:
        """The same, as the job API writes it."""
        return {"type": "sqs", "queueUrl": self.queue_url}

    def get(self, path: str, query: str = "") -> Answer:
        return self.call("GET", path, query=query)

    def register(self, *, key: str | None = None, **fields: Any) -> Answer:
        """A task that is due now and goes to the tenant's own queue, unless said otherwise."""
        form = {"delay_seconds": 0, "target": self.target, "payload": {"n": 1}} | fields
        if "run_at" in fields:
            form.pop("delay_seconds")
        return self.call("POST", "/api/v1/tasks", form, {} if key is None else {"idempotency-key": key})

    def accounts(self, **balances: int) -> None:
        """Open, with that much on each."""
        for id, amount in balances.items():
            assert self.call("POST", "/api/v1/accounts", {"account_id": id}).status == 201
            if amount:
                path = f"/api/v1/accounts/{id}/deposits"
                key = {"idempotency-key": f"first-{id}"}
                assert self.call("POST", path, {"amount": amount}, key).status == 201

    def pay(self, *, key: str, **fields: Any) -> Answer:
        """Ten units from alice to bob in a second, unless said otherwise."""
        form = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10, "delay_seconds": 1} | fields
        if "scheduled_time" in fields:
            form.pop("delay_seconds")
        return self.call("POST", "/api/v1/payments/schedule", form, {"idempotency-key": key})

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        query: str = "",
        change: Callable[[dict[str, Any]], None] = lambda event: None,
        context: Context | None = None,
    ) -> Answer:
        """A body that is a text is sent as it is; `change` has the last word about the event."""
        authorization = f"Bearer {bearer_text(self.key_id, SECRET)}"
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "ANY /{proxy+}",
            "rawPath": path,
            "rawQueryString": query,
            "headers": {
                "content-type": "application/json",
                "host": "test",
                "authorization": authorization,
                **({"postdate-tenant": self.tenant} if self.operates else {}),
                **(headers or {}),
            },
            "requestContext": {
                "http": {"method": method, "path": path},
                "stage": "$default",
                "requestId": "request-1",
                "authorizer": {
                    "lambda": {"tenant": "" if self.operates else self.tenant, "key_id": self.key_id}
                },
            },
            "body": body if body is None or isinstance(body, str) else json.dumps(body),
            "isBase64Encoded": False,
        }
        if query:
            event["queryStringParameters"] = dict(part.split("=", 1) for part in query.split("&"))
        change(event)
        # One function serves one request at a time, on AWS as well: its resolver keeps the event in itself.
        with _API, _failing_quietly():
            answer = api(event, context or Context())
        return Answer(
            status=answer["statusCode"],
            headers={name.lower(): value for name, value in answer["headers"].items()},
            body=_read(answer),
            bytes_sent=len(json.dumps(answer, ensure_ascii=False).encode()),
        )


def _read(answer: Mapping[str, Any]) -> Any:
    text = answer.get("body")
    return json.loads(text) if text and "json" in answer["headers"]["Content-Type"] else text or None


def in_base64(event: dict[str, Any]) -> None:
    event["body"] = base64.b64encode(event["body"].encode()).decode()
    event["isBase64Encoded"] = True


@contextmanager
def _failing_quietly() -> Iterator[None]:
    """A handler that raises has counted nothing; Powertools' warning about that would hide what was raised."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No application metrics to publish")
        yield


def packet_of(body: str) -> Packet:
    return received(_record({"MessageId": "1", "ReceiptHandle": "r", "Body": body})).packet


def again(records: Iterable[Record]) -> list[Record]:
    """The same messages as the queue would give them out once more."""
    return [
        record | {"attributes": record["attributes"] | {"ApproximateReceiveCount": "2"}} for record in records
    ]


def _record(message: Mapping[str, Any]) -> Record:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"} | message.get("Attributes", {}),
        "messageAttributes": {
            name: value["StringValue"] for name, value in message.get("MessageAttributes", {}).items()
        },
    }
