"""`postdate explain`: each state of each kind tells the reason for it and what happens next.

The items are the examples of the API's description, in every state that the product has.
"""

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import pytest

from cli.explanation import Beside, explained, kind_of
from cli.next_steps import NEXT
from postdate.domain import account, backfill, definition, operation, payment, subscription, task
from tests.described import DESCRIPTION

PATHS: Final = DESCRIPTION["paths"]
EARLY: Final = datetime(2026, 1, 1, tzinfo=UTC)
AFTER: Final = datetime(2027, 1, 1, tzinfo=UTC)
STATES: Final[dict[str, type[StrEnum]]] = {
    "payments": payment.State,
    "tasks": task.State,
    "plans": definition.State,
    "operations": operation.State,
    "backfills": backfill.State,
    "subscriptions": subscription.State,
    "accounts": account.Status,
}
# The states in which nothing happens by itself.
RESTING: Final = {
    "payments": {"COMPLETED", "FAILED", "CANCELLED"},
    "tasks": {"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"},
    "plans": {"PAUSED", "FINISHED", "CANCELLED"},
    "operations": {"PLANNED", "STOPPED", "DONE", "ABORTED"},
    "backfills": {"DONE", "ABORTED"},
    "subscriptions": {"PAUSED", "ENDED"},
    "accounts": {"CLOSED"},
}


def example(method: str, path: str, code: str = "200") -> dict[str, Any]:
    answer = PATHS[f"/api/v1/{path}"][method]["responses"][code]["content"]["application/json"]
    found: dict[str, Any] = deepcopy(answer["example"])
    return found


ONCE: Final = example("post", "tasks", "201")
RUN: Final = example("get", "runs/{run_id}")
PLAN: Final = example("post", "tasks/{task_id}/pause")
PAYMENT: Final = example("get", "payments/{payment_id}")
TRAIL: Final = example("get", "payments/{payment_id}/events")["events"]
BACKFILL: Final = example("get", "operations/{operation_id}")
OVERVIEW: Final = example("get", "overview")
EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "payments": PAYMENT | {"executed_at": "2026-11-18T10:05:00.009Z", "lateness_ms": 9},
    "tasks": ONCE,
    "plans": PLAN,
    "operations": BACKFILL
    | {"action": "redrive", "kind": "tasks", "reason": "it is back", "stopped_because": None}
    | {"waiting": 3, "sent": 2, "failed": 1, "changed": 0, "max_per_second": 50},
    "backfills": BACKFILL,
    "subscriptions": example("get", "subscriptions/{subscription_id}"),
    "accounts": example("get", "accounts/{account_id}"),
}
EXECUTING: Final = TRAIL[0] | {
    "type": "payment.executing",
    "data": {"after": {"next_attempt_at": "2026-11-18T10:06:00.000Z"}, "reason": "no answer"},
}
HELD: Final = RUN | {"lease_until": "2026-11-18T10:06:00.000Z"}
# What is read beside the item.
BESIDE: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("payments", "EXECUTING"): {"events": [TRAIL[0], EXECUTING]},
    ("tasks", "RUNNING"): {"run": HELD},
}


def id_of(item: dict[str, Any]) -> str:
    names = ("payment_id", "run_id", "operation_id", "subscription_id", "account_id", "task_id")
    return str(next(item[name] for name in names if name in item))


def told(item: dict[str, Any], *, at: datetime = EARLY, **beside: Any) -> dict[str, Any]:
    return explained(id_of(item), item, Beside(**beside), now=at)


def in_state(kind: str, state: str) -> dict[str, Any]:
    item = EXAMPLES[kind]
    return item | {"state" if "state" in item else "status": state}


def every_state() -> Iterable[Any]:
    return [pytest.param(kind, state.value) for kind, states in STATES.items() for state in states]


def test_there_is_a_text_for_each_state_of_the_product_and_for_no_other() -> None:
    assert {kind: set(texts) for kind, texts in NEXT.items()} == {
        kind: {state.value for state in states} for kind, states in STATES.items()
    }


@pytest.mark.parametrize(("kind", "state"), every_state())
def test_each_state_tells_what_happens_next(kind: str, state: str) -> None:
    answer = told(in_state(kind, state), **BESIDE.get((kind, state), {}))
    assert (answer["kind"], answer["state"]) == (kind, state)
    assert [part for part in ("{", "}", "None", "not known") if part in answer["next"]] == []
    assert answer["next"].startswith("Nothing") == (state in RESTING[kind])


@pytest.mark.parametrize(("kind", "state"), every_state())
def test_two_states_of_a_kind_are_never_explained_alike(kind: str, state: str) -> None:
    others = [
        told(in_state(kind, each.value), run=HELD)["next"] for each in STATES[kind] if each.value != state
    ]
    assert told(in_state(kind, state), run=HELD)["next"] not in others


