"""Each operation of the API is reachable in the client, on the command line and in the console, or a reason is given.

The table is checked against the API's description, the client's class, the parser of the command line and the sources
of the console: an operation, a method, a command or a button that comes or goes changes the table.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from cli.commands import call, completion
from cli.main import parser
from functions.api.caller import ANY
from functions.api.operation import Operation
from functions.api.reference.operations import OPERATIONS as OF_EVERY_KIND
from postdate_client import AsyncClient, Client
from tests.described import DESCRIPTION

CONSOLE: Final = Path("console")
SOURCES: Final = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(CONSOLE.glob("*.js"))
    if path.name not in ("preact.js", "hooks.js", "htm.js")
)
PAGES: Final = set(re.findall(r'^  "?([\w-]+)"?: \{ title: ', (CONSOLE / "app.js").read_text(), re.MULTILINE))
OPERATIONS: Final = call.operations(DESCRIPTION)
OF_THE_API: Final = [each for each in OF_EVERY_KIND if each.scheme == "key" and each.scope is not None]
# A scope, and the operation that the console asks for with it.
PAIRS: Final = (
    re.compile(r'''scope(?:=|: )"([\w:]+)",? op(?:=|: )"(\w+)"'''),
    re.compile(r"""lacks\(caller, "([\w:]+)", "(\w+)"\)"""),
)
# Operation, method of the client, command, page of the console and the text of its button or part.
# The client's `request` and the command `call` carry out any operation.
TABLE: Final = """
schedulePayment           schedule_payment    call                        new            Register
schedulePayments          schedule_payments   call                        -
listPayments              payments            next                        payments       Payments
getPayment                payment             explain                     payments       Payment
changePayment             change_payment      call                        payments       Change amount
cancelPayment             request             call                        -
cancelPaymentByPost       cancel_payment      call                        payments       Cancel payment
listPaymentEvents         payment_events      explain                     payments       Timeline
listPaymentExecutions     payment_executions  call                        payments       Attempts
executePayment            request             call                        -
openAccount               open_account        call                        accounts       Open an account
listAccounts              accounts            call                        accounts       Accounts
openAccounts              open_accounts       call                        -
getAccount                account             explain                     accounts       Account
changeAccount             change_account      call                        accounts       Change limit
closeAccount              close_account       call                        accounts       Close
freezeAccount             freeze_account      call                        accounts       Freeze
unfreezeAccount           unfreeze_account    call                        accounts       Unfreeze
deposit                   deposit             call                        accounts       Deposit
adjust                    adjust              call                        accounts       Adjust
listTransactions          transactions        call                        accounts       Journal
listAccountEvents         account_events      tail                        accounts       Events of this account
forecast                  forecast            call                        accounts       The next 30 days
registerTask              register_task       call                        new            Register
listTasks                 tasks               next                        tasks          Tasks
registerTasks             register_tasks      call                        -
getTask                   task                explain                     tasks          Task
changeTask                change_task         call                        tasks          Reschedule
cancelTask                cancel_task         call                        tasks          Cancel task
previewTask               preview             next                        new            Next instants
pauseTask                 pause_task          call                        tasks          Pause
resumeTask                resume_task         call                        tasks          Resume
triggerTask               trigger_task        call                        tasks          Run now
backfillTask              backfill_task       call                        tasks          Backfill
retryTask                 retry_task          call                        tasks          Retry
listRuns                  runs                call                        tasks          Runs
listAllRuns               all_runs            runs list                   runs           Runs
getRunOfTask              request             call                        -
getRun                    run                 explain                     runs           Run
completeRun               complete_run        call                        -
failRun                   fail_run            call                        -
extendRun                 extend_run          call                        -
retryRun                  retry_run           call                        runs           Retry
registerJob               request             call                        -
listJobs                  request             call                        -
getJob                    request             call                        -
cancelJob                 request             call                        -
listEvents                events.list         tail                        events         Events
getEvent                  events.get          call                        events         Event
listServiceEvents         request             call                        -
getServiceEvent           request             call                        -
makeSubscription          request             subscriptions make          subscriptions  Subscribe
listSubscriptions         request             subscriptions list          subscriptions  Subscriptions
getSubscription           request             subscriptions show          subscriptions  Subscription
changeSubscription        request             call                        subscriptions  Change types
endSubscription           request             subscriptions end           subscriptions  Delete
pauseSubscription         request             subscriptions pause         subscriptions  Pause
resumeSubscription        request             subscriptions resume        subscriptions  Resume
rotateSubscriptionSecret  request             subscriptions rotate        subscriptions  Rotate secret
testSubscription          request             subscriptions test          subscriptions  Send a test
replaySubscription        request             subscriptions replay        subscriptions  Replay
listDeliveries            request             subscriptions deliveries    subscriptions  Deliveries
planOperation             plan_operation      operations redrive          dead           Redrive this group
listOperations            operations          operations list             operations     Operations
getOperation              operation           operations show             operations     Operation
listOperationItems        operation_items     operations show             operations     Items
startOperation            start_operation     operations start            operations     Start
stopOperation             stop_operation      operations stop             operations     Stop
resumeOperation           resume_operation    operations resume           operations     Resume
listFlowKeys              request             flow-keys list              flow-keys      Flow keys
getFlowKey                request             flow-keys show              flow-keys      Flow key
changeFlowKey             request             flow-keys pin               flow-keys      Pin values
pauseFlowKey              request             flow-keys pause             flow-keys      Pause
resumeFlowKey             request             flow-keys resume            flow-keys      Resume
listDestinations          request             destinations list           destinations   Destinations
probeDestination          request             destinations probe          destinations   Probe
resetDestination          request             destinations reset          destinations   Reset
listDeadLetters           request             letters                     dead           Look again
redriveDeadLetters        request             call                        -
getLimits                 request             call                        -
audit                     request             call                        now            Audit
getOverview               request             call                        now            Now
getServiceOverview        request             overview                    now            The service, all tenants
makeKey                   request             keys make                   keys           Make a key
listKeys                  request             keys list                   keys           Keys
getKey                    request             call                        keys           Key
revokeKey                 request             keys revoke                 keys           Revoke
rotateKey                 request             keys rotate                 keys           Rotate
rotateSigningSecret       request             keys rotate-signing-secret  -
makeTenant                request             tenants make                -
listTenants               request             tenants list                -
getTenant                 request             tenants show                -
changeTenant              request             tenants change              -
suspendTenant             request             tenants suspend             -
resumeTenant              request             tenants resume              -
eraseTenant               request             tenants erase               -
previewErasure            request             tenants erasure             -
replaceDataKey            request             tenants replace-data-key    -
listSwitches              request             switches list               switches       Switches
getSwitch                 request             switches get                switches       Switch
turnSwitch                request             switches off                switches       Turn off
listReconciliations       request             reconciliations list        reconciliations  Reconciliations
getReconciliation         request             reconciliations show        reconciliations  Reconciliation
approveRepairs            request             reconciliations approve     reconciliations  Approve
health                    request             call                        -
description               request             call                        -
documentation             request             call                        -
console                   request             open                        -
whoami                    whoami              call                        now            Sign out
"""
# Why the console has no button for these.
NOT_IN_THE_CONSOLE: Final = {
    "a person registers one item at a time": {"schedulePayments", "openAccounts", "registerTasks"},
    "another name of an operation that the console has": {"cancelPayment", "getRunOfTask", "redriveDeadLetters"},
    "internal": {"executePayment"},
    "the receiver ends its own run, with the token of the delivery": {"completeRun", "failRun", "extendRun"},
    "jobs are tasks, and the console shows them as such": {"registerJob", "listJobs", "getJob", "cancelJob"},
    "administered by command": {
        *("rotateSigningSecret", "makeTenant", "listTenants", "getTenant", "changeTenant"),
        *("suspendTenant", "resumeTenant", "eraseTenant", "previewErasure", "getLimits", "replaceDataKey"),
    },
    "followed by a program, and read by command": {"listServiceEvents", "getServiceEvent"},
    "a page or a file, and no action": {"health", "description", "documentation", "console"},
}  # fmt: skip
ROWS: Final = {
    name: (method, command.strip(), page, label.strip())
    for name, method, command, page, label in (
        (line[:26].strip(), line[26:46].strip(), line[46:74], line[74:89].strip(), line[89:])
        for line in TABLE.strip().splitlines()
    )
}
COMMANDS: Final = dict(completion.words(parser(), completion.PROGRAM))


def test_every_operation_of_the_api_is_in_the_table_and_no_other() -> None:
    assert ROWS.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("client", [Client, AsyncClient], ids=lambda client: client.__name__)
def test_the_client_has_the_method(name: str, client: type[Any]) -> None:
    method = ROWS[name][0]
    holder: Any = client("http://127.0.0.1:9", "k")
    for part in method.split("."):
        holder = getattr(holder, part)
    assert callable(holder)


@pytest.mark.parametrize("name", ROWS)
def test_the_command_line_has_the_command(name: str) -> None:
    assert f"postdate {ROWS[name][1]}" in COMMANDS


@pytest.mark.parametrize("name", ROWS)
def test_the_console_has_the_button_or_a_reason_why_not(name: str) -> None:
    *_, page, label = ROWS[name]
    reasons = [reason for reason, names in NOT_IN_THE_CONSOLE.items() if name in names]
    if page == "-":
        assert len(reasons) == 1
        return
    assert reasons == []
    assert page in PAGES
    assert re.search(rf"[\"'>(]{re.escape(label)}[\"'<,]", SOURCES), f"the console has no {label!r}"


def test_each_action_of_the_console_names_its_operation() -> None:
    """A key may be restricted to some operations. An action without a name would be refused to such a key."""
    uses = [match.end() for match in re.finditer(r"<\$\{Action\} ", SOURCES)]
    assert len(uses) > 30
    assert [SOURCES[at : at + 120] for at in uses if not re.search(r"\bop=", SOURCES[at : at + 160])] == []


@pytest.mark.parametrize("operation", OF_THE_API, ids=lambda operation: operation.name)
def test_the_console_names_each_operation_that_one_of_its_buttons_asks_for(operation: Operation) -> None:
    has_button = ROWS[operation.name][2] != "-"
    named = re.search(rf'"{operation.name}"', SOURCES) is not None
    if not operation.reads and operation.scope != ANY:
        assert named is has_button


def test_the_console_asks_for_each_operation_with_its_scope() -> None:
    scopes = {each.name: each.scope for each in OF_THE_API}
    pairs = {pair for form in PAIRS for pair in form.findall(SOURCES)}
    assert len(pairs) > 15
    assert {(scope, op) for scope, op in pairs if scopes[op] != scope} == set()
