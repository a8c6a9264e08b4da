import pytest

from functions.api.events import answers
from postdate.domain import event_body, event_types, payment_event, task_event
from postdate.domain.definition import State as PlanState
from postdate.domain.event import Actor, Event, Subject
from postdate.domain.task import State
from tests.unit.doubles import START, in_state


@pytest.mark.parametrize("text", ["*", "payment.*", "payment.completed", "run.dead", "plan.paused"])
def test_a_type_all_of_a_kind_and_all_can_be_wanted(text: str) -> None:
    assert event_types.is_wanted(text)


@pytest.mark.parametrize(
    "text", ["", "payment", "payment.", "payment.*.x", "*.completed", "payments.*", "pigeon.*"]
)
def test_a_type_that_nothing_makes_cannot_be_wanted(text: str) -> None:
    assert not event_types.is_wanted(text)


@pytest.mark.parametrize("state", list(State))
def test_every_state_of_a_task_makes_a_type_that_can_be_wanted(state: State) -> None:
    made = task_event.task_event(None, in_state(state))
    assert made is not None
    assert event_types.is_wanted(made.type)


def test_the_types_of_payments_and_plans_are_all_there() -> None:
    assert set(event_types.NAMES["payment"]) == set(payment_event.NAMES)
    assert len(event_types.NAMES["plan"]) >= len(PlanState)


def test_an_answer_and_a_delivery_tell_an_event_in_the_same_words() -> None:
    event = Event(
        subject=Subject(tenant="demo", kind="account", id="alice"),
        type="account.opened",
        sequence=1,
        occurred_at=START,
        actor=Actor(type="key", id="k1"),
        accounts=("alice",),
        reconstructed=True,
    )
    told = answers.of(event)
    assert told == event_body.body_of(event)
    wanted = answers.Event.__required_keys__ | answers.Event.__optional_keys__
    assert set(told) == wanted
