import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from functions.api.forms import DELAY_SECONDS_MAX, fingerprint, parsed
from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.due import due_at
from functions.api.tasks.fields import RetryForm
from functions.api.tasks.forms import PAYLOAD_BYTES_MAX, BatchForm, BatchTaskForm, TaskForm, payload_text
from functions.api.tasks.one_time import answers
from postdate.domain.errors import Malformed, PayloadTooLarge, ValidationFailed
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Destination, State
from tests.unit.doubles import MINUTE, SECOND, START, a_task, in_state

HOOK = {"type": "webhook", "url": "https://hooks.example.com/a"}
ASKED = {"delay_seconds": 5, "target": HOOK}
MISSING = Ellipsis
NOW = START


def body(**changes):
    asked = {**ASKED, **changes}
    return json.dumps({name: value for name, value in asked.items() if value is not MISSING})


def fields_refused(form, text, within=""):
    with pytest.raises(ValidationFailed) as refused:
        parsed(form, text, within)
    return [name for name, _ in refused.value.fields]


WRONG = [
    ({"colour": "red"}, "colour"),
    ({"target": {**HOOK, "verify": False}}, "target.verify"),
    ({"target": {**HOOK, "queue_url": "q"}}, "target.queue_url"),
    ({"target": {"type": "sqs", "queue_url": "q", "url": "u"}}, "target.url"),
    ({"retry": {"tries": 3}}, "retry.tries"),
    ({"target": MISSING}, "target"),
    ({"target": None}, "target"),
    ({"target": {"url": "u"}}, "target.type"),
    ({"target": {"type": "carrier pigeon"}}, "target.type"),
    ({"target": {"type": "webhook"}}, "target.url"),
    ({"target": {"type": "sqs"}}, "target.queue_url"),
    ({"target": {"type": "eventbridge", "bus": "b"}}, "target.detail_type"),
    ({"target": {"type": "eventbridge", "detail_type": "d"}}, "target.bus"),
    ({"target": {"type": "eventbridge", "bus": "b", "detail_type": ""}}, "target.detail_type"),
    ({"target": {"type": "eventbridge", "bus": "b", "detail_type": "d" * 129}}, "target.detail_type"),
    ({"target": {"type": "eventbridge", "bus": "b", "detail_type": "d", "source": "s"}}, "target.source"),
    ({"target": {**HOOK, "method": "GET"}}, "target.method"),
    ({"target": {**HOOK, "method": "post"}}, "target.method"),
    ({"target": {**HOOK, "headers": {"a": 1}}}, "target.headers.a"),
    ({"target": {**HOOK, "headers": []}}, "target.headers"),
    ({"target": {**HOOK, "url": 1}}, "target.url"),
    ({"delay_seconds": -1}, "delay_seconds"),
    ({"delay_seconds": DELAY_SECONDS_MAX + 1}, "delay_seconds"),
    ({"delay_seconds": 1.5}, "delay_seconds"),
    ({"delay_seconds": "5"}, "delay_seconds"),
    ({"delay_seconds": True}, "delay_seconds"),
    ({"delay_seconds": MISSING, "run_at": "tomorrow"}, "run_at"),
    ({"delay_seconds": MISSING, "run_at": "2026-11-18"}, "run_at"),
    ({"delay_seconds": MISSING, "run_at": "2026-11-18T10:05:00"}, "run_at"),
    ({"delay_seconds": MISSING, "run_at": 1795000000}, "run_at"),
    ({"delay_seconds": MISSING, "run_at": "1795000000"}, "run_at"),
    ({"delay_seconds": MISSING}, "body"),
    ({"run_at": "2026-11-18T10:06:00Z"}, "body"),
    ({"timeout_seconds": 0}, "timeout_seconds"),
    ({"timeout_seconds": 901}, "timeout_seconds"),
    ({"name": ""}, "name"),
    ({"name": "n" * 129}, "name"),
    ({"tags": ["t"] * 11}, "tags"),
    ({"tags": [""]}, "tags.0"),
    ({"tags": ["ok", "t" * 65]}, "tags.1"),
    ({"tags": "t"}, "tags"),
    ({"retry": {"max_attempts": 0}}, "retry.max_attempts"),
    ({"retry": {"max_attempts": 51}}, "retry.max_attempts"),
    ({"retry": {"max_attempts": 2.0}}, "retry.max_attempts"),
    ({"retry": {"initial_seconds": 0.09}}, "retry.initial_seconds"),
    ({"retry": {"initial_seconds": 86_401}}, "retry.initial_seconds"),
    ({"retry": {"multiplier": 0.9}}, "retry.multiplier"),
    ({"retry": {"multiplier": 10.1}}, "retry.multiplier"),
    ({"retry": {"max_seconds": 0.5}}, "retry.max_seconds"),
    ({"retry": {"max_seconds": 86_401}}, "retry.max_seconds"),
    ({"retry": {"jitter": "yes"}}, "retry.jitter"),
]


