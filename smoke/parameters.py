"""A case about AppConfig: an alarm of the environment takes a change of the parameters back."""

from typing import Any, Final

from cli.failure import Failure
from cli.parameter_store import ParameterStore
from smoke.bed import Bed, check
from smoke.stacks import looks

_OVER: Final = frozenset({"COMPLETE", "ROLLED_BACK", "REVERTED"})


def taken_back(bed: Bed) -> str:
    """A staged deployment is rolled back when an alarm fires that the environment names. The document that goes out is
    the one that is deployed, so no value changes."""
    cloudwatch = bed.client("cloudwatch")
    name = _watched_alarm(bed)
    store = ParameterStore(bed.environment, bed.client)
    _, document = store.deployed()
    number = store.deploy(document, why=f"{bed.name}: a test", at_once=False).number
    bed.removals.callback(_stopped, store, number)
    bed.removals.callback(_set, cloudwatch, name, "OK", f"{bed.name}: the test is over")
    state = ""
    for _ in looks(bed):
        # CloudWatch evaluates the alarm each minute, and puts it right again.
        _set(cloudwatch, name, "ALARM", f"{bed.name}: a test")
        state = next(each.state for each in store.history() if each.number == number)
        if state in _OVER:
            break
    check(state == "ROLLED_BACK", f"the deployment is {state} although {name} fires")
    return f"{name} took deployment {number} back"


def _watched_alarm(bed: Bed) -> str:
    """The name of the first alarm that the environment of AppConfig names."""
    appconfig = bed.client("appconfig")
    applications = appconfig.list_applications()["Items"]
    own = [each["Id"] for each in applications if each["Name"] == bed.environment.named("parameters")]
    check(bool(own), "there are no parameters in AppConfig")
    for stage in appconfig.list_environments(ApplicationId=own[0])["Items"]:
        if stage["Name"] == bed.environment.name and stage.get("Monitors"):
            return str(stage["Monitors"][0]["AlarmArn"]).rpartition(":")[2]
    check(False, "the environment of AppConfig names no alarm")
    return ""


def _set(cloudwatch: Any, name: str, state: str, reason: str) -> None:
    cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason=reason)


def _stopped(store: ParameterStore, number: int) -> None:
    """A deployment that nothing took back is taken back by command."""
    newest = store.history()[0]
    if newest.number == number and newest.state not in _OVER:
        try:
            store.roll_back(why="a test is over")
        except Failure:
            return
