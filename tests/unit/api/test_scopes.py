"""Each operation's scope, written down a second time: a route that asks for another one fails here, and a new one has
no scope until a person has thought about it."""

from typing import Final

from functions.api.caller import ANY
from functions.api.reference.operations import OPERATIONS
from postdate.domain.scopes import INTERNAL, OF_TENANTS, OPS

SCOPES: Final = {
    "accounts:read": "forecast getAccount listAccountEvents listAccounts listTransactions",
    "admin": "adjust audit changeAccount closeAccount deposit freezeAccount openAccount openAccounts unfreezeAccount",
    "internal": "executePayment",
    "keys:read": "getKey listKeys",
    "keys:write": "makeKey revokeKey rotateKey rotateSigningSecret",
    "events:read": "getEvent getSubscription listDeliveries listEvents listSubscriptions",
    "subscriptions:write": (
        "changeSubscription endSubscription makeSubscription pauseSubscription replaySubscription resumeSubscription "
        "rotateSubscriptionSecret testSubscription"
    ),
    "operations:write": "planOperation resumeOperation startOperation stopOperation",
    "payments:read": "getPayment listPaymentEvents listPaymentExecutions listPayments",
    "payments:write": "cancelPayment cancelPaymentByPost changePayment schedulePayment schedulePayments",
    "ops": (
        "changeTenant getServiceOverview getTenant listDeadLetters listTenants makeTenant "
        "eraseTenant previewErasure redriveDeadLetters replaceDataKey resumeTenant suspendTenant "
        "listServiceEvents getServiceEvent "
        "getSwitch listSwitches turnSwitch listReconciliations getReconciliation approveRepairs"
    ),
    "tasks:read": (
        "getFlowKey getJob getLimits getOperation getOverview getRun getRunOfTask getTask listDestinations "
        "listAllRuns listFlowKeys listJobs listOperationItems listOperations listRuns listTasks previewTask"
    ),
    "tasks:write": (
        "changeFlowKey pauseFlowKey probeDestination resetDestination resumeFlowKey "
        "backfillTask cancelJob cancelTask changeTask completeRun extendRun failRun pauseTask registerJob registerTask "
        "registerTasks resumeTask retryRun retryTask triggerTask"
    ),
    "any": "whoami",
    None: "console description documentation health",
}
# The scope of operators opens these too, for the tenant that the operator names.
FOR_OPERATORS: Final = {"audit"}


def test_a_tenants_key_can_be_given_each_scope_that_an_operation_needs_and_no_other() -> None:
    assert set(OF_TENANTS) == {each.scope for each in OPERATIONS} - {None, ANY, INTERNAL, OPS}


def test_each_operation_needs_the_scope_that_is_written_here() -> None:
    written = {name: scope for scope, names in SCOPES.items() for name in names.split()}
    assert {each.name: each.scope for each in OPERATIONS} == written
    assert {each.name for each in OPERATIONS if each.for_operators} == FOR_OPERATORS


def test_each_route_that_needs_a_key_asks_for_its_scope_by_its_description() -> None:
    """`Routes.serves` asks for the scope. A route that is entered by hand would have to ask by itself."""
    by_hand = {each.name for each in OPERATIONS if each.route is None}
    assert by_hand == set(SCOPES[None].split())