@pytest.mark.parametrize(
    ("changes", "field"), WRONG, ids=lambda value: None if isinstance(value, dict) else value
)
def test_a_wrong_field_is_refused_by_its_name(changes, field):
    assert fields_refused(TaskForm, body(**changes)) == [field]


def test_every_wrong_field_is_named_at_once():
    assert set(fields_refused(TaskForm, body(colour="red", timeout_seconds=0, name=1))) == {
        "colour",
        "timeout_seconds",
        "name",
    }


def test_an_unknown_field_is_called_unknown():
    with pytest.raises(ValidationFailed) as refused:
        parsed(TaskForm, body(colour="red"))
    assert refused.value.fields == (("colour", "is not a known field"),)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "{'a': 1}", b"\xff\xfe", "[" * 100_000, '{"a": NaN}'])
def test_a_body_that_is_no_json_is_malformed(text):
    with pytest.raises(Malformed):
        parsed(TaskForm, text)


@pytest.mark.parametrize("text", ["[]", "null", "1", '"text"'])
def test_json_that_is_no_object_is_refused_as_a_body(text):
    assert fields_refused(TaskForm, text) == ["body"]


@pytest.mark.parametrize(
    "changes",
    [
        {"delay_seconds": 0},
        {"delay_seconds": DELAY_SECONDS_MAX},
        {"timeout_seconds": 1},
        {"timeout_seconds": 900},
        {"name": "n" * 128, "tags": ["t" * 64] * 10},
        {"retry": {"max_attempts": 1, "initial_seconds": 0.1, "multiplier": 1, "max_seconds": 1}},
        {"retry": {"max_attempts": 50, "initial_seconds": 86_400, "multiplier": 10, "max_seconds": 86_400}},
        {"payload": None},
        {"payload": [1, {"a": [None, True, 0.5, "ü"]}]},
        {"target": {**HOOK, "method": "PUT", "headers": {"A": "b"}}},
        {"target": {"type": "sqs", "queue_url": "q"}},
    ],
    ids=str,
)
def test_the_bounds_themselves_are_allowed(changes):
    form = parsed(TaskForm, body(**changes))
    for name, value in changes.items():
        if not isinstance(value, dict):
            assert getattr(form, name) == value


def test_fields_that_are_left_out_have_their_defaults():
    form = parsed(TaskForm, body())
    assert form.retry.policy() == RetryPolicy()
    assert (form.timeout_seconds, form.payload, form.name, form.tags) == (30, None, None, [])
    assert form.target.destination() == Destination(type="webhook", address=HOOK["url"])


def test_a_target_becomes_the_destination_it_names():
    form = parsed(TaskForm, body(target={**HOOK, "method": "PATCH", "headers": {"A": "1", "B": "2"}}))
    assert form.target.destination() == Destination(
        type="webhook", address=HOOK["url"], method="PATCH", headers=(("A", "1"), ("B", "2"))
    )
    queue = parsed(TaskForm, body(target={"type": "sqs", "queue_url": "q"}))
    assert queue.target.destination() == Destination(type="sqs", address="q")
    bus = parsed(TaskForm, body(target={"type": "eventbridge", "bus": "b", "detail_type": "Order due"}))
    assert bus.target.destination() == Destination(type="eventbridge", address="b", detail_type="Order due")


def test_a_policy_is_what_was_asked_for():
    asked = {"max_attempts": 7, "initial_seconds": 1.5, "multiplier": 3, "max_seconds": 60, "jitter": False}
    assert RetryForm(**asked).policy() == RetryPolicy(**asked)


