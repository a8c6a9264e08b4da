import json
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.api.forms import parsed
from functions.api.tasks.recurring.forms import RecurringChangeForm, changes_of, template_changes_of
from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.definition import Reached, State
from postdate.domain.due import Due
from postdate.domain.errors import (
    Conflict,
    InvalidState,
    NotFound,
    Unavailable,
    ValidationFailed,
    VersionMismatch,
)
from postdate.domain.flow import FlowControl
from postdate.domain.task import Payload
from postdate.domain.task import State as RunState
from postdate.domain.transitions import Failure, Transition
from postdate.stores.tasks import Written
from postdate.use_cases.planned_chain import begun, next_run_at
from tests.following import follow
from tests.unit.api.conftest import KEPT, Service
from tests.unit.doubles import MINUTE, SECOND, START, claimed

LARGE, OTHER_LARGE = '"' + "x" * 1000 + '"', '"' + "y" * 1000 + '"'
HOUR = START + 55 * MINUTE


def edit(service, definition, text, *, version=None, tenant="demo", payload=None):
    form = parsed(RecurringChangeForm, text)
    template = template_changes_of(form)
    if payload is not None:
        template["payload"] = Payload(text=payload)
    return service.definition_changer.edit(
        tenant,
        definition.id,
        version=version,
        changes=lambda kept: changes_of(form, kept),
        template=template,
    )


def waiting(service, definition):
    return service.runs_of(definition, state=RunState.PENDING)


def followed(service, run, *, at=None):
    """Result of a run at its instant."""
    definition = service.definitions.get(run.recurs.definition)
    known = service.tasks.get_many(run.recurs.before).values()
    return follow(service.runs, run, definition, *known, now=at or run.due_at)


def test_a_change_begins_a_new_chain_and_voids_the_old_one(service):
    definition = service.planned()
    (old,) = waiting(service, definition)
    changed = edit(service, definition, '{"cron": "30 * * * *", "name": "half"}')
    assert (changed.version, changed.name, changed.schedule.cron.text) == (2, "half", "30 * * * *")
    assert changed.plan != definition.plan
    (run,) = waiting(service, definition)
    assert (run.due_at, run.recurs.plan, run.name) == (START + 25 * MINUTE, changed.plan, "half")
    assert service.tasks.get(old.id).state is RunState.CANCELLED
    assert followed(service, old).instead.after.state is RunState.CANCELLED
    assert followed(service, run).instead is None


def test_all_that_can_be_changed_is_changed(service):
    definition = service.planned()
    changed = edit(
        service,
        definition,
        """{"timezone": "Europe/Berlin", "start_at": "2026-11-19T00:00:00Z", "end_at": "2027-01-01T00:00:00Z",
        "max_runs": 7, "jitter_seconds": 60, "overlap": "queue", "catch_up": "all",
        "catch_up_window_seconds": 60, "retry": {"max_attempts": 2}, "timeout_seconds": 5, "ack": "explicit",
        "expires_after_seconds": 9, "tags": ["a"], "flow_control": {"key": "mail", "rate": 5},
        "target": {"type": "sqs", "queue_url": "https://sqs.us-east-1.amazonaws.com/1/q"}}""",
    )
    plan, template = changed.schedule, changed.template
    assert (plan.cron.text, plan.cron.timezone) == ("0 * * * *", "Europe/Berlin")
    assert (plan.start_at.day, plan.end_at.year, plan.max_runs, plan.jitter_seconds) == (19, 2027, 7, 60)
    assert plan.definition_id == definition.id
    assert (changed.overlap, changed.catch_up, changed.catch_up_window) == ("queue", "all", MINUTE)
    assert (template.retry.max_attempts, template.timeout_seconds, template.ack) == (2, 5, "explicit")
    assert (template.expires_after, template.destination.type, changed.tags) == (9 * SECOND, "sqs", ("a",))
    assert (template.flow, template.payload) == (FlowControl(key="mail", rate=5), definition.template.payload)
    (run,) = waiting(service, definition)
    assert run.flow == template.flow


