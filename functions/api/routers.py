"""The routes of all resources, in the order in which a path is looked up."""

from typing import Final

from functions.api import pages
from functions.api.accounts.forecast_routes import FORECAST
from functions.api.accounts.journal_routes import JOURNAL
from functions.api.accounts.money_routes import MONEY
from functions.api.accounts.routes import ACCOUNTS
from functions.api.accounts.status_routes import STATUS as ACCOUNT_STATUS
from functions.api.audit import AUDIT
from functions.api.console import routes as console
from functions.api.destinations.routes import DESTINATIONS
from functions.api.events.routes import EVENTS, SERVICE_EVENTS
from functions.api.flow_keys.routes import FLOW_KEYS
from functions.api.jobs.routes import JOBS
from functions.api.keys.routes import KEYS
from functions.api.letters.routes import LETTERS
from functions.api.limits.routes import LIMITS
from functions.api.operations.routes import OPERATIONS
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

ROUTERS: Final = (
    *(
        each.router
        for each in (
            TASKS,
            REGISTERING,
            RECURRING,
            BY_HAND,
            RUNS,
            OPERATIONS,
            FLOW_KEYS,
            DESTINATIONS,
            SUBSCRIPTIONS,
            DELIVERIES,
            LETTERS,
            LIMITS,
            JOBS,
            SCHEDULING,
            PAYMENTS,
            INTERNAL,
            ACCOUNTS,
            ACCOUNT_STATUS,
            MONEY,
            JOURNAL,
            FORECAST,
            EVENTS,
            SERVICE_EVENTS,
            AUDIT,
            OVERVIEW,
            RECONCILIATIONS,
            KEYS,
            WHOAMI,
            SWITCHES,
            TENANTS,
            TENANT_STATUS,
            SECRETS,
        )
    ),
    pages.router,
    console.router,
)