class TestInstants:
    def asked(self, run_at):
        return due_at(parsed(TaskForm, body(delay_seconds=MISSING, run_at=run_at)), NOW)

    def refused(self, run_at):
        """Told and not raised: it counts only for a request that was not answered before."""
        refusal = self.asked(run_at)
        return isinstance(refusal, ValidationFailed) and [name for name, _ in refusal.fields] == ["run_at"]

    def test_a_delay_counts_from_now(self):
        assert due_at(parsed(TaskForm, body(delay_seconds=90)), NOW) == NOW + 90 * SECOND

    def test_an_instant_is_read_with_its_offset_and_never_cut_to_an_earlier_one(self):
        assert self.asked("2026-11-18T12:06:00+02:00") == START + MINUTE
        assert self.asked("2026-11-18T10:06:00.0001Z") == START + MINUTE + SECOND / 1000

    @pytest.mark.parametrize("ago", [0, 1, 60])
    def test_an_instant_that_has_just_passed_means_now(self, ago):
        assert self.asked((NOW - ago * SECOND).isoformat()) == NOW

    @pytest.mark.parametrize("offset", [-60.001, -86_400, DELAY_SECONDS_MAX + 0.001])
    def test_the_past_and_what_is_more_than_a_year_ahead_are_refused(self, offset):
        assert self.refused((NOW + timedelta(seconds=offset)).isoformat())

    @pytest.mark.parametrize(
        "run_at", ["9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.9999Z", "0001-01-01T00:00:00+14:00"]
    )
    def test_the_edges_of_the_calendar_are_refused_by_name(self, run_at):
        assert fields_refused(TaskForm, body(delay_seconds=MISSING, run_at=run_at)) == ["run_at"]

    def test_a_year_ahead_is_allowed(self):
        last = NOW + DELAY_SECONDS_MAX * SECOND
        assert self.asked(last.isoformat()) == last

    def test_a_change_without_an_instant_has_none(self):
        assert due_at(parsed(TaskChangeForm, '{"payload": 1}'), NOW) is None


class TestChanges:
    @pytest.mark.parametrize(
        "text",
        ["{}", '{"run_at": null, "target": null}', '{"run_at": "2026-11-18T10:06:00Z", "delay_seconds": 1}'],
    )
    def test_a_change_of_nothing_or_to_two_instants_is_refused(self, text):
        assert fields_refused(TaskChangeForm, text) == ["body"]

    def test_a_payload_can_be_changed_to_null(self):
        form = parsed(TaskChangeForm, '{"payload": null}')
        assert (form.payload, form.model_fields_set) == (None, {"payload"})

    @pytest.mark.parametrize("field", ["name", "tags", "timeout_seconds", "status", "task_id"])
    def test_a_field_that_cannot_be_changed_is_refused_by_its_name(self, field):
        assert fields_refused(TaskChangeForm, json.dumps({"payload": 1, field: "x"})) == [field]


class TestBatches:
    @pytest.mark.parametrize("number", [0, 101])
    def test_a_batch_has_one_to_a_hundred_tasks(self, number):
        assert fields_refused(BatchForm, json.dumps({"tasks": [ASKED] * number})) == ["tasks"]

    @pytest.mark.parametrize("number", [1, 100])
    def test_the_items_of_a_batch_are_not_judged_by_its_form(self, number):
        assert len(parsed(BatchForm, json.dumps({"tasks": [{"nonsense": 1}] * number})).tasks) == number

    @pytest.mark.parametrize("key", ["", "k" * 256, "with space", "ü", "line\n"])
    def test_a_key_of_a_batch_item_is_as_the_header_would_be(self, key):
        assert fields_refused(BatchTaskForm, body(idempotency_key=key)) == ["idempotency_key"]

    def test_a_field_of_an_item_is_named_with_its_place(self):
        assert fields_refused(TaskForm, body(colour="red"), "tasks.3") == ["tasks.3.colour"]


