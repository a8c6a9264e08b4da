"""Tasks through the API's handler: registered, read, listed, changed, cancelled."""

from datetime import UTC, datetime, timedelta

import pytest

from postdate.domain.due import Via
from tests.boundary import Boundary
from tests.integration.world import Client, World, in_base64

TASKS = "/api/v1/tasks"


def test_a_registered_task_is_answered_with_all_that_is_known_of_it(client: Client) -> None:
    answer = client.register(delay_seconds=600, name="invoice", tags=["a"])
    assert answer.status == 201
    task = answer.body
    assert answer.headers["location"] == f"{TASKS}/{task['task_id']}"
    assert answer.headers["etag"] == '"1"'
    assert "idempotent-replayed" not in answer.headers
    assert (task["status"], task["version"], task["attempts"]) == ("PENDING", 1, 0)
    assert (task["name"], task["tags"], task["target"]) == ("invoice", ["a"], client.target)
    due_in = datetime.fromisoformat(task["next_run_at"]) - datetime.now(UTC)
    assert timedelta(seconds=580) < due_in <= timedelta(seconds=600)


def test_a_task_is_read_back_with_its_payload(client: Client) -> None:
    payload = {"größe": "🐈", "n": [1, 2.5, None, True]}
    registered = client.register(payload=payload)
    read = client.get(f"{TASKS}/{registered.body['task_id']}")
    assert read.status == 200
    assert read.headers["etag"] == '"1"'
    assert read.body == registered.body | {"payload": payload}


def test_a_payload_of_the_largest_size_is_read_back(client: Client) -> None:
    payload = "x" * (256 * 1024 - 2)
    registered = client.register(payload=payload)
    assert registered.status == 201
    assert client.get(f"{TASKS}/{registered.body['task_id']}").body["payload"] == payload


def test_a_body_in_base64_is_read_as_what_it_stands_for(client: Client) -> None:
    form = {"delay_seconds": 0, "target": client.target, "name": "größe"}
    answer = client.call("POST", TASKS, form, change=in_base64)
    assert (answer.status, answer.body["name"]) == (201, "größe")


def test_what_is_due_soon_is_called_by_who_registers_it_and_the_rest_by_the_sweep(
    client: Client, world: World, boundary: Boundary
) -> None:
    soon = client.register(delay_seconds=30).body["task_id"]
    client.register(delay_seconds=600)
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert [due.id for due in packet.dues] == [soon]
    assert (packet.tenant, packet.via) == (client.tenant, Via.REGISTRATION)
    assert timedelta(seconds=20) <= delay <= timedelta(seconds=29)


def test_a_key_stands_for_one_task_however_often_it_is_used(client: Client) -> None:
    first = client.register(key="order-7", delay_seconds=600)
    second = client.register(key="order-7", delay_seconds=600)
    assert (first.status, second.status) == (201, 201)
    assert second.body == first.body
    assert second.headers["idempotent-replayed"] == "true"
    assert len(client.get(TASKS).body["tasks"]) == 1
    other = client.register(key="order-7", delay_seconds=601)
    assert (other.status, other.body["code"]) == (422, "idempotency_key_reused")
    assert len(client.get(TASKS).body["tasks"]) == 1


def test_a_task_is_refused_while_its_key_has_no_place_for_it(client: Client) -> None:
    daily = {"key": "newsletter", "rate": 1, "period_seconds": 86_400}
    batch = client.call(
        "POST",
        f"{TASKS}/batch",
        {"tasks": [{"delay_seconds": 5, "target": client.target, "flow_control": daily} for _ in range(61)]},
    )
    errors = [result["error"]["code"] for result in batch.body["results"] if "error" in result]
    assert errors == ["limit_exceeded"]
    later = client.register(delay_seconds=3600).body
    assert client.call("PATCH", f"{TASKS}/{later['task_id']}", {"flow_control": daily}).status == 200
    every_hour = {"cron": "0 * * * *", "overlap": "allow", "target": client.target, "flow_control": daily}
    outrun = client.call("POST", TASKS, every_hour)
    assert (outrun.status, outrun.body["code"]) == (422, "limit_exceeded")
    skips = client.call("POST", TASKS, every_hour | {"overlap": "skip"})
    assert skips.status == 201
    path = f"{TASKS}/{skips.body['task_id']}"
    assert client.call("PATCH", path, {"overlap": "allow"}).body["code"] == "limit_exceeded"
    assert client.call("PATCH", path, {"overlap": "allow", "flow_control": None}).status == 200


def test_a_key_of_one_tenant_is_nothing_to_another(client: Client, world: World) -> None:
    other = world.tenant(f"{client.tenant}-2")
    first, second = client.register(key="same"), other.register(key="same")
    assert first.body["task_id"] != second.body["task_id"]
    assert "idempotent-replayed" not in second.headers


def test_a_batch_spoils_no_item_for_the_fault_of_another(client: Client) -> None:
    good = {"delay_seconds": 600, "target": client.target}
    elsewhere = {"type": "sqs", "queue_url": "https://sqs.us-east-1.amazonaws.com/999999999999/theirs"}
    batch = [
        good,
        good | {"colour": "red"},
        good | {"idempotency_key": "b-1"},
        good | {"target": elsewhere},
        "no task",
        good | {"payload": "x" * (256 * 1024)},
        good | {"delay_seconds": -1},
    ]
    answer = client.call("POST", f"{TASKS}/batch", {"tasks": batch})
    assert answer.status == 200
    results = answer.body["results"]
    assert [result["index"] for result in results] == list(range(len(batch)))
    assert [result["error"]["code"] if "error" in result else "ok" for result in results] == [
        "ok",
        "validation_failed",
        "ok",
        "destination_not_allowed",
        "validation_failed",
        "payload_too_large",
        "validation_failed",
    ]
    assert results[1]["error"]["errors"] == [{"field": "colour", "message": "is not a known field"}]
    listed = {task["task_id"] for task in client.get(TASKS).body["tasks"]}
    assert listed == {results[0]["task"]["task_id"], results[2]["task"]["task_id"]}