def test_null_takes_away_what_may_be_missing_and_nothing_else(service):
    flow = FlowControl(key="mail", rate=5)
    end_at = HOUR + timedelta(days=9)
    definition = service.planned(max_runs=3, end_at=end_at, name="n", expires_after=MINUTE, flow=flow)
    taken_away = ("max_runs", "end_at", "name", "expires_after_seconds", "flow_control", "cron")
    changed = edit(service, definition, json.dumps(dict.fromkeys(taken_away)))
    assert (changed.schedule.max_runs, changed.schedule.end_at, changed.name) == (None, None, None)
    assert (changed.template.expires_after, changed.template.flow) == (None, None)
    assert changed.schedule.cron.text == "0 * * * *"


CRONS = ["* * * * *", "5 10 * * *", "*/5 * * * *", "5,6 * * * *", "0 0 1 1 *", "4-6 10 18 11 *"]


@given(
    before=st.sampled_from(CRONS),
    after=st.sampled_from(CRONS),
    moved=st.integers(0, 180_000),
    jitter=st.integers(0, 59),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_change_never_fires_at_once(before, after, moved, jitter):
    service = Service()
    service.clock.move(timedelta(milliseconds=moved))
    definition = service.planned(before, jitter_seconds=jitter)
    service.clock.move(timedelta(milliseconds=moved))
    service.queue.take()
    changed = edit(service, definition, f'{{"cron": "{after}", "payload": 1}}', payload="1")
    now = service.clock.now()
    runs = [run for run in waiting(service, definition) if run.recurs.plan == changed.plan]
    assert [run.recurs.at > now and run.due_at > now for run in runs] == [True]
    assert {due.due_at for packet in service.queue.packets for due in packet.dues} <= {runs[0].due_at}
    assert next_run_at(changed, runs=(), now=now) == runs[0].due_at


def test_the_run_of_a_change_that_crashed_halfway_belongs_to_no_plan(service):
    definition = service.planned()

    def crash():
        raise KeyboardInterrupt

    service.definitions.before["change"].append(crash)
    with pytest.raises(KeyboardInterrupt):
        edit(service, definition, '{"cron": "20 * * * *"}')
    (left,) = [run for run in waiting(service, definition) if run.recurs.plan != definition.plan]
    changed = edit(service, definition, '{"cron": "40 * * * *"}')
    assert changed.plan != left.recurs.plan
    assert followed(service, left).instead.after.state is RunState.CANCELLED
    (run,) = [run for run in waiting(service, definition) if run.recurs.plan == changed.plan]
    assert run.due_at == START + 35 * MINUTE


def test_of_two_changes_at_once_only_the_winners_run_is_begun(service):
    definition = service.planned()

    def faster():
        edit(service, definition, '{"cron": "20 * * * *", "payload": 1}', payload="1")

    service.definitions.before["change"].append(faster)
    changed = edit(service, definition, '{"cron": "20 * * * *", "payload": 2}', payload="2")
    assert changed.version == 3
    runs = [run for run in waiting(service, definition) if followed(service, run).instead is None]
    assert [run.payload.text for run in runs] == ["2"]


def test_a_change_that_lost_a_race_with_if_match_is_refused(service):
    definition = service.planned()
    service.definitions.before["change"].append(
        lambda: edit(service, definition, '{"name": "theirs"}') and None
    )
    with pytest.raises(VersionMismatch):
        edit(service, definition, '{"name": "ours"}', version=1)
    assert service.definitions.get(definition.id).name == "theirs"


def test_a_change_that_always_loses_gives_up(service):
    definition = service.planned()
    service.definitions.before["change"] += [lambda: Written.CONFLICT] * 3
    with pytest.raises(Conflict):
        edit(service, definition, '{"name": "n"}')


def test_a_table_that_fails_is_told_as_such(service):
    definition = service.planned()
    service.definitions.before["change"].append(lambda: Written.UNAVAILABLE)
    with pytest.raises(Unavailable):
        service.definition_changer.cancel("demo", definition.id, version=None)


@pytest.mark.parametrize("verb", ["edit", "pause", "resume", "cancel"])
def test_another_tenants_task_is_not_there(service, verb):
    definition = service.planned()
    changer = service.definition_changer
    asked = {
        "edit": lambda: edit(service, definition, '{"name": "n"}', tenant="other"),
        "pause": lambda: changer.pause("other", definition.id, reason=None),
        "resume": lambda: changer.resume("other", definition.id),
        "cancel": lambda: changer.cancel("other", definition.id, version=None),
    }
    with pytest.raises(NotFound):
        asked[verb]()
    assert service.definitions.get(definition.id) == definition


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ('{"cron": "30 * * * *", "max_runs": 7, "tags": ["a"]}', None),
        ('{"retry": {"max_attempts": 2}, "flow_control": {"key": "mail", "rate": 5}}', None),
        ('{"payload": 1}', "1"),
        ('{"payload": 1}', LARGE),
        ('{"target": {"type": "sqs", "queue_url": "https://sqs.us-east-1.amazonaws.com/1/q"}}', None),
    ],
)
@pytest.mark.parametrize("version", [None, 1])
def test_a_repeated_change_makes_no_second_plan(service, text, payload, version):
    definition = service.planned()
    changed = edit(service, definition, text, payload=payload, version=version)
    rows = service.runs_of(definition)
    service.clock.move(2 * MINUTE)
    assert edit(service, definition, text, payload=payload, version=version) == changed
    assert (service.definitions.get(definition.id), changed.version) == (changed, 2)
    assert service.runs_of(definition) == rows
    key = changed.template.payload.key
    assert key is None or service.payloads.kept_until[key].year == 2200


