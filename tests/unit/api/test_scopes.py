"""Each operation's scope, written down a second time: a route that asks for another one fails here, and a new one has
no scope until a person has thought about it."""

from typing import Final

from functions.api.reference.operations import OPERATIONS

SCOPES: Final = {
    "accounts:read": "forecast getAccount listAccounts listTransactions",
    "admin": "adjust audit changeAccount closeAccount deposit freezeAccount openAccount openAccounts unfreezeAccount",
    "internal": "executePayment",
    "payments:read": "getPayment listPaymentEvents listPaymentExecutions listPayments",
    "payments:write": "cancelPayment cancelPaymentByPost changePayment schedulePayment schedulePayments",
    "tasks:read": (
        "getJob getLimits getOperation getRun getRunOfTask getTask listJobs listRuns listTasks previewTask"
    ),
    "tasks:write": (
        "backfillTask cancelJob cancelTask changeTask completeRun extendRun failRun pauseTask registerJob registerTask "
        "registerTasks resumeTask retryRun retryTask triggerTask"
    ),
    None: "description documentation health",
}


def test_each_operation_needs_the_scope_that_is_written_here() -> None:
    written = {name: scope for scope, names in SCOPES.items() for name in names.split()}
    assert {each.name: each.scope for each in OPERATIONS} == written
