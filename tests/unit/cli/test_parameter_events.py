"""The recorder is told each deployment of parameters once, with its author and its reason."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from cli.failure import Failure
from cli.parameter_events import TOLD, Teller
from cli.parameter_store import Deployment
from functions.record.configs import config_changed
from postdate.domain.event import Event

FIRST = Deployment(
    number=1,
    state="COMPLETE",
    version="1",
    percent=100,
    why="user/ann: busy day: half",
    began_at="2026-11-18 10:00:00+00:00",
)


class Store:
    """A history, the newest first, and the documents by their versions."""

    author = "user/bob"

    def __init__(self, *deployments: Deployment) -> None:
        self.deployments = list(deployments)

    def history(self, most: int) -> list[Deployment]:
        return sorted(self.deployments, key=lambda each: -each.number)[:most]

    def document(self, version: str) -> dict[str, Any]:
        return {"registering": {"batch_max": 100 - int(version)}}


class Recorder:
    """The recorder's function, which keeps each event once."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.fails: Exception | None = None
        self.refuses = False

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        if self.fails is not None:
            raise self.fails
        assert FunctionName == "postdate-local-record"
        if self.refuses:
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(b"no")}
        for event in config_changed(json.loads(Payload)):
            assert self.events.setdefault(event.id, event) == event
        return {"Payload": io.BytesIO(b"{}")}


def told(store: Store, recorder: Recorder | None = None, **given: Any) -> list[Event]:
    recorder = recorder or Recorder()
    teller = Teller(store=store, lambdas=recorder, function="postdate-local-record")  # type: ignore[arg-type]
    teller.tell(**given)
    return list(recorder.events.values())


def test_a_deployment_is_told_with_author_reason_and_values() -> None:
    (event,) = told(Store(FIRST))
    assert (event.type, event.sequence, event.subject.id) == ("config.changed", 1, "parameters-1")
    assert (event.actor.type, event.actor.id) == ("aws", "user/ann")
    assert event.data["reason"] == "busy day: half"
    assert event.data["before"] == {"registering.batch_max": 100}
    assert event.data["after"]["registering.batch_max"] == 99
    assert len(event.data["after"]) > 10
    assert event.occurred_at.isoformat() == "2026-11-18T10:00:00+00:00"


def test_a_command_that_died_is_made_up_for_by_the_next_and_nothing_is_told_twice() -> None:
    recorder = Recorder()
    store = Store(FIRST, replace(FIRST, number=2, version="2", why="user/ann: more"))
    first = told(store, recorder)
    assert [event.subject.id for event in first] == ["parameters-1", "parameters-2"]
    assert first[1].data["before"] == {"registering.batch_max": 99}
    store.deployments.append(replace(FIRST, number=3, version="1", why="user/bob: back"))
    again = told(store, recorder)
    assert again[:2] == first
    assert (again[2].actor.id, again[2].data["before"]) == ("user/bob", {"registering.batch_max": 98})


def test_a_deployment_that_an_alarm_took_back_has_a_second_event() -> None:
    back = {"taken_back_at": "2026-11-18 10:05:00+00:00", "taken_back_by": "cloudwatch_alarm"}
    store = Store(FIRST, replace(FIRST, number=2, version="2", state="ROLLED_BACK", **back))
    went, came = told(store)[1:]
    assert (went.sequence, came.sequence) == (1, 2)
    assert went.data["after"] | came.data["before"] == went.data["after"]
    assert came.data["before"] == {"registering.batch_max": 98}
    assert came.data["after"]["registering.batch_max"] == 99
    assert (came.actor.id, came.data["reason"]) == ("cloudwatch_alarm", "cloudwatch_alarm")
    # What was taken back is not what the next deployment replaces.
    store.deployments.append(replace(FIRST, number=3, version="3"))
    assert told(store)[-1].data["before"] == {"registering.batch_max": 99}


def test_a_deployment_that_a_person_stopped_has_the_reason_of_the_command() -> None:
    back = {"taken_back_at": "2026-11-18 10:05:00+00:00", "taken_back_by": "user"}
    store = Store(FIRST, replace(FIRST, number=2, version="2", state="ROLLED_BACK", **back))
    came = told(store, taken_back_because="too slow")[-1]
    assert (came.actor.id, came.data["reason"]) == ("user/bob", "too slow")


def test_only_deployments_whose_former_values_are_known_are_told() -> None:
    found = told(Store(*(replace(FIRST, number=number, version=str(number)) for number in range(4, 20))))
    assert [event.subject.id for event in found] == [
        f"parameters-{number}" for number in range(20 - TOLD, 20)
    ]


def test_a_recorder_that_cannot_be_reached_is_told_to_the_operator() -> None:
    recorder = Recorder()
    recorder.fails = EndpointConnectionError(endpoint_url="x")
    with pytest.raises(Failure, match="could not be recorded as events"):
        told(Store(FIRST), recorder)
    recorder.fails, recorder.refuses = None, True
    with pytest.raises(Failure, match="could not be recorded as events"):
        told(Store(FIRST), recorder)
