"""Rights of each role, in full. A change here changes what a stolen credential can do."""

from typing import Final

Grants = dict[str, set[str]]

TRACES: Final = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
# Composite alarms are told only to a right to all alarms.
ALARMS: Final = {"cloudwatch:DescribeAlarms"}
METRICS: Final = {"cloudwatch:GetMetricData"}
LOGS: Final = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME: Final = {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
FOLLOW: Final = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
LETTERS: Final = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}
LETTERS_LOCALLY: Final = {"sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessageBatch"}
CONSUME_LOCALLY: Final = {
    *("sqs:SendMessageBatch", "sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessageBatch"),
}
# One environment is too small to have workers for slow destinations alone.
WITHOUT_A_SLOW_LANE: Final = "dev"
QUEUES: Final = "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:"
TOPICS: Final = "arn:<AWS::Partition>:sns:<AWS::Region>:<AWS::AccountId>:"
BUSES: Final = "arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/"
MACHINE: Final = (
    "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:stateMachine:postdate-{}-operation"
)
EXECUTIONS: Final = MACHINE.replace(":stateMachine:", ":execution:") + ":*"
ERASING_MACHINE: Final = (
    "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:stateMachine:postdate-{}-erase"
)
ERASING_FUNCTION: Final = (
    "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:postdate-{}-erase"
)
READER: Final = "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/postdate-{}-payload-reader"
OBJECTS: Final = "arn:<AWS::Partition>:s3:::postdate-{}-payload-objects-<AWS::AccountId>-<AWS::Region>/*"
REPORT_OBJECTS: Final = "arn:<AWS::Partition>:s3:::postdate-{}-reports-<AWS::AccountId>-<AWS::Region>/*"
ARCHIVE_OBJECTS: Final = "arn:<AWS::Partition>:s3:::postdate-{}-archive-<AWS::AccountId>-<AWS::Region>/*"
ARCHIVED_PAYMENTS: Final = ARCHIVE_OBJECTS.replace("/*", "/payments/*")
ARCHIVE: Final = "bucket:archive-<AWS::AccountId>-<AWS::Region>"
REPORTS: Final = "bucket:reports-<AWS::AccountId>-<AWS::Region>"
PARAMETERS: Final = (
    "arn:<AWS::Partition>:appconfig:<AWS::Region>:<AWS::AccountId>:application/parameters of:parameters"
    "/environment/stage:{}/configuration/profile:parameters"
)
ALARM: Final = "arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:postdate-{}-{}"
TAKES_BACK: Final = (
    *(
        "api-unavailable-fast-short",
        "payments-late-fast-short",
        "payment-p95-over-1s",
        "tasks-die",
        "overdue",
    ),
)
READ_PARAMETERS: Final = {"appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration"}
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


def children_of(machine: str) -> Grants:
    """A machine runs the items of its distributed Maps as executions of its own."""
    return {
        MACHINE.replace("operation", machine): {"states:StartExecution"},
        EXECUTIONS.replace("operation", machine): {"states:DescribeExecution", "states:StopExecution"},
    }


