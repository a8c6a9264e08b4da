"""The scopes of API keys: what a tenant's key may be given, and the two that no tenant's key has."""

from typing import Final

# Another service's key, good for the internal routes and for nothing else.
INTERNAL: Final = "internal"
# An operator's key, which belongs to no tenant.
OPS: Final = "ops"
# Each scope that an operation of the API asks for, with what it opens. A test compares them with the API's operations.
OF_TENANTS: Final = {
    "payments:read": "read payments",
    "payments:write": "schedule, change and cancel payments",
    "accounts:read": "read accounts, balances and the journal",
    "admin": "open, limit, freeze and close accounts, move money by deposits and adjustments, audit",
    "tasks:read": "read tasks, runs, jobs and operations",
    "tasks:write": "register, change and cancel tasks, acknowledge runs",
    "events:read": "read and follow events, list subscriptions and their deliveries",
    "subscriptions:write": "make, change, pause, test and delete subscriptions",
    "operations:write": "plan, start, stop and resume operations",
    "keys:read": "list keys",
    "keys:write": "make, rotate and revoke keys",
}