def test_a_paused_task_that_is_changed_twice_alike_stays_as_it_is(service):
    definition = service.planned()
    service.definition_changer.pause("demo", definition.id, reason=None)
    changed = edit(service, definition, '{"cron": "30 * * * *"}')
    assert edit(service, definition, '{"cron": "30 * * * *"}') == changed


def test_a_finished_task_begins_again_by_the_change_that_it_has_already(service):
    definition = service.planned()
    finished = definitions.finish(definition, now=START, reached=Reached(runs=1))
    service.definitions.change(definition, finished)
    again = edit(service, definition, '{"cron": "0 * * * *"}')
    assert (again.state, again.version) == (State.ACTIVE, 3)
    assert [run.recurs.plan for run in waiting(service, definition)][-1:] == [again.plan]


def test_a_change_that_leaves_no_run_is_refused_by_its_field(service):
    definition = service.planned()
    with pytest.raises(ValidationFailed) as refused:
        edit(service, definition, '{"end_at": "2026-11-18T10:10:00Z"}')
    assert [name for name, _ in refused.value.fields] == ["end_at"]
    assert service.definitions.get(definition.id) == definition


def test_runs_that_have_begun_count_for_the_new_plan(service):
    definition = service.planned("* * * * *", max_runs=3)
    (first,) = waiting(service, definition)
    service.clock.sleep_until(first.due_at)
    service.tasks.add(followed(service, first).rows)
    service.tasks.commit([transitions.Transition(before=first, after=claimed(first))])
    changed = edit(service, definition, '{"cron": "*/2 * * * *"}')
    (run,) = [run for run in waiting(service, definition) if run.recurs.plan == changed.plan]
    assert (changed.runs_before, run.recurs.number) == (1, 2)
    assert begun(changed, service.runs_of(changed)) == 1
    with pytest.raises(ValidationFailed) as refused:
        edit(service, definition, '{"max_runs": 1}')
    assert [name for name, _ in refused.value.fields] == ["max_runs"]