class TestPayloads:
    def test_a_payload_is_kept_as_compact_json(self):
        assert payload_text({"b": [1, None], "a": "ü"}) == '{"b":[1,null],"a":"ü"}'

    def test_the_limit_counts_bytes_and_not_characters(self):
        assert len(payload_text("x" * (PAYLOAD_BYTES_MAX - 2))) == PAYLOAD_BYTES_MAX
        for text in ("x" * (PAYLOAD_BYTES_MAX - 1), "ü" * (PAYLOAD_BYTES_MAX // 2)):
            with pytest.raises(PayloadTooLarge):
                payload_text(text)

    @pytest.mark.parametrize("number", ["1e400", "-1e400", '[1, {"a": 2e999}]'])
    def test_a_number_that_json_readers_take_for_infinite_is_refused(self, number):
        text = body(payload=MISSING)[:-1] + f', "payload": {number}}}'
        with pytest.raises((Malformed, ValidationFailed)):
            payload_text(parsed(TaskForm, text).payload)


class TestFingerprints:
    def test_order_spaces_and_what_is_usual_anyway_make_no_difference(self):
        asked = parsed(TaskForm, '{"delay_seconds":5,"target":{"type":"webhook","url":"u"}}')
        same = parsed(
            TaskForm,
            """{"target": {"url": "u", "type": "webhook", "method": "POST"},
                "retry": {"max_attempts": 30}, "timeout_seconds": 30, "delay_seconds": 5}""",
        )
        assert fingerprint(asked) == fingerprint(same)

    @pytest.mark.parametrize(
        ("retry", "made_when_the_default_was_five_attempts"),
        [
            ("", "6bad24b34102613dd5592d38b3c2d3938103c65b4f3780b73eac173072398cb5"),
            (
                ',"retry":{"initial_seconds":1}',
                "89fc041fec42f180b010e7ebbd816f5d6271bf413d9043526901ed9b98ec2dc8",
            ),
        ],
    )
    def test_a_key_that_was_taken_before_the_default_retry_changed_is_still_the_same_request(
        self, retry, made_when_the_default_was_five_attempts
    ):
        text = f'{{"delay_seconds":5,"target":{{"type":"webhook","url":"u"}}{retry}}}'
        assert fingerprint(parsed(TaskForm, text)) == made_when_the_default_was_five_attempts

    def test_the_key_itself_is_no_part_of_what_is_asked(self):
        with_key = parsed(BatchTaskForm, body(idempotency_key="k"))
        assert fingerprint(with_key) == fingerprint(parsed(BatchTaskForm, body()))

    @pytest.mark.parametrize(
        "changes",
        [
            {"delay_seconds": 6},
            {"payload": 1},
            {"payload": {}},
            {"name": "n"},
            {"tags": ["t"]},
            {"timeout_seconds": 31},
            {"retry": {"max_attempts": 4}},
            {"target": {**HOOK, "url": "https://hooks.example.com/b"}},
            {"target": {**HOOK, "headers": {"a": "b"}}},
        ],
        ids=str,
    )
    def test_every_difference_in_what_is_asked_makes_one(self, changes):
        assert fingerprint(parsed(TaskForm, body(**changes))) != fingerprint(parsed(TaskForm, body()))


class TestViews:
    def test_instants_are_told_in_utc_with_milliseconds(self):
        told = answers.of(a_task(due_at=START + SECOND / 4))
        assert told["run_at"] == told["next_run_at"] == "2026-11-18T10:05:00.250Z"
        assert datetime.fromisoformat(told["created_at"]) == START - 10 * MINUTE

    @pytest.mark.parametrize("state", list(State))
    def test_only_what_waits_has_a_next_run_and_only_what_began_a_last_one(self, state):
        told = answers.of(in_state(state))
        assert told["status"] == state.value
        assert (told["next_run_at"] is not None) == state.waits
        assert (told["last_run"] is None) == (
            state in (State.PENDING, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.MISSED)
        )

    @pytest.mark.parametrize(
        ("state", "status"),
        [
            (State.RUNNING, "RUNNING"),
            (State.SUCCEEDED, "SUCCEEDED"),
            (State.RETRYING, "FAILED"),
            (State.DEAD, "FAILED"),
        ],
    )
    def test_a_last_run_tells_how_it_went(self, state, status):
        told = answers.of(in_state(state))["last_run"]
        assert (told["status"], told["token"], told["lateness_ms"]) == (status, 1, 0)

    def test_the_values_of_headers_are_never_told(self):
        headers = (("Authorization", "Bearer secret"), ("X-Key", "secret"))
        told = answers.of(a_task(destination=Destination(type="webhook", address="u", headers=headers)))
        assert told["target"]["headers"] == {"Authorization": "***", "X-Key": "***"}
        assert "secret" not in json.dumps(told)

    def test_a_queue_is_told_as_a_queue(self):
        told = answers.of(a_task(destination=Destination(type="sqs", address="q")))
        assert told["target"] == {"type": "sqs", "queue_url": "q"}

    def test_a_bus_is_told_as_a_bus(self):
        told = answers.of(
            a_task(destination=Destination(type="eventbridge", address="b", detail_type="Order due"))
        )
        assert told["target"] == {"type": "eventbridge", "bus": "b", "detail_type": "Order due"}

    def test_the_history_is_told_line_by_line(self):
        told = answers.of(in_state(State.DEAD))["history"]
        assert [(line["version"], line["status"], line["reason"], line["attempt"]) for line in told] == [
            (1, "PENDING", "registered", 0),
            (2, "RUNNING", "sweep", 1),
            (3, "DEAD", "http 410", 1),
        ]

    def test_a_view_can_be_written_as_json_and_names_no_other_tenant(self):
        told = answers.of(replace(in_state(State.RETRYING), name="n", tags=("t",)))
        assert json.loads(json.dumps(told)) == told
        assert "tenant" not in told


def test_one_instant_written_with_two_offsets_is_one_request():
    here, there = (
        fingerprint(parsed(TaskForm, body(delay_seconds=MISSING, run_at=run_at)))
        for run_at in ("2026-11-18T10:06:00Z", "2026-11-18T12:06:00+02:00")
    )
    assert here == there
