"""Names of rights, and the conditions that limit them."""

from typing import Final

GET: Final = "dynamodb:GetItem"
BATCH_GET: Final = "dynamodb:BatchGetItem"
QUERY: Final = "dynamodb:Query"
SCAN: Final = "dynamodb:Scan"
DELETE_ROW: Final = "dynamodb:DeleteItem"
PUT: Final = "dynamodb:PutItem"
UPDATE: Final = "dynamodb:UpdateItem"
BATCH_WRITE: Final = "dynamodb:BatchWriteItem"
DELETE_ITEM: Final = "dynamodb:DeleteItem"
PARTIQL_INSERT: Final = "dynamodb:PartiQLInsert"
PARTIQL_UPDATE: Final = "dynamodb:PartiQLUpdate"
DEPTH: Final = "sqs:GetQueueAttributes"
SEND: Final = "sqs:SendMessage"
RECEIVE: Final = "sqs:ReceiveMessage"
DELETE: Final = "sqs:DeleteMessage"
HIDE: Final = "sqs:ChangeMessageVisibility"
GET_OBJECT: Final = "s3:GetObject"
PUT_OBJECT: Final = "s3:PutObject"
LIST_BUCKET: Final = "s3:ListBucket"
DESCRIBE: Final = "dynamodb:DescribeTable"
# The rows of the calendar begin like this. The others of their table are the sweep's.
CALENDAR_ROWS: Final = "calendar#*"
# The rows of the walk that archives payments.
RETENTION_ROWS: Final = "retention"
# More would make a worker that dies repeat more; fewer would cost more invocations.
EVENTS_AT_ONCE: Final = 100
# The records of a stream that reach the recorder.
NOTED: Final = {"dynamodb": {"NewImage": {"note": {"S": [{"exists": True}]}}}}
OF_HEADS: Final = {"dynamodb": {"Keys": {"place": {"S": ["head"]}}}}
PUBLISH: Final = "events:PutEvents"
START: Final = "states:StartExecution"
DESCRIBE_EXECUTION: Final = "states:DescribeExecution"
INVOKE: Final = "lambda:InvokeFunction"
ALARMS: Final = "cloudwatch:DescribeAlarms"
METRICS: Final = "cloudwatch:GetMetricData"
READ_PARAMETERS: Final = ("appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration")
ASSUME: Final = "sts:AssumeRole"
MAKE_DATA_KEY: Final = "kms:GenerateDataKey"
OPEN_DATA_KEY: Final = "kms:Decrypt"
# The owner of the data key for the hashes of API keys. Workers open the data keys of tenants only.
OF_ARCHIVE: Final = {"StringLike": {"kms:EncryptionContext:owner": "archive/*"}}
OF_API_KEYS: Final = {"StringEquals": {"kms:EncryptionContext:owner": "@keys"}}
NOT_OF_API_KEYS: Final = {"StringNotEquals": {"kms:EncryptionContext:owner": "@keys"}}

# The row of a failing dependency: settle writes nothing else into the table `flow`.
DEPENDENCY_ATTRIBUTES: Final = ("tenant", "name", "opened", "since", "open_until", "error", "expires_at")
# The key, the condition and the instant of the removal: an update of a payment's row names nothing else.
REMOVAL_ATTRIBUTES: Final = ("slot", "id", "version", "expires_at")
# All of a key's row but `operator`: the API makes no operator's key, and a stolen credential of it makes none either.
KEY_ATTRIBUTES: Final = (
    *("key_id", "secret_sha256", "tenant", "scopes", "accounts", "expires_at", "name", "amount_max"),
    *(
        "amount_per_day_max",
        "networks",
        "actions",
        "read_only",
        "requests_a_second",
        "before_sha256",
        "before_until",
        "made_by",
        "created_at",
        "revoked_at",
        "spent",
        "spent_on",
        "given_back",
        "events",
        "note",
    ),
)