GRANTED: Final[dict[str, Grants]] = {
    "api": {
        "*": TRACES | ALARMS | METRICS,
        "logs:/aws/lambda/api": LOGS,
        "table:items": {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PartiQLInsert",
            "dynamodb:PartiQLUpdate",
        },
        "table:items/index/by_tenant": {"dynamodb:Query"},
        "table:items/index/by_state": {"dynamodb:Query"},
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
        "table:tenants": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan"},
        "table:data-keys": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "key:secrets": {"kms:Decrypt", "kms:GenerateDataKey"},
        "table:keys": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:keys/index/by_tenant": {"dynamodb:Query"},
        "table:flow": {
            *("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"),
        },
        "table:flow/index/by_attention": {"dynamodb:Query"},
        "table:slots": {"dynamodb:GetItem", "dynamodb:Query"},
        "table:switches": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan"},
        "queue:tasks": {"sqs:GetQueueAttributes", "sqs:SendMessage"},
        "queue:payments": {"sqs:GetQueueAttributes", "sqs:SendMessage"},
        "table:events": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:subscriptions": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
        **{
            f"queue:{name}": {"sqs:GetQueueAttributes"}
            for name in ("slow", "ticks", "ticks-dlq", "events-dlq")
        },
        "queue:tasks-dlq": {"sqs:GetQueueAttributes", *LETTERS},
        "queue:payments-dlq": {"sqs:GetQueueAttributes", *LETTERS},
        "table:operations": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
        "table:operations/index/by_tenant": {"dynamodb:Query"},
        MACHINE: {"states:StartExecution"},
        ERASING_MACHINE: {"states:StartExecution"},
        ERASING_FUNCTION: {"lambda:InvokeFunction"},
        PARAMETERS: READ_PARAMETERS,
        ARCHIVE: {"s3:ListBucket"},
        ARCHIVED_PAYMENTS: {"s3:GetObject"},
    },
    "authorize": {
        "logs:/aws/lambda/authorize": LOGS,
        "table:keys": {"dynamodb:GetItem"},
        "table:data-keys": {"dynamodb:GetItem"},
    },
    "sweep": {
        "logs:/aws/lambda/sweep": LOGS,
        PARAMETERS: READ_PARAMETERS,
        "table:items": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:slots": {
            *("dynamodb:BatchWriteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
            "dynamodb:UpdateItem",
        },
        "table:switches": {"dynamodb:BatchGetItem"},
        "table:operations": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "table:operations/index/by_activity": {"dynamodb:Query"},
        MACHINE: {"states:StartExecution"},
        EXECUTIONS: {"states:DescribeExecution"},
        "queue:tasks": {"sqs:SendMessage"},
        "queue:payments": {"sqs:SendMessage"},
        "queue:ticks": {"sqs:SendMessage", *CONSUME},
    },
    "run-tasks": {
        "logs:/aws/lambda/run-tasks": LOGS,
        PARAMETERS: READ_PARAMETERS,
        "table:items": {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PartiQLInsert",
            "dynamodb:PartiQLUpdate",
        },
        "table:payloads": {"dynamodb:BatchGetItem"},
        "table:switches": {"dynamodb:BatchGetItem"},
        "table:tenants": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "table:data-keys": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "table:events": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:subscriptions": {"dynamodb:GetItem", "dynamodb:PutItem"},
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
        PARAMETERS: READ_PARAMETERS,
        "table:switches": {"dynamodb:BatchGetItem"},
        "table:payments": {"dynamodb:BatchGetItem"},
        "table:accounts": {"dynamodb:BatchGetItem"},
        "queue:payments": {"sqs:ChangeMessageVisibility", "sqs:SendMessage", *CONSUME},
        "queue:payments-dlq": {"sqs:SendMessage"},
    },
    "record": {
        "logs:/aws/lambda/record": LOGS,
        PARAMETERS: READ_PARAMETERS,
        "table:events": {"dynamodb:BatchGetItem", "dynamodb:PartiQLInsert", "dynamodb:Query"},
        "table:subscriptions": {"dynamodb:Query"},
        "table:tenants": {"dynamodb:GetItem"},
        "table:items": {"dynamodb:BatchGetItem", "dynamodb:PartiQLInsert"},
        "queue:tasks": {"sqs:SendMessage"},
        **{
            f"stream:{name}": FOLLOW
            for name in (
                *("items", "payments", "accounts", "keys", "tenants", "subscriptions", "flow", "operations"),
                "switches",
            )
        },
        "table:payments": {"dynamodb:BatchGetItem"},
        "queue:events-dlq": {"sqs:DeleteMessage", "sqs:ReceiveMessage", "sqs:SendMessage"},
        "bus:events": {"events:PutEvents"},
    },
    "operate": {
        "logs:/aws/lambda/operate": LOGS,
        PARAMETERS: READ_PARAMETERS,
        "table:operations": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
        "table:items": {
            *("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"),
            *("dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"),
        },
        "table:items/index/by_listing": {"dynamodb:Query"},
        "table:payloads": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "table:slots": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:accounts": {"dynamodb:BatchGetItem"},
        "queue:tasks": {"sqs:SendMessage"},
        "queue:payments": {"sqs:SendMessage"},
        "queue:tasks-dlq": {"sqs:SendMessage", *LETTERS},
        "queue:payments-dlq": LETTERS,
        MACHINE: {"states:StartExecution"},
    },
    "reconcile": {
        "logs:/aws/lambda/reconcile": LOGS,
        PARAMETERS: READ_PARAMETERS,
        "table:accounts": {"dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan"},
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"},
        "table:payments/index/by_listing": {"dynamodb:Query"},
        "table:payments/index/by_payee": {"dynamodb:Query"},
        "table:journal": {"dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"},
        "table:journal/index/by_payer": {"dynamodb:Query"},
        "table:journal/index/by_payee": {"dynamodb:Query"},
        "table:items": {"dynamodb:BatchGetItem"},
        "table:items/index/by_tenant": {"dynamodb:Query"},
        "table:items/index/by_state": {"dynamodb:Query"},
        "table:items/index/by_listing": {"dynamodb:Query"},
        "table:tenants": {"dynamodb:Scan"},
        "table:operations": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
        "table:operations/index/by_tenant": {"dynamodb:Query"},
        **{
            f"queue:{name}-dlq": {
                *("sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
            }
            for name in ("tasks", "payments")
        },
        REPORTS: {"s3:ListBucket"},
        REPORT_OBJECTS: {"s3:GetObject", "s3:PutObject"},
    },
    "archive": {
        "logs:/aws/lambda/archive": LOGS,
        "table:tenants": {"dynamodb:Scan"},
        "table:events": {"dynamodb:BatchGetItem", "dynamodb:Query"},
        "table:payments": {"dynamodb:Query"},
        "table:journal": {"dynamodb:BatchGetItem"},
        "table:data-keys": {"dynamodb:GetItem", "dynamodb:PutItem"},
        ARCHIVE: {"s3:ListBucket"},
        ARCHIVE_OBJECTS: {"s3:GetObject", "s3:PutObject"},
        REPORT_OBJECTS: {"s3:PutObject"},
    },
    "erase": {
        "logs:/aws/lambda/erase": LOGS,
        **{
            f"table:{name}": {"dynamodb:DeleteItem", "dynamodb:Scan"}
            for name in (
                *("data-keys", "events", "flow", "idempotency", "keys", "payloads", "slots", "subscriptions"),
                "switches",
            )
        },
        "table:items": {"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:Scan"},
        "table:tenants": {
            *("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan"),
            "dynamodb:UpdateItem",
        },
        "table:operations": {
            *("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
            "dynamodb:Scan",
        },
        "table:payments": {"dynamodb:BatchGetItem", "dynamodb:Scan"},
        "table:payments/index/by_listing": {"dynamodb:Query"},
        "table:payments/index/by_payee": {"dynamodb:Query"},
        "table:journal": {"dynamodb:BatchGetItem", "dynamodb:Scan"},
        "table:journal/index/by_payer": {"dynamodb:Query"},
        "table:journal/index/by_payee": {"dynamodb:Query"},
        "table:accounts": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Scan"},
        "table:accounts/index/by_tenant": {"dynamodb:Query"},
        "queue:tasks-dlq": LETTERS,
        "queue:payments-dlq": LETTERS,
        REPORTS: {"s3:ListBucket"},
        REPORT_OBJECTS: {"s3:GetObject", "s3:PutObject"},
    },
    "the machine erase": {"function:erase": {"lambda:InvokeFunction"}},
    "the machine archive": {"function:archive": {"lambda:InvokeFunction"}},
    "the schedule of the machine archive": {"machine:archive": {"states:StartExecution"}},
    "the machine reconcile": {
        "function:reconcile": {"lambda:InvokeFunction"},
        "function:record": {"lambda:InvokeFunction"},
        **children_of("reconcile"),
    },
    "the schedule of the machine reconcile": {"machine:reconcile": {"states:StartExecution"}},
    "the watcher of parameters": {ALARM.format("{}", each): ALARMS for each in TAKES_BACK},
    "the machine operation": {"function:operate": {"lambda:InvokeFunction"}},
    "the machine recover": {"function:operate": {"lambda:InvokeFunction"}, **children_of("recover")},
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
    "operate": {
        "table:payments": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:accounts": {"dynamodb:UpdateItem"},
    },
    "settle": {
        "table:payments": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:accounts": {"dynamodb:UpdateItem"},
        "table:journal": {"dynamodb:PutItem"},
    },
    "erase": {
        "table:payments": {"dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:accounts": {"dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "table:journal": {"dynamodb:DeleteItem", "dynamodb:PutItem"},
    },
}

# These writes may name only these attributes: the API makes no operator's key.
GRANTED_BY_ATTRIBUTES: Final[dict[str, dict[str, tuple[set[str], set[str]]]]] = {
    "api": {
        "table:keys": (
            {"dynamodb:PutItem", "dynamodb:UpdateItem"},
            {
                *("key_id", "secret_sha256", "tenant", "scopes", "accounts", "expires_at", "name"),
                *("amount_max", "amount_per_day_max", "networks", "before_sha256", "before_until"),
                *("actions", "read_only", "requests_a_second"),
                *("made_by", "created_at", "revoked_at", "spent", "spent_on", "given_back"),
                *("events", "note"),
            },
        )
    },
    "settle": {
        "table:flow": (
            {"dynamodb:UpdateItem"},
            {"tenant", "name", "opened", "since", "open_until", "error", "expires_at"},
        )
    },
    "authorize": {"table:keys": ({"dynamodb:UpdateItem"}, {"key_id", "last_used_at"})},
    # A payment's row leaves its table by this one right: no amount and no state can be written with it.
    "archive": {"table:payments": ({"dynamodb:UpdateItem"}, {"slot", "id", "version", "expires_at"})},
}

# These writes may change only rows whose partition keys are like this: the recorder moves no mark of the sweep.
GRANTED_BY_KEYS: Final[dict[str, dict[str, tuple[set[str], str]]]] = {
    "record": {"table:slots": ({"dynamodb:UpdateItem"}, "calendar#*")},
    "archive": {
        "table:slots": (
            {"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},
            "retention",
        )
    },
}

# Data keys are opened for these owners only: no worker opens the key for the hashes of API keys.
GRANTED_BY_OWNERS: Final[dict[str, tuple[Grants, dict[str, dict[str, str]]]]] = {
    "authorize": (
        {"key:secrets": {"kms:Decrypt"}},
        {"StringEquals": {"kms:EncryptionContext:owner": "@keys"}},
    ),
    "archive": (
        {"key:secrets": {"kms:Decrypt", "kms:GenerateDataKey"}},
        {"StringLike": {"kms:EncryptionContext:owner": "archive/*"}},
    ),
    "run-tasks": (
        {"key:secrets": {"kms:Decrypt", "kms:GenerateDataKey"}},
        {"StringNotEquals": {"kms:EncryptionContext:owner": "@keys"}},
    ),
}

# The local engine checks these calls under the names of the API's operations, PartiQL's without a resource.
ALSO_LOCALLY: Final[dict[str, Grants]] = {
    "api": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "queue:tasks": {"sqs:SendMessageBatch"},
        "queue:payments": {"sqs:SendMessageBatch"},
        "queue:tasks-dlq": LETTERS_LOCALLY,
        "queue:payments-dlq": LETTERS_LOCALLY,
    },
    "authorize": {"key:secrets": {"kms:Decrypt"}},
    "archive": {"key:secrets": {"kms:Decrypt", "kms:GenerateDataKey"}},
    "sweep": {
        "queue:tasks": {"sqs:SendMessageBatch"},
        "queue:payments": {"sqs:SendMessageBatch"},
        "queue:ticks": {"sqs:SendMessageBatch", "sqs:DeleteMessageBatch"},
    },
    "run-tasks": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "key:secrets": {"kms:Decrypt", "kms:GenerateDataKey"},
        "queue:tasks": CONSUME_LOCALLY,
        "queue:slow": CONSUME_LOCALLY,
        "queue:tasks-dlq": {"sqs:SendMessageBatch"},
        **DESTINATIONS_LOCALLY,
    },
    "record": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "queue:events-dlq": {"sqs:DeleteMessageBatch", "sqs:SendMessageBatch"},
        "queue:tasks": {"sqs:SendMessageBatch"},
    },
    "reconcile": {
        "queue:tasks-dlq": {"sqs:ChangeMessageVisibilityBatch"},
        "queue:payments-dlq": {"sqs:ChangeMessageVisibilityBatch"},
    },
    "operate": {
        "*": {"dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"},
        "queue:tasks": {"sqs:SendMessageBatch"},
        "queue:payments": {"sqs:SendMessageBatch"},
        "queue:tasks-dlq": {"sqs:SendMessageBatch", *LETTERS_LOCALLY},
        "queue:payments-dlq": LETTERS_LOCALLY,
    },
    "erase": {"queue:tasks-dlq": LETTERS_LOCALLY, "queue:payments-dlq": LETTERS_LOCALLY},
    "settle": {
        "queue:payments": CONSUME_LOCALLY,
        "queue:payments-dlq": {"sqs:SendMessageBatch"},
    },
}


def granted(role: str, *, environment: str) -> Grants:
    grants = {resource.format(environment): set(actions) for resource, actions in GRANTED[role].items()}
    if role == "run-tasks" and environment == WITHOUT_A_SLOW_LANE:
        grants.pop("queue:slow", None)
    if environment == "local":
        for resource in DESTINATIONS_ON_AWS:
            grants.pop(resource, None)
        for resource, actions in ALSO_LOCALLY.get(role, {}).items():
            grants.setdefault(resource, set()).update(actions)
    return grants
