import pytest

from postdate.domain import task_requests, transitions
from postdate.domain.due import Due, Via
from postdate.domain.errors import Conflict, InvalidState, NotFound, Unavailable, VersionMismatch
from postdate.domain.flow import FlowControl
from postdate.domain.task import Payload, State
from tests.unit.api.conftest import FAR, KEPT
from tests.unit.doubles import HOOK, MINUTE, SECOND, START, claimed, in_state

LARGE, OTHER_LARGE = '"' + "x" * 1000 + '"', '"' + "y" * 1000 + '"'
SOON = START + 30 * SECOND


def change(service, task, *, tenant="demo", version=None, due_at=None, **changes):
    if "payload" in changes:
        changes["payload"] = Payload(text=changes["payload"])
    return service.changer.edit(tenant, task.id, version=version, due_at=due_at, **changes)


def commits(service, transition):
    return lambda: service.tasks.commit([transition])


def test_a_cancelled_task_says_so_and_a_second_cancel_answers_the_same(service):
    task = service.registered()
    cancelled = service.changer.cancel("demo", task.id, version=None)
    assert (cancelled.state, cancelled.version) == (State.CANCELLED, 2)
    assert service.tasks.get(task.id) == cancelled
    assert service.changer.cancel("demo", task.id, version=1) == cancelled


@pytest.mark.parametrize("verb", ["load", "cancel", "edit"])
@pytest.mark.parametrize("id", ["theirs", "task_0000000000000000000000zz", "no id"])
def test_another_tenants_task_and_one_that_never_was_are_told_alike(service, verb, id):
    task = service.registered()
    asked = task.id if id == "theirs" else id
    arguments = {"load": {}, "cancel": {"version": None}, "edit": {"version": None, "due_at": FAR}}[verb]
    with pytest.raises(NotFound):
        getattr(service.changer, verb)("other", asked, **arguments)
    assert service.tasks.get(task.id) == task


@pytest.mark.parametrize("state", [State.RUNNING, State.SUCCEEDED, State.DEAD])
def test_a_task_that_has_started_can_neither_be_cancelled_nor_changed(service, state):
    task = in_state(state)
    service.tasks.add([task])
    with pytest.raises(InvalidState) as refused:
        service.changer.cancel("demo", task.id, version=None)
    assert refused.value.state == state
    with pytest.raises(InvalidState):
        change(service, task, due_at=FAR)
    assert service.tasks.get(task.id) == task


def test_another_version_than_if_match_names_is_refused(service):
    task = service.registered()
    changed = change(service, task, due_at=FAR + MINUTE, version=1)
    with pytest.raises(VersionMismatch):
        change(service, task, due_at=FAR, version=1)
    with pytest.raises(VersionMismatch):
        service.changer.cancel("demo", task.id, version=3)
    assert service.tasks.get(task.id) == changed


def test_a_cancel_that_lost_a_race_to_a_change_is_decided_again(service):
    task = service.registered()
    faster = task_requests.edit(task, now=START, due_at=FAR + MINUTE, why="changed run_at")
    service.tasks.before["commit"].append(commits(service, faster))
    cancelled = service.changer.cancel("demo", task.id, version=None)
    assert (cancelled.state, cancelled.version, cancelled.due_at) == (State.CANCELLED, 3, FAR + MINUTE)


def test_a_cancel_that_lost_a_race_to_the_claim_is_refused(service):
    task = service.registered()
    service.tasks.before["commit"].append(
        commits(service, transitions.Transition(before=task, after=claimed(task)))
    )
    with pytest.raises(InvalidState) as refused:
        service.changer.cancel("demo", task.id, version=None)
    assert refused.value.state == State.RUNNING
    assert service.tasks.get(task.id).state is State.RUNNING


def test_a_change_with_if_match_that_lost_a_race_is_refused(service):
    task = service.registered()
    faster = task_requests.edit(task, now=START, due_at=None, why="changed name", name="theirs")
    service.tasks.before["commit"].append(commits(service, faster))
    with pytest.raises(VersionMismatch):
        change(service, task, due_at=FAR + MINUTE, version=1)
    assert service.tasks.get(task.id) == faster.after


def test_a_change_that_always_loses_gives_up_and_says_so(service):
    task = service.registered()
    for version in range(1, 4):
        service.tasks.before["commit"] += [commits(service, renamed(service, task, version)), lambda: None]
    with pytest.raises(Conflict):
        service.changer.cancel("demo", task.id, version=None)
    assert service.tasks.get(task.id).state is State.PENDING


def renamed(service, task, version):
    for _ in range(version):
        step = task_requests.edit(task, now=START, due_at=None, why="changed name", name=f"n{version}")
        task = step.after
    return step


