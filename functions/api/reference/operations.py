"""The table behind the API's description: what can be asked, by whom, and how each question can fail."""

from typing import Final

from functions.api.accounts.money_routes import MONEY
from functions.api.accounts.routes import ACCOUNTS
from functions.api.audit import AUDIT
from functions.api.operation import Operation
from functions.api.payments.routes import PAYMENTS
from functions.api.reference.run_operations import JOBS
from functions.api.reference.task_operations import TASKS
from functions.api.runs.routes import RUNS

_OPERATIONS: Final = (
    Operation(
        method="get",
        path="/api/v1/operations/{operation_id}",
        name="getOperation",
        summary="How far an operation is",
        text="Of work that goes on by itself after it was asked for. It is kept for 35 days after its end.",
        answer="Operation",
        scope="tasks:read",
        parameters=("operation_id",),
        codes=("not_found",),
    ),
)
_LIMITS: Final = (
    Operation(
        method="get",
        path="/api/v1/limits",
        name="getLimits",
        summary="What a tenant may do",
        text="The same for every tenant. What goes beyond `registered` is answered 429 `quota_exceeded`, and what goes "
        "beyond `depth` 422 `loop_refused`.",
        answer="TenantLimits",
        scope="tasks:read",
    ),
)
_PAGES: Final = (
    Operation(
        method="get",
        path="/health",
        name="health",
        summary="Whether the API answers",
        text="Says that the function runs. It asks no other service.",
        answer="Health",
    ),
    Operation(
        method="get",
        path="/openapi.json",
        name="description",
        summary="This description",
        text="OpenAPI 3.1.",
    ),
    Operation(
        method="get",
        path="/docs",
        name="documentation",
        summary="This description as a page",
        text="HTML in one file. `type` of an error leads to its section.",
    ),
)

# Of each group: its name, its purpose, and its operations.
GROUPS: Final = (
    ("payments", "Delayed transfers between accounts.", tuple(PAYMENTS.operations)),
    ("accounts", "Balances, limits and the journal.", (*ACCOUNTS.operations, *MONEY.operations)),
    ("tasks", "Calls at an instant, or again and again.", TASKS),
    ("runs", "The occurrences of tasks, and acknowledgements.", tuple(RUNS.operations)),
    ("jobs", "Tasks under the names of the job API.", JOBS),
    ("operations", "Work that goes on by itself, and how far it is.", _OPERATIONS),
    ("limits", "Quotas of a tenant.", _LIMITS),
    ("audit", "Checks of the books.", tuple(AUDIT.operations)),
    ("service", "Health and description of the API.", _PAGES),
)
OPERATIONS: Final = tuple(operation for _, _, operations in GROUPS for operation in operations)
TAGS: Final = {operation.name: group for group, _, operations in GROUPS for operation in operations}
