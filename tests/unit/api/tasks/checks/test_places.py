"""Refusal of a task whose key has no free place before the task's lifetime ends."""

from datetime import timedelta

import pytest

from functions.api.tasks.checks.places import PlaceWanted, outrun
from functions.api.tasks.recurring.forms import schedule
from postdate.domain.errors import LimitExceeded
from postdate.domain.flow import FlowControl
from postdate.domain.task import LIFETIME
from postdate.use_cases.plan_templates import PAYLOAD_KEPT
from tests.unit.doubles import MINUTE, SECOND, START

DAY = timedelta(days=1)
DAILY = FlowControl(key="mail", rate=1, period_seconds=86_400)
NARROW = FlowControl(key="mail", parallelism=1)


def wanted(count, *, flow=DAILY, due_at=START):
    return [PlaceWanted(flow=flow, due_at=due_at)] * count


def refused(service, asked):
    return [place for place, each in enumerate(service.places.refusals("demo", asked)) if each is not None]


def test_a_task_with_a_place_within_its_lifetime_is_accepted(service):
    assert refused(service, wanted(60)) == []


def test_of_one_request_those_are_refused_for_which_no_place_is_left(service):
    assert refused(service, wanted(75)) == list(range(60, 75))


def test_places_that_are_taken_already_count(service):
    service.flow.take("demo", "mail", 59 * DAY, now=START)
    assert refused(service, wanted(2)) == [1]
    (_, refusal) = service.places.refusals("demo", wanted(2), named=str.upper)
    assert isinstance(refusal, LimitExceeded)
    text = "places are taken until 2027-01-17, more than 60 days after the task's instant"
    assert refusal.fields == (("FLOW_CONTROL", text),)


def test_a_later_task_has_more_time(service):
    service.flow.take("demo", "mail", 70 * DAY, now=START)
    assert refused(service, wanted(1)) == [0]
    assert refused(service, wanted(1, due_at=START + 10 * DAY)) == [0]
    assert refused(service, wanted(1, due_at=START + 10 * DAY + SECOND)) == []


def test_the_run_that_is_due_first_takes_the_first_place(service):
    asked = [*wanted(1, due_at=START + 59 * DAY), *wanted(1)]
    assert refused(service, asked * 2) == []


def test_another_key_another_tenants_and_none_have_places_of_their_own(service):
    service.flow.take("demo", "mail", 90 * DAY, now=START)
    service.flow.take("other", "calls", 90 * DAY, now=START)
    other = FlowControl(key="calls", rate=1, period_seconds=86_400)
    assert refused(service, [*wanted(1, flow=other), *wanted(1, flow=None), *wanted(1, flow=NARROW)]) == []


def test_nothing_is_refused_while_nobody_can_say(service):
    service.flow.take("demo", "mail", 90 * DAY, now=START)
    service.flow.unavailable = 1
    assert refused(service, wanted(2)) == []
    assert refused(service, wanted(2)) == [0, 1]


def test_places_are_read_again_after_a_minute(service):
    assert refused(service, wanted(1)) == []
    service.flow.take("demo", "mail", 90 * DAY, now=START)
    service.clock.move(MINUTE - SECOND)
    service.flow.unavailable = 1
    assert refused(service, wanted(1)) == []
    assert service.flow.unavailable == 1, "it was asked for again too soon"
    service.flow.unavailable = 0
    service.clock.move(SECOND)
    assert refused(service, wanted(1)) == [0]


def test_a_task_that_needs_no_place_asks_for_none(service):
    service.flow.unavailable = 1
    service.places.refusals("demo", [*wanted(1, flow=None), *wanted(1, flow=NARROW)])
    assert service.flow.unavailable == 1


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({"flow": DAILY}, False),
        ({"flow": DAILY, "due_at": START + 31 * DAY}, True),
        ({"flow": NARROW}, True),
        ({"due_at": START + MINUTE}, True),
    ],
)
def test_a_change_is_refused_if_it_leaves_the_task_without_a_place(service, changes, fits):
    task = service.registered()
    service.flow.take("demo", "mail", 90 * DAY, now=START)
    if fits:
        service.changer.edit("demo", task.id, version=None, **({"due_at": None} | changes))
    else:
        with pytest.raises(LimitExceeded):
            service.changer.edit("demo", task.id, version=None, **({"due_at": None} | changes))
        assert service.tasks.get(task.id) == task


def test_a_task_that_has_a_key_is_not_moved_to_where_the_key_has_no_place(service):
    task = service.registered(flow=DAILY, due_at=START + 80 * DAY)
    service.flow.take("demo", "mail", 90 * DAY, now=START)
    with pytest.raises(LimitExceeded):
        service.changer.edit("demo", task.id, version=None, due_at=START + MINUTE)
    assert service.tasks.get(task.id) == task


@pytest.mark.parametrize(
    ("cron", "rate", "period", "is_outrun"),
    [
        ("* * * * *", 1, 60, False),
        ("* * * * *", 1, 86_400, True),
        ("0 * * * *", 1, 86_400, True),
        ("0 0 * * *", 1, 86_400, False),
        ("*/5 9-17 * * *", 1, 600, False),
    ],
)
def test_a_plan_that_asks_for_more_runs_than_its_rate_lets_begin_is_refused(cron, rate, period, is_outrun):
    control = FlowControl(key="mail", rate=rate, period_seconds=period)
    refusal = outrun(schedule(cron, "UTC"), control, now=START)
    assert (refusal is not None) is is_outrun
    assert outrun(schedule(cron, "UTC"), NARROW, now=START) is None
    assert outrun(schedule(cron, "UTC"), None, now=START) is None


@pytest.mark.parametrize(("runs", "is_outrun"), [(60, False), (61, False), (62, True)])
def test_a_plan_that_ends_before_its_runs_wait_for_too_long_is_kept(runs, is_outrun):
    plan = schedule("* * * * *", "UTC", max_runs=runs)
    assert (outrun(plan, DAILY, now=START) is not None) is is_outrun


def test_a_payload_is_kept_for_longer_than_its_task_lives():
    assert LIFETIME + timedelta(days=1) < PAYLOAD_KEPT
