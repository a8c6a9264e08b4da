"""What each role may do, in full. A change here is a change of what a stolen credential is worth."""

from typing import Final

Grants = dict[str, set[str]]

TRACES: Final = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
LOGS: Final = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME: Final = {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
CONSUME_LOCALLY: Final = {
    *("sqs:SendMessageBatch", "sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessageBatch"),
}
# One environment is too small to have workers for slow destinations alone.
WITHOUT_A_SLOW_LANE: Final = "dev"
QUEUES: Final = "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:"
TOPICS: Final = "arn:<AWS::Partition>:sns:<AWS::Region>:<AWS::AccountId>:"
BUSES: Final = "arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/"
READER: Final = "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/postdate-{}-payload-reader"
OBJECTS: Final = "arn:<AWS::Partition>:s3:::postdate-{}-payload-objects-<AWS::AccountId>-<AWS::Region>/*"
DESTINATIONS_ON_AWS: Final[Grants] = {
    f"{QUEUES}postdate-destination-*": {"sqs:SendMessage"},
    f"{TOPICS}postdate-destination-*": {"sns:Publish"},
    f"{BUSES}postdate-destination-*": {"events:PutEvents"},
}
DESTINATIONS_LOCALLY: Final[Grants] = {
    f"{QUEUES}postdate-local-destination*": {"sqs:SendMessage", "sqs:SendMessageBatch"},
    f"{TOPICS}postdate-local-destination*": {"sns:Publish", "sns:PublishBatch"},
    f"{BUSES}postdate-local-destination*": {"events:PutEvents"},
}

GRANTED: Final[dict[str, Grants]] = {
    "api": {
        "*": TRACES,
        "logs:/aws/lambda/api": LOGS,
        "table:items": {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PartiQLInsert",
            "dynamodb:PartiQLUpdate",
        },
        "table:items/index/by_listing": {"dynamodb:Query"},
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:payments/index/by_tenant": {"dynamodb:Query"},
        "table:payments/index/by_state": {"dynamodb:Query"},
        "table:payments/index/by_listing": {"dynamodb:Query"},
        "table:payments/index/by_payee": {"dynamodb:Query"},
        "table:accounts": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:accounts/index/by_tenant": {"dynamodb:Query"},
        "table:journal": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:journal/index/by_payer": {"dynamodb:Query"},
        "table:journal/index/by_payee": {"dynamodb:Query"},
        "table:payloads": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "table:idempotency": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "table:tenants": {"dynamodb:GetItem"},
        "table:keys": {"dynamodb:GetItem"},
        "table:flow": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"},
        "queue:tasks": {"sqs:SendMessage"},
        "queue:payments": {"sqs:SendMessage"},
    },
    "authorize": {
        "logs:/aws/lambda/authorize": LOGS,
        "table:keys": {"dynamodb:GetItem"},
    },
    "sweep": {
        "logs:/aws/lambda/sweep": LOGS,
        "table:items": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:slots": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"},
        "queue:tasks": {"sqs:SendMessage"},
        "queue:payments": {"sqs:SendMessage"},
        "queue:ticks": {"sqs:SendMessage", *CONSUME},
    },
    "run-tasks": {
        "logs:/aws/lambda/run-tasks": LOGS,
        "table:items": {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PartiQLInsert",
            "dynamodb:PartiQLUpdate",
        },
        "table:payloads": {"dynamodb:BatchGetItem"},
        "table:tenants": {"dynamodb:GetItem"},
        "table:flow": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"},
        "queue:tasks": {"sqs:ChangeMessageVisibility", "sqs:SendMessage", *CONSUME},
        "queue:slow": {"sqs:ChangeMessageVisibility", "sqs:SendMessage", *CONSUME},
        "queue:tasks-dlq": {"sqs:SendMessage"},
        READER: {"sts:AssumeRole"},
        **DESTINATIONS_ON_AWS,
    },
    "the reader of payloads": {OBJECTS: {"s3:GetObject"}},
    "settle": {
        "logs:/aws/lambda/settle": LOGS,
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:accounts": {"dynamodb:BatchGetItem"},
        "queue:payments": {"sqs:ChangeMessageVisibility", "sqs:SendMessage", *CONSUME},
        "queue:payments-dlq": {"sqs:SendMessage"},
    },
    "the schedule": {
        "queue:ticks": {"sqs:SendMessage"},
        "queue:ticks-dlq": {"sqs:SendMessage"},
    },
}

# Money is moved by whole transactions or not at all: no credential of ours can write half a posting.
GRANTED_IN_TRANSACTIONS: Final[dict[str, Grants]] = {
    "api": {
        "table:payments": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:accounts": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:journal": {"dynamodb:PutItem"},
    },
    "settle": {
        "table:payments": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:accounts": {"dynamodb:UpdateItem"},
        "table:journal": {"dynamodb:PutItem"},
    },
}

# The local engine checks these calls under the names of the API's operations, PartiQL's without a resource.
ALSO_LOCALLY: Final[dict[str, Grants]] = {
    "api": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "queue:tasks": {"sqs:SendMessageBatch"},
        "queue:payments": {"sqs:SendMessageBatch"},
    },
    "sweep": {
        "queue:tasks": {"sqs:SendMessageBatch"},
        "queue:payments": {"sqs:SendMessageBatch"},
        "queue:ticks": {"sqs:SendMessageBatch", "sqs:DeleteMessageBatch"},
    },
    "run-tasks": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "queue:tasks": CONSUME_LOCALLY,
        "queue:slow": CONSUME_LOCALLY,
        "queue:tasks-dlq": {"sqs:SendMessageBatch"},
        **DESTINATIONS_LOCALLY,
    },
    "settle": {
        "queue:payments": CONSUME_LOCALLY,
        "queue:payments-dlq": {"sqs:SendMessageBatch"},
    },
}


def granted(role: str, *, environment: str) -> Grants:
    grants = {resource.format(environment): set(actions) for resource, actions in GRANTED[role].items()}
    if environment == WITHOUT_A_SLOW_LANE:
        grants.pop("queue:slow", None)
    if environment == "local":
        for resource in DESTINATIONS_ON_AWS:
            grants.pop(resource, None)
        for resource, actions in ALSO_LOCALLY.get(role, {}).items():
            grants.setdefault(resource, set()).update(actions)
    return grants
