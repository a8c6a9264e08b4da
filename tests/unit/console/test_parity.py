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
from functions.api import openapi
from postdate_client import AsyncClient, Client

CONSOLE: Final = Path("console")
SOURCES: Final = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(CONSOLE.glob("*.js"))
    if path.name not in ("preact.js", "hooks.js", "htm.js")
)
PAGES: Final = set(re.findall(r'^  "?([\w-]+)"?: \{ title: ', (CONSOLE / "app.js").read_text(), re.MULTILINE))
DESCRIPTION: Final = openapi.document()
OPERATIONS: Final = call.operations(DESCRIPTION)
# Operation, method of the client, command, page of the console and the text of its button or part.
# The client's `request` and the command `call` carry out any operation.
TABLE: Final = """
schedulePayment           schedule_payment    call                        new            Register
schedulePayments          request             call                        -
listPayments              payments            next                        payments       Payments
getPayment                payment             explain                     payments       Payment
changePayment             change_payment      call                        payments       Change amount
cancelPayment             request             call                        -
cancelPaymentByPost       cancel_payment      call                        payments       Cancel payment
listPaymentEvents         request             explain                     payments       Timeline
listPaymentExecutions     request             explain                     payments       Attempts
executePayment            request             call                        -
openAccount               request             call                        accounts       Open an account
listAccounts              accounts            call                        accounts       Accounts
openAccounts              request             call                        -
getAccount                account             explain                     accounts       Account
changeAccount             request             call                        accounts       Change limit
closeAccount              request             call                        accounts       Close
freezeAccount             request             call                        accounts       Freeze
unfreezeAccount           request             call                        accounts       Unfreeze
deposit                   request             call                        accounts       Deposit
adjust                    request             call                        accounts       Adjust
listTransactions          transactions        call                        accounts       Journal
listAccountEvents         request             tail                        accounts       Events of this account
forecast                  request             call                        accounts       The next 30 days
registerTask              register_task       call                        new            Register
listTasks                 tasks               next                        tasks          Tasks
registerTasks             request             call                        -
getTask                   task                explain                     tasks          Task
changeTask                request             call                        tasks          Reschedule
cancelTask                cancel_task         call                        tasks          Cancel task
previewTask               preview             next                        new            Next instants
pauseTask                 request             call                        tasks          Pause
resumeTask                request             call                        tasks          Resume
triggerTask               trigger_task        call                        tasks          Run now
backfillTask              request             call                        tasks          Backfill
retryTask                 request             call                        tasks          Retry
listRuns                  request             explain                     tasks          Runs
getRunOfTask              request             call                        -
getRun                    request             explain                     runs           Run
completeRun               request             call                        -
failRun                   request             call                        -
extendRun                 request             call                        -
retryRun                  request             call                        runs           Retry
registerJob               request             call                        -
listJobs                  request             call                        -
getJob                    request             call                        -
cancelJob                 request             call                        -
listEvents                events.list         tail                        events         Events
getEvent                  events.get          call                        events         Event
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
planOperation             request             operations redrive          dead           Redrive this group
listOperations            request             operations list             operations     Operations
getOperation              operation           operations show             operations     Operation
listOperationItems        request             operations show             operations     Items
startOperation            request             operations start            operations     Start
stopOperation             request             operations stop             operations     Stop
resumeOperation           request             operations resume           operations     Resume
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
getTenant                 request             call                        -
changeTenant              request             tenants change              -
suspendTenant             request             tenants suspend             -
resumeTenant              request             tenants resume              -
eraseTenant               request             tenants erase               -
replaceDataKey            request             tenants replace-data-key    -
listSwitches              request             switches list               switches       Switches
getSwitch                 request             switches get                switches       Switch
turnSwitch                request             switches off                switches       Turn off
listReconciliations       request             call                        reconciliations  Reconciliations
approveRepairs            request             call                        reconciliations  Approve
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
        *("suspendTenant", "resumeTenant", "eraseTenant", "getLimits", "replaceDataKey"),
    },
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
