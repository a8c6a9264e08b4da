"""The table behind the API's description: what can be asked, by whom, and how each question can fail."""

from typing import Final

from functions.api.accounts.forecast_routes import FORECAST
from functions.api.accounts.journal_routes import JOURNAL
from functions.api.accounts.money_routes import MONEY
from functions.api.accounts.routes import ACCOUNTS
from functions.api.accounts.status_routes import STATUS as ACCOUNT_STATUS
from functions.api.audit import AUDIT
from functions.api.destinations.routes import DESTINATIONS
from functions.api.events.routes import EVENTS, SERVICE_EVENTS
from functions.api.flow_keys.routes import FLOW_KEYS
from functions.api.jobs.routes import JOBS
from functions.api.keys.routes import KEYS
from functions.api.letters.routes import LETTERS
from functions.api.limits.routes import LIMITS
from functions.api.operation import Operation
from functions.api.operations.routes import OPERATIONS as BACKGROUND
from functions.api.overview.routes import OVERVIEW
from functions.api.payments.internal_routes import INTERNAL
from functions.api.payments.routes import PAYMENTS
from functions.api.payments.schedule_routes import SCHEDULING
from functions.api.reconciliations.routes import RECONCILIATIONS
from functions.api.runs.routes import RUNS
from functions.api.subscriptions.delivery_routes import DELIVERIES
from functions.api.subscriptions.routes import SUBSCRIPTIONS
from functions.api.switches.routes import SWITCHES
from functions.api.tasks.recurring.by_hand_routes import BY_HAND
from functions.api.tasks.recurring.routes import RECURRING
from functions.api.tasks.register_routes import REGISTERING
from functions.api.tasks.routes import TASKS
from functions.api.tenants.routes import TENANTS
from functions.api.tenants.secret_routes import SECRETS
from functions.api.tenants.status_routes import STATUS as TENANT_STATUS
from functions.api.whoami import WHOAMI

_PAGES: Final = (
    Operation(
        method="get",
        path="/health",
        name="health",
        summary="Check that the API answers",
        text="The answer means that the function runs. The function calls no other service for it.",
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
    Operation(
        method="get",
        path="/console",
        name="console",
        summary="The operators' console",
        text="An HTML page. It asks for a key, and shows and changes what that key may see and change.",
    ),
)

# The name, the purpose and the operations of each group.
GROUPS: Final = (
    (
        "payments",
        "Delayed transfers between accounts.",
        (*SCHEDULING.operations, *PAYMENTS.operations, *INTERNAL.operations),
    ),
    (
        "accounts",
        "Balances, limits and the journal.",
        (
            *ACCOUNTS.operations,
            *ACCOUNT_STATUS.operations,
            *MONEY.operations,
            *JOURNAL.operations,
            *FORECAST.operations,
        ),
    ),
    (
        "tasks",
        "Calls at an instant, once or by a cron.",
        (
            *REGISTERING.operations,
            *TASKS.operations,
            *RECURRING.operations,
            *BY_HAND.operations,
        ),
    ),
    ("runs", "The occurrences of tasks, and acknowledgements.", tuple(RUNS.operations)),
    ("jobs", "Tasks under the names of the job API.", tuple(JOBS.operations)),
    (
        "events",
        "Every change, recorded once and for good.",
        (*EVENTS.operations, *SERVICE_EVENTS.operations),
    ),
    (
        "subscriptions",
        "Events that are delivered as they happen.",
        (*SUBSCRIPTIONS.operations, *DELIVERIES.operations),
    ),
    ("operations", "Work that goes on by itself, and how far it is.", tuple(BACKGROUND.operations)),
    ("flow-keys", "What tasks of one flow key share.", tuple(FLOW_KEYS.operations)),
    ("destinations", "Where calls are held back.", tuple(DESTINATIONS.operations)),
    ("dead letters", "Messages of items that nobody tries again.", tuple(LETTERS.operations)),
    ("limits", "Quotas of a tenant.", tuple(LIMITS.operations)),
    ("audit", "Checks of the books.", tuple(AUDIT.operations)),
    ("reconciliations", "Nightly checks of all tenants.", tuple(RECONCILIATIONS.operations)),
    ("overview", "How the items of the last hour fared.", tuple(OVERVIEW.operations)),
    ("keys", "API keys and signing secrets of a tenant.", (*KEYS.operations, *SECRETS.operations)),
    ("tenants", "Tenants, for operators.", (*TENANTS.operations, *TENANT_STATUS.operations)),
    ("switches", "What operators have stopped.", tuple(SWITCHES.operations)),
    ("service", "Health and description of the API.", _PAGES),
    ("caller", "The key that asks.", tuple(WHOAMI.operations)),
)
OPERATIONS: Final = tuple(operation for _, _, operations in GROUPS for operation in operations)
TAGS: Final = {operation.name: group for group, _, operations in GROUPS for operation in operations}