class TestPauses:
    def test_a_paused_task_has_no_next_run_and_the_one_that_waits_is_skipped(self, service):
        definition = service.planned()
        paused = service.definition_changer.pause("demo", definition.id, reason="why")
        assert (paused.state, paused.reason, paused.plan) == (State.PAUSED, "why", definition.plan)
        assert next_run_at(paused, runs=(), now=START) is None
        (skipped,) = service.runs_of(definition)
        assert (skipped.state, skipped.history[-1].why) == (RunState.SKIPPED, "paused: why")

    def test_pausing_and_resuming_twice_is_no_error(self, service):
        definition = service.planned()
        paused = service.definition_changer.pause("demo", definition.id, reason=None)
        assert service.definition_changer.pause("demo", definition.id, reason="other") == paused
        resumed = service.definition_changer.resume("demo", definition.id)
        assert service.definition_changer.resume("demo", definition.id) == resumed

    def test_a_resumed_task_runs_at_its_next_instant_and_makes_up_for_nothing(self, service):
        definition = service.planned("* * * * *")
        service.definition_changer.pause("demo", definition.id, reason=None)
        service.clock.move(10 * MINUTE + SECOND)
        service.queue.take()
        resumed = service.definition_changer.resume("demo", definition.id)
        runs = [run for run in waiting(service, definition) if run.recurs.plan == resumed.plan]
        assert [run.due_at for run in runs] == [START + 11 * MINUTE]
        assert [packet.dues for packet in service.queue.packets] == [(Due.of(runs[0]),)]

    def test_a_change_while_it_is_paused_plans_nothing_until_it_is_resumed(self, service):
        definition = service.planned()
        service.definition_changer.pause("demo", definition.id, reason=None)
        changed = edit(service, definition, '{"cron": "30 * * * *"}')
        assert changed.state is State.PAUSED
        assert [run.recurs.plan for run in waiting(service, definition)] == []
        service.definition_changer.resume("demo", definition.id)
        assert [run.due_at for run in waiting(service, definition)] == [START + 25 * MINUTE]

    def test_a_task_without_a_run_left_is_not_resumed(self, service):
        definition = service.planned(end_at=HOUR)
        service.definition_changer.pause("demo", definition.id, reason=None)
        service.clock.sleep_until(HOUR)
        with pytest.raises(InvalidState):
            service.definition_changer.resume("demo", definition.id)
        assert service.definitions.get(definition.id).state is State.PAUSED