def test_a_table_that_fails_is_told_as_such(service):
    task = service.registered()
    service.tasks.unavailable[task.id] = 1
    with pytest.raises(Unavailable):
        service.changer.cancel("demo", task.id, version=None)


@pytest.mark.parametrize("due_at", [SOON, START, START + 3 * MINUTE - SECOND])
def test_a_task_moved_into_an_open_minute_is_called_at_once(service, due_at):
    task = change(service, service.registered(), due_at=due_at)
    assert (task.due_at, task.planned_at, task.moved_at) == (due_at, due_at, START)
    ((packet, _),) = service.queue.sent
    assert (packet.via, packet.dues) == (Via.REGISTRATION, (Due.of(task),))


def test_a_task_moved_beyond_the_horizon_is_left_to_the_sweep_of_its_new_minute(service):
    change(service, service.registered(due_at=SOON), due_at=FAR)
    assert len(service.queue.sent) == 1


def test_a_call_that_cannot_be_sent_does_not_undo_the_change(service):
    task = service.registered()
    service.queue.refuses = 1
    moved = change(service, task, due_at=SOON)
    assert service.tasks.get(task.id) == moved


def test_a_change_without_an_instant_sends_no_call(service):
    task = service.registered(due_at=SOON)
    changed = change(service, task, payload='"new"')
    assert len(service.queue.sent) == 1
    assert (changed.due_at, service.payload_of(task)) == (task.due_at, '"new"')


def test_a_deadline_keeps_its_distance_when_a_task_is_moved(service):
    task = service.registered(expires_after=5 * MINUTE)
    assert task.expires_at == FAR + 5 * MINUTE
    assert change(service, task, due_at=FAR + MINUTE).expires_at == FAR + 6 * MINUTE
    assert change(service, task, payload="1").expires_at == FAR + 6 * MINUTE


@pytest.mark.parametrize("verb", ["load", "cancel", "edit"])
def test_a_run_of_a_recurring_task_is_no_task_of_its_own(service, verb):
    (run,) = service.runs_of(service.planned())
    arguments = {"load": {}, "cancel": {"version": None}, "edit": {"version": None, "due_at": FAR}}[verb]
    with pytest.raises(NotFound):
        getattr(service.changer, verb)("demo", run.id, **arguments)
    assert service.tasks.get(run.id) == run


def test_a_flow_control_is_given_replaced_and_taken_away(service):
    task = service.registered()
    for flow in (FlowControl(key="mail", rate=10), FlowControl(key="mail", parallelism=1), None):
        changed = change(service, task, flow=flow)
        assert (changed.flow, changed.due_at, changed.history[-1].why) == (flow, FAR, "changed flow")
        assert service.tasks.get(task.id) == changed


def test_the_history_says_what_was_changed(service):
    task = change(service, service.registered(), due_at=FAR, payload="1", destination=HOOK)
    assert task.history[-1].why == "changed run_at, destination, payload"
    assert change(service, task, payload="2").history[-1].why == "changed payload"


class TestPayloadsOfTheirOwn:
    def test_a_payload_that_became_large_moves_to_a_row_of_its_own(self, service):
        task = service.registered()
        changed = change(service, task, payload=LARGE)
        assert (changed.payload.text, service.payload_of(task)) == (None, LARGE)

    def test_a_payload_that_became_small_moves_back(self, service):
        task = service.registered(payload=LARGE)
        assert change(service, task, payload="1").payload == Payload(text="1")

    def test_a_payload_outlives_an_instant_that_was_moved_a_year_away(self, service):
        task = service.registered(payload=LARGE)
        later = FAR + 360 * 24 * 60 * MINUTE
        moved = change(service, task, due_at=later)
        assert service.payload_of(task) == LARGE
        assert service.payloads.kept_until[moved.payload.key] == later + KEPT

    def test_a_change_that_was_refused_leaves_the_payload_as_it_was(self, service):
        task = service.registered(payload=LARGE)
        with pytest.raises(VersionMismatch):
            change(service, task, payload=OTHER_LARGE, version=7)
        assert service.payload_of(task) == LARGE

    def test_the_loser_of_a_race_leaves_the_winners_payload_alone(self, service):
        task = service.registered()
        won = []

        def the_other_is_faster():
            service.clock.move(SECOND)
            won.append(change(service, task, payload=LARGE, version=1))

        service.payloads.before_put.append(the_other_is_faster)
        with pytest.raises(VersionMismatch):
            change(service, task, payload=OTHER_LARGE, version=1)
        assert service.tasks.get(task.id) == won[0]
        assert service.payload_of(task) == LARGE