def test_a_key_named_several_times_in_one_batch_stands_for_one_task(client: Client) -> None:
    form = {"delay_seconds": 600, "target": client.target, "idempotency_key": "b-2"}
    results = client.call("POST", f"{TASKS}/batch", {"tasks": [form] * 9}).body["results"]
    assert len({result["task"]["task_id"] for result in results}) == 1
    assert len(client.get(TASKS).body["tasks"]) == 1
    other = client.call("POST", f"{TASKS}/batch", {"tasks": [form | {"name": "other"}]}).body["results"][0]
    assert other["error"]["code"] == "idempotency_key_reused"


def test_a_hundred_are_registered_at_once_and_listed_page_by_page(client: Client) -> None:
    forms = [{"delay_seconds": 600 + place, "target": client.target} for place in range(100)]
    results = client.call("POST", f"{TASKS}/batch", {"tasks": forms}).body["results"]
    registered = [result["task"] for result in results]
    found, query = [], "limit=33"
    while True:
        page = client.get(TASKS, query).body
        found += [task["task_id"] for task in page["tasks"]]
        if page["next_cursor"] is None:
            break
        query = f"limit=33&cursor={page['next_cursor']}"
    in_order = sorted(registered, key=lambda task: (task["run_at"], task["task_id"]))
    assert found == [task["task_id"] for task in in_order]


def test_a_list_is_narrowed_by_status_name_and_tag(client: Client) -> None:
    ids = {
        name: client.register(delay_seconds=600, name=name, tags=[name[0]]).body["task_id"]
        for name in ("alpha", "beta", "axis")
    }
    client.call("DELETE", f"{TASKS}/{ids['alpha']}")

    def listed(query: str) -> set[str]:
        return {task["name"] for task in client.get(TASKS, query).body["tasks"]}

    assert listed("status=CANCELLED") == {"alpha"}
    assert listed("status=PENDING") == {"beta", "axis"}
    assert listed("name=beta") == {"beta"}
    assert listed("tag=a") == {"alpha", "axis"}
    assert listed("tag=a&status=PENDING") == {"axis"}


def test_a_cancelled_task_stays_cancelled_however_often_it_is_asked(client: Client) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    first, second = client.call("DELETE", path), client.call("DELETE", path)
    assert (first.status, first.body["success"], first.body["status"]) == (200, True, "CANCELLED")
    assert second.body == first.body
    assert client.get(path).body["version"] == 2
    change = client.call("PATCH", path, {"delay_seconds": 5})
    assert (change.status, change.body["code"], change.body["state"]) == (409, "invalid_state", "CANCELLED")


def test_a_changed_instant_payload_and_target_are_what_is_stored(client: Client) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    run_at = (datetime.now(UTC) + timedelta(days=300)).replace(microsecond=123_000)
    retry = {"max_attempts": 2, "jitter": False}
    changed = client.call(
        "PATCH", path, {"run_at": run_at.isoformat(), "payload": "x" * 5000, "retry": retry}
    )
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    read = client.get(path).body
    assert datetime.fromisoformat(read["next_run_at"]) == run_at
    assert (read["payload"], read["retry"]["max_attempts"]) == ("x" * 5000, 2)
    assert [(line["version"], line["status"]) for line in read["history"]] == [(1, "PENDING"), (2, "PENDING")]


@pytest.mark.parametrize("payload", ["small", "y" * 5000], ids=["small", "large"])
def test_a_task_moved_far_away_keeps_its_payload_and_is_pointed_to(
    client: Client, world: World, payload: str
) -> None:
    task_id = client.register(delay_seconds=600, payload=payload).body["task_id"]
    assert client.call("PATCH", f"{TASKS}/{task_id}", {"delay_seconds": 86_400}).status == 200
    assert client.get(f"{TASKS}/{task_id}").body["payload"] == payload
    rows = world.rows(world.tables["items"])
    (home,) = [row for row in rows if row["id"] == {"S": task_id}]
    (pointer,) = [row for row in rows if row.get("points_to") == {"S": task_id}]
    assert (pointer["due"], pointer["version"]) == (home["due"], home["version"])


def test_a_large_payload_that_becomes_small_and_large_again_is_the_last_one_given(client: Client) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600, payload='y' * 5000).body['task_id']}"
    for payload in ("small", "z" * 6000, "x" * 4000):
        assert client.call("PATCH", path, {"payload": payload}).status == 200
        assert client.get(path).body["payload"] == payload


def test_a_task_moved_close_is_called_by_who_moves_it(
    client: Client, world: World, boundary: Boundary
) -> None:
    task_id = client.register(delay_seconds=86_400).body["task_id"]
    client.call("PATCH", f"{TASKS}/{task_id}", {"delay_seconds": 20})
    ((packet, _),) = world.sent(boundary.calls, "tasks")
    assert [(due.id, due.version) for due in packet.dues] == [(task_id, 2)]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_is_refused_when_the_caller_has_seen_another_version(client: Client, method: str) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    body = {"delay_seconds": 700} if method == "PATCH" else None
    refused = client.call(method, path, body, {"if-match": '"7"'})
    assert (refused.status, refused.body["code"]) == (412, "version_conflict")
    assert client.get(path).body["version"] == 1
    assert client.call(method, path, body, {"if-match": '"1"'}).status == 200