class TestAPayment:
    def test_says_what_becomes_of_its_amount(self) -> None:
        waiting = in_state("payments", "PENDING")
        assert "held until then" in told(waiting)["next"]
        assert "balance at that instant decides" in told(waiting | {"funding": "at_execution"})["next"]

    def test_that_is_late_leads_to_the_switches(self) -> None:
        waiting = in_state("payments", "PENDING")
        assert "It was due at 2026-11-18T10:05:00.000Z" in told(waiting, at=AFTER)["next"]
        assert "postdate switches list" in told(waiting, at=AFTER)["next"]
        assert "It was due" not in told(waiting, at=EARLY)["next"]

    @pytest.mark.parametrize("is_parked", [True, False])
    def test_that_is_parked_waits_for_a_person(self, is_parked: bool) -> None:
        """Only its newest event tells: an attempt that is to come has an instant."""
        parked = EXECUTING | {"data": {"after": {"status": "EXECUTING"}, "reason": "no answer"}}
        newest = parked if is_parked else EXECUTING
        answer = told(in_state("payments", "EXECUTING"), events=[TRAIL[0], newest])
        assert ("until a person decides" in answer["next"]) == is_parked
        assert ("10:06:00" in answer["next"]) != is_parked
        assert answer["because"] == "no answer"

    def test_tells_its_events(self) -> None:
        lines = told(in_state("payments", "COMPLETED"), events=TRAIL)["history"]
        assert [line.split()[1] for line in lines] == ["scheduled", "completed"]

    def test_that_failed_tells_why(self) -> None:
        failed = in_state("payments", "FAILED") | {"error_message": "rent has 20 available, not 850"}
        assert told(failed, events=TRAIL)["because"] == "rent has 20 available, not 850"


class TestATask:
    def test_that_has_had_its_last_attempt_is_dead_next(self) -> None:
        running = in_state("tasks", "RUNNING") | {"attempts": 30}
        assert "it is DEAD" in told(running, run=HELD)["next"]
        assert "attempt 30 follows" in told(running | {"attempts": 29}, run=HELD)["next"]

    def test_of_explicit_acknowledgement_waits_for_its_receiver(self) -> None:
        running = in_state("tasks", "RUNNING")
        assert told(running, run=HELD)["next"].startswith("Its attempt ends")
        assert told(running | {"ack": "explicit"}, run=HELD)["next"].startswith("Its receiver completes it")

    def test_with_a_deadline_names_it(self) -> None:
        waiting = in_state("tasks", "PENDING") | {"expires_at": "2026-11-19T00:00:00.000Z"}
        assert "No attempt begins after 2026-11-19" in told(waiting)["next"]

    def test_counts_the_attempts_since_its_redrive(self) -> None:
        """A run lists all of its attempts, and a redrive begins again at 1."""
        attempts = [{**RUN["attempts"][0], "number": number} for number in (1, 2, 3, 1)]
        answer = told(RUN | {"attempts": attempts}, task=PLAN)
        assert answer["next"].startswith("Attempt 2 of 30 is due at")
        assert len(answer["history"]) == 4

    @pytest.mark.parametrize("state", ["PENDING", "RETRYING"])
    @pytest.mark.parametrize(
        ("target", "is_held"),
        [
            ({"type": "webhook", "url": "https://user@Hooks.example.com/orders"}, True),
            ({"type": "webhook", "url": "https://other.example.com/orders"}, False),
            ({"type": "sqs", "queue_url": "hooks.example.com"}, False),
        ],
    )
    def test_that_its_destination_holds_back_says_so(
        self, state: str, target: dict[str, Any], is_held: bool
    ) -> None:
        held = told(in_state("tasks", state) | {"target": target}, overview=OVERVIEW)["held"]
        assert len(held) == is_held
        assert not held or "hooks.example.com is OPEN after 10 failures (connection refused)" in held[0]

    def test_that_its_flow_key_holds_back_says_so(self) -> None:
        """The flow key of a run stands in its task."""
        held = told(RUN, task=PLAN | {"flow_control": {"key": "mail"}}, overview=OVERVIEW)["held"]
        assert held == ["Its flow key mail is paused: `postdate flow-keys resume mail`."]
        assert told(RUN, task=PLAN | {"flow_control": {"key": "sms"}}, overview=OVERVIEW)["held"] == []

    def test_that_does_not_wait_is_held_by_nothing(self) -> None:
        dead = in_state("tasks", "DEAD") | {"flow_control": {"key": "mail"}}
        assert told(dead, overview=OVERVIEW)["held"] == []


def test_a_delivery_is_a_run_and_an_event_leads_to_its_item() -> None:
    assert kind_of("dlv_1", RUN) == "tasks"
    event = example("get", "events/{event_id}")
    answer = explained(event["event_id"], event, Beside(), now=EARLY)
    assert f"postdate explain {event['subject']['id']}" in answer["next"]