class TestCancelling:
    def test_no_run_begins_any_more_and_the_one_to_come_is_gone(self, service):
        definition = service.planned()
        (run,) = waiting(service, definition)
        cancelled = service.definition_changer.cancel("demo", definition.id, version=1)
        assert cancelled.state is State.CANCELLED
        assert service.tasks.get(run.id).state is RunState.CANCELLED
        assert followed(service, run).instead.after.state is RunState.CANCELLED
        assert service.definition_changer.cancel("demo", definition.id, version=1) == cancelled

    def test_a_run_that_cannot_be_ended_now_does_not_undo_it(self, service):
        definition = service.planned()
        (run,) = waiting(service, definition)
        service.tasks.unavailable[run.id] = 1
        assert service.definition_changer.cancel("demo", definition.id, version=None).state is State.CANCELLED

    def test_a_cancel_ends_the_newest_waiting_runs_and_leaves_the_others(self, service):
        definition = service.planned()
        service.by_hand.trigger(definition, key=None)
        planned = definition.schedule.walk(START - 125 * MINUTE)
        service.tasks.add([service.runs.backfilled(definition, next(planned), now=START) for _ in range(3)])
        one, *others = waiting(service, definition)
        claim = Transition(before=one, after=claimed(one))
        failed = transitions.fail(claim.after, now=START, failure=Failure(why="http 500"), draw=0)
        service.tasks.commit([claim])
        service.tasks.commit([failed])
        running = Transition(before=others[0], after=claimed(others[0]))
        service.tasks.commit([running])
        service.definition_changer.cancel("demo", definition.id, version=None)
        by_state = Counter(run.state for run in service.runs_of(definition))
        assert by_state == {RunState.CANCELLED: 4, RunState.RUNNING: 1}
        assert service.tasks.get(one.id).history[-1].why == "its task was cancelled"

    @pytest.mark.parametrize("verb", ["edit", "pause", "resume"])
    def test_a_cancelled_task_stays_as_it_is(self, service, verb):
        definition = service.planned()
        cancelled = service.definition_changer.cancel("demo", definition.id, version=None)
        changer = service.definition_changer
        asked = {
            "edit": lambda: edit(service, definition, '{"name": "n"}'),
            "pause": lambda: changer.pause("demo", definition.id, reason=None),
            "resume": lambda: changer.resume("demo", definition.id),
        }
        with pytest.raises(InvalidState) as refused:
            asked[verb]()
        assert refused.value.state == "CANCELLED"
        assert service.definitions.get(definition.id) == cancelled

    def test_another_version_than_if_match_names_is_refused(self, service):
        definition = service.planned()
        with pytest.raises(VersionMismatch):
            service.definition_changer.cancel("demo", definition.id, version=2)


class TestPayloads:
    def test_a_large_payload_outlives_every_plan_and_goes_when_another_takes_its_place(self, service):
        definition = service.planned(payload=Payload(text=LARGE))
        first = service.definitions.get(definition.id).template.payload
        changed = edit(service, definition, '{"payload": 1}', payload=OTHER_LARGE)
        assert changed.template.payload.key not in (None, first.key)
        assert service.templates.text(changed) == OTHER_LARGE
        assert service.templates.text(service.definitions.get(definition.id)) == OTHER_LARGE
        assert service.payloads.kept_until[first.key] == START + KEPT
        assert service.payloads.kept_until[changed.template.payload.key].year == 2200

    def test_a_change_of_something_else_keeps_it(self, service):
        definition = service.planned(payload=Payload(text=LARGE))
        changed = edit(service, definition, '{"name": "n"}')
        assert service.templates.text(changed) == LARGE
        assert service.payloads.kept_until[changed.template.payload.key].year == 2200

    def test_the_loser_of_a_race_leaves_the_winners_alone(self, service):
        definition = service.planned()
        service.payloads.before_put.append(lambda: edit(service, definition, '{"payload": 1}', payload=LARGE))
        with pytest.raises(VersionMismatch):
            edit(service, definition, '{"payload": 2}', payload=OTHER_LARGE, version=1)
        assert service.templates.text(service.definitions.get(definition.id)) == LARGE


class TestNextRuns:
    def test_it_follows_from_the_plan_alone(self, service):
        definition = service.planned()
        for minutes, expected in ((0, HOUR), (54, HOUR), (55, HOUR + 60 * MINUTE)):
            assert next_run_at(definition, runs=(), now=START + minutes * MINUTE) == expected

    def test_one_that_jitter_makes_later_is_still_to_come(self, service):
        definition = service.planned(jitter_seconds=3000)
        (run,) = waiting(service, definition)
        assert run.due_at > HOUR
        assert next_run_at(definition, runs=(), now=run.due_at - SECOND) == run.due_at
        assert next_run_at(definition, runs=(), now=run.due_at) > run.due_at

    def test_occurrences_before_the_registration_are_no_runs_of_the_plan(self, service):
        service.clock.sleep_until(HOUR + SECOND)
        definition = service.planned(jitter_seconds=3000)
        (run,) = waiting(service, definition)
        assert next_run_at(definition, runs=(), now=HOUR + SECOND) == run.due_at
        assert run.due_at >= HOUR + 60 * MINUTE
