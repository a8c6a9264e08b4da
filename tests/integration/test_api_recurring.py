"""Recurring tasks, their runs and what receivers say of them, through the API's handler."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postdate.domain import backfill
from postdate.domain.due import Via
from tests.boundary import Boundary, refused
from tests.integration.world import Answer, Client, World

TASKS, RUNS = "/api/v1/tasks", "/api/v1/runs"


def recur(client: Client, *, key: str | None = None, **fields: Any) -> Answer:
    """Each day at midnight, unless said otherwise: nothing is due while a test runs."""
    form = {"cron": "0 0 * * *", "target": client.target, "payload": {"n": 1}} | fields
    return client.call("POST", TASKS, form, {} if key is None else {"idempotency-key": key})


def runs(client: Client, task_id: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{TASKS}/{task_id}/runs", query).body["runs"]
    return found


def soon() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).date().isoformat() + "T00:00:00.000Z"


def test_a_recurring_task_is_answered_read_and_listed_alike(client: Client) -> None:
    large = "x" * 5000
    answer = recur(client, payload=large, name="n", tags=["a"], timezone="UTC", overlap="queue", max_runs=9)
    assert (answer.status, answer.headers["etag"]) == (201, '"1"')
    task = answer.body
    assert answer.headers["location"] == f"{TASKS}/{task['task_id']}"
    assert (task["status"], task["next_run_at"], task["overlap"]) == ("ACTIVE", soon(), "queue")
    once = client.register(delay_seconds=600, name="n").body
    assert client.get(f"{TASKS}/{task['task_id']}").body == task | {"payload": large}
    assert client.get(TASKS).body["tasks"] == [task, once]
    assert client.get(TASKS, "status=ACTIVE").body["tasks"] == [task]
    assert client.get(TASKS, "name=n&status=PENDING").body["tasks"] == [once]
    assert client.get(TASKS, "tag=a").body["tasks"] == [task]
    assert client.get(TASKS, "limit=1").body["tasks"] == [task]


def test_the_runs_of_all_recurring_tasks_are_listed_page_by_page_none_missed_or_twice(client: Client) -> None:
    plans = [recur(client, cron=f"{minute} 0 * * *").body["task_id"] for minute in (3, 1, 2)]
    client.register(delay_seconds=600)
    for plan in plans:
        for _ in range(2):
            assert client.call("POST", f"{TASKS}/{plan}/trigger").status in (201, 202)
    found = (run for plan in plans for run in runs(client, plan))
    wanted = sorted(found, key=lambda run: (run["planned_at"], run["run_id"]))
    assert len(wanted) == 9

    def walked(query: str) -> list[dict[str, Any]]:
        found, cursor = list[dict[str, Any]](), ""
        while True:
            page = client.get(RUNS, f"limit=2{query}{cursor}").body
            assert len(page["runs"]) <= 2
            found += page["runs"]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    assert walked("&order=asc") == wanted
    assert walked("") == walked("&order=desc") == wanted[::-1]
    to_come = soon()
    assert walked(f"&order=asc&from={to_come}") == wanted[-3:]
    assert walked(f"&order=asc&until={to_come}") == wanted[:-3]
    assert walked("&status=PENDING&order=asc") == wanted
    assert walked("&status=DEAD") == []
    of_one = [run["run_id"] for run in wanted if run["task_id"] == plans[0]]
    assert walked(f"&task_id={plans[0]}") == runs(client, plans[0])
    assert {run["run_id"] for run in walked(f"&task_id={plans[0]}&until={to_come}")} == {*of_one[:-1]}
    assert [run["run_id"] for run in walked(f"&task_id={plans[0]}&from={to_come}&order=asc")] == of_one[-1:]


def test_a_key_stands_for_one_recurring_task(client: Client) -> None:
    first, second = recur(client, key="k"), recur(client, key="k")
    assert (second.status, second.body) == (201, first.body)
    assert second.headers["idempotent-replayed"] == "true"
    other = recur(client, key="k", cron="0 1 * * *")
    assert (other.status, other.body["code"]) == (422, "idempotency_key_reused")
    assert len(client.get(TASKS).body["tasks"]) == len(runs(client, first.body["task_id"])) == 1


def test_a_batch_mixes_what_runs_once_and_what_recurs(client: Client) -> None:
    usual = {"target": client.target}
    batch = [
        usual | {"cron": "0 0 * * *"},
        usual | {"delay_seconds": 600},
        usual | {"cron": "0 0 31 2 *"},
        usual | {"delay_seconds": 600, "overlap": "queue"},
        usual | {"cron": "0 0 * * *", "idempotency_key": "b"},
    ]
    results = client.call("POST", f"{TASKS}/batch", {"tasks": batch}).body["results"]
    told = [result["task"]["status"] if "task" in result else result["error"]["errors"] for result in results]
    assert [each if isinstance(each, str) else each[0]["field"] for each in told] == [
        *("ACTIVE", "PENDING", "cron", "overlap", "ACTIVE"),
    ]


def test_a_run_that_is_due_soon_is_called_by_who_registers_it(
    client: Client, world: World, boundary: Boundary
) -> None:
    task_id = recur(client, cron="* * * * *").body["task_id"]
    ((packet, _),) = world.sent(boundary.calls, "tasks")
    (run,) = runs(client, task_id)
    assert ([due.id for due in packet.dues], packet.via) == ([run["run_id"]], Via.REGISTRATION)


def test_a_changed_plan_has_one_run_to_come(client: Client) -> None:
    path = f"{TASKS}/{recur(client).body['task_id']}"
    changed = client.call("PATCH", path, {"cron": "0 12 31 12 *", "payload": 2, "end_at": None})
    assert (changed.status, changed.body["version"], changed.body["cron"]) == (200, 2, "0 12 31 12 *")
    assert client.get(path).body["payload"] == 2
    by_status = {run["status"]: run["planned_at"] for run in runs(client, path.removeprefix(f"{TASKS}/"))}
    assert by_status.keys() == {"PENDING", "CANCELLED"}
    assert by_status["PENDING"] == changed.body["next_run_at"]
    refused = client.call("PATCH", path, {"name": "n"}, {"if-match": '"1"'})
    assert (refused.status, refused.body["code"]) == (412, "version_conflict")


def test_changes_are_answered_and_made_once_while_the_runs_cannot_be_listed(
    client: Client, boundary: Boundary
) -> None:
    path = f"{TASKS}/{recur(client).body['task_id']}"
    boundary.fail(
        "Query", *[refused("ThrottlingException")] * 500, when=lambda call: call.names("by_listing")
    )
    change = {"cron": "0 12 31 12 *", "payload": 2}
    for _ in range(2):
        changed = client.call("PATCH", path, change, {"if-match": '"1"'})
        assert (changed.status, changed.body["version"], changed.body["last_run"]) == (200, 2, None)
    paused = client.call("POST", f"{path}/pause")
    assert (paused.status, paused.body["version"], paused.body["next_run_at"]) == (200, 3, None)
    resumed = client.call("POST", f"{path}/resume")
    assert (resumed.status, resumed.body["next_run_at"]) == (200, changed.body["next_run_at"])
    assert client.call("DELETE", path).body["status"] == "CANCELLED"
    assert client.get(path).status == 503


@pytest.mark.parametrize("recurs", [True, False])
def test_a_flow_control_is_changed_and_taken_away(client: Client, recurs: bool) -> None:
    first = {"key": "mail", "rate": 5, "period_seconds": 2, "parallelism": None}
    made = recur(client, flow_control=first) if recurs else client.register(run_at=soon(), flow_control=first)
    path = f"{TASKS}/{made.body['task_id']}"
    other = {"key": "mail", "rate": None, "period_seconds": 1, "parallelism": 3}
    assert client.call("PATCH", path, {"payload": 2}).body["flow_control"] == first
    asked = {"key": "mail", "parallelism": 3}
    assert client.call("PATCH", path, {"flow_control": asked}).body["flow_control"] == other
    assert client.get(path).body["flow_control"] == other
    changed = client.call("PATCH", path, {"flow_control": None})
    assert (changed.status, changed.body["flow_control"]) == (200, None)
    assert (client.get(path).body["flow_control"], changed.body["next_run_at"]) == (None, soon())


def test_a_task_is_paused_resumed_and_cancelled(client: Client) -> None:
    path = f"{TASKS}/{recur(client).body['task_id']}"
    paused = client.call("POST", f"{path}/pause", {"reason": "stocktaking"}).body
    assert (paused["status"], paused["reason"], paused["next_run_at"]) == ("PAUSED", "stocktaking", None)
    resumed = client.call("POST", f"{path}/resume").body
    assert (resumed["status"], resumed["reason"], resumed["next_run_at"]) == ("ACTIVE", None, soon())
    cancelled = client.call("DELETE", path)
    assert (cancelled.status, cancelled.body["success"], cancelled.body["status"]) == (200, True, "CANCELLED")
    assert client.call("DELETE", path).body == cancelled.body
    for verb in ("pause", "resume", "trigger"):
        answer = client.call("POST", f"{path}/{verb}")
        assert (answer.status, answer.body["code"], answer.body["state"]) == (
            *(409, "invalid_state", "CANCELLED"),
        )


def test_a_run_that_was_triggered_is_not_delivered_after_its_task_was_cancelled(
    client: Client, world: World
) -> None:
    path = f"{TASKS}/{recur(client).body['task_id']}"
    run_id = client.call("POST", f"{path}/trigger").body["run_id"]
    assert client.call("DELETE", path).status == 200
    run = client.get(f"{RUNS}/{run_id}").body
    assert (run["status"], run["reason"]) == ("CANCELLED", "its task was cancelled")
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    assert world.received(client.queue_url) == []


@pytest.mark.parametrize("verb", ["pause", "resume", "trigger", "backfill"])
def test_what_runs_once_is_neither_paused_nor_triggered(client: Client, verb: str) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}/{verb}"
    body = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"} if verb == "backfill" else None
    answer = client.call("POST", path, body)
    assert (answer.status, answer.body["code"], answer.body["state"]) == (409, "invalid_state", "PENDING")


def test_a_triggered_run_runs_and_is_read_by_every_path(client: Client, world: World) -> None:
    task_id = recur(client).body["task_id"]
    key = {"idempotency-key": "t"}
    first, second = (client.call("POST", f"{TASKS}/{task_id}/trigger", None, key) for _ in range(2))
    run_id = first.body["run_id"]
    assert (first.status, first.body["task_id"], second.body["run_id"]) == (201, task_id, run_id)
    assert second.headers["idempotent-replayed"] == "true"
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    run = client.get(first.headers["location"]).body
    assert (run["status"], run["reason"]) == ("SUCCEEDED", None)
    assert [(each["number"], each["outcome"]) for each in run["attempts"]] == [(1, "SUCCEEDED")]
    assert client.get(f"{TASKS}/{task_id}/runs/{run_id}").body == run
    assert runs(client, task_id, "status=SUCCEEDED") == [run]
    assert client.get(f"{TASKS}/{task_id}").body["last_run"]["run_id"] == run_id
    assert client.get(f"{TASKS}/{recur(client).body['task_id']}/runs/{run_id}").status == 404
    assert client.get(f"{TASKS}/{run_id}").status == 404
    assert len(world.received(client.queue_url)) == 1


def test_what_runs_once_is_its_own_run(client: Client) -> None:
    task_id = client.register(delay_seconds=600).body["task_id"]
    (run,) = runs(client, task_id)
    assert (run["run_id"], run["task_id"], run["status"]) == (task_id, task_id, "PENDING")
    assert client.get(f"{RUNS}/{task_id}").body == run


def test_a_time_gone_by_is_run_once_however_often_it_is_asked_for(client: Client, world: World) -> None:
    task_id = recur(client).body["task_id"]
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-30T00:00:00Z"}
    for _ in range(2):
        answer = client.call("POST", f"{TASKS}/{task_id}/backfill", span)
        assert (answer.status, answer.body["state"], answer.body["eligible"]) == (
            202,
            "RUNNING",
            {"count": 30},
        )
        for _ in range(2):
            assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
        told = client.get(answer.headers["location"]).body
        assert (told["state"], told["done"], told["task_id"]) == ("DONE", 30, task_id)
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    done = runs(client, task_id, "status=SUCCEEDED&limit=100")
    assert [run["planned_at"][:10] for run in done] == [f"2026-01-{day:02d}" for day in range(30, 0, -1)]
    assert len(world.received(client.queue_url)) == 30
    wide = client.call("POST", f"{TASKS}/{task_id}/backfill", span | {"from": "1971-01-01T00:00:00Z"})
    assert (wide.status, wide.body["code"]) == (422, "limit_exceeded")


def test_a_task_that_runs_once_has_no_preview(client: Client) -> None:
    once = client.call("POST", TASKS, {"target": client.target, "delay_seconds": 600}).body
    refused = client.call("POST", f"{TASKS}/preview", {"task_id": once["task_id"]})
    assert (refused.status, refused.body["code"]) == (409, "invalid_state")


def test_a_preview_tells_where_the_clocks_change(client: Client) -> None:
    asked = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "from": "2026-03-28T00:00:00Z", "count": 2}
    first, second = client.call("POST", f"{TASKS}/preview", asked).body["next"]
    assert (first["at"], first["local"], first["note"]) == (
        *("2026-03-28T01:30:00.000Z", "2026-03-28T02:30:00+01:00", None),
    )
    assert second["at"] == "2026-03-29T01:00:00.000Z"
    assert "does not exist" in second["note"]
    task = recur(client, jitter_seconds=3600).body
    (planned,) = client.call("POST", f"{TASKS}/preview", {"task_id": task["task_id"], "count": 1}).body[
        "next"
    ]
    assert planned["at"] == task["next_run_at"]
    assert client.call("DELETE", f"{TASKS}/{task['task_id']}").status == 200
    assert client.call("POST", f"{TASKS}/preview", {"task_id": task["task_id"]}).body == {"next": []}


def test_nothing_of_another_tenant_is_found_by_any_path(client: Client, world: World) -> None:
    other = world.tenant(f"{client.tenant}-2")
    task_id = recur(client).body["task_id"]
    run_id = runs(client, task_id)[0]["run_id"]
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}
    asked = [
        ("GET", f"{TASKS}/{task_id}", None),
        ("GET", f"{TASKS}/{task_id}/runs", None),
        ("GET", f"{TASKS}/{task_id}/runs/{run_id}", None),
        ("GET", f"{RUNS}/{run_id}", None),
        ("PATCH", f"{TASKS}/{task_id}", {"name": "n"}),
        ("DELETE", f"{TASKS}/{task_id}", None),
        ("POST", f"{TASKS}/preview", {"task_id": task_id}),
        *[("POST", f"{TASKS}/{task_id}/{verb}", None) for verb in ("pause", "resume", "trigger", "retry")],
        ("POST", f"{TASKS}/{task_id}/backfill", span),
        ("POST", f"{RUNS}/{run_id}/retry", None),
        *[("POST", f"{RUNS}/{run_id}/{verb}", {"token": 1}) for verb in ("complete", "fail", "heartbeat")],
        ("GET", f"/v1/jobs/{task_id}", None),
        ("POST", f"/v1/jobs/{task_id}/cancel", None),
    ]
    for method, path, body in asked:
        answer = other.call(method, path, body)
        assert (answer.status, answer.body["code"]) == (404, "not_found"), path
    assert client.get(f"{TASKS}/{task_id}").body["version"] == 1


class TestWords:
    def delivered(self, client: Client, world: World, **fields: Any) -> str:
        """A task in its receiver's hands."""
        task_id: str = client.register(ack="explicit", timeout_seconds=60, **fields).body["task_id"]
        assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
        assert len(world.received(client.queue_url)) == 1
        run = client.get(f"{RUNS}/{task_id}").body
        assert (run["status"], run["token"]) == ("RUNNING", 1)
        return f"{RUNS}/{task_id}"

    def test_a_run_is_extended_and_completed_by_its_receiver(self, client: Client, world: World) -> None:
        path = self.delivered(client, world)
        lease = datetime.fromisoformat(client.get(path).body["lease_until"])
        extended = client.call("POST", f"{path}/heartbeat", {"token": 1})
        assert extended.status == 200
        assert datetime.fromisoformat(extended.body["lease_until"]) >= lease
        assert client.get(path).body["lease_until"] == extended.body["lease_until"]
        too_long = client.call("POST", f"{path}/heartbeat", {"token": 1, "extend_seconds": 61})
        assert [error["field"] for error in too_long.body["errors"]] == ["extend_seconds"]
        old = client.call("POST", f"{path}/complete", {"token": 7})
        assert (old.status, old.body["code"], old.body["state"]) == (409, "invalid_state", "RUNNING")
        done = client.call("POST", f"{path}/complete", {"token": "1"})
        assert (done.status, done.body["status"]) == (200, "SUCCEEDED")
        assert client.call("POST", f"{path}/complete", {"token": 1}).body == done.body
        assert client.call("POST", f"{path}/fail", {"token": 1}).status == 409

    @pytest.mark.parametrize("word", ["complete", "fail"])
    def test_a_run_that_its_receiver_has_ended_makes_room_for_the_next(
        self, client: Client, world: World, word: str
    ) -> None:
        flow = {"key": "disk", "parallelism": 1}
        path = self.delivered(client, world, flow_control=flow)
        assert client.call("POST", f"{path}/{word}", {"token": 1}).status == 200
        self.delivered(client, world, flow_control=flow)

    def test_a_run_that_has_failed_is_called_again(
        self, client: Client, world: World, boundary: Boundary
    ) -> None:
        path = self.delivered(client, world)
        before = len(boundary.calls)
        failed = client.call("POST", f"{path}/fail", {"token": 1, "error": "the disk is full"})
        assert (failed.status, failed.body["status"]) == (200, "RETRYING")
        assert [each["error"] for each in failed.body["attempts"]] == ["the disk is full"]
        ((packet, _),) = world.sent(boundary.calls[before:], "tasks")
        assert [(due.id, due.version) for due in packet.dues] == [
            (path.removeprefix(f"{RUNS}/"), failed.body["version"])
        ]

    def test_a_run_that_has_failed_for_good_is_buried_and_tried_again(
        self, client: Client, world: World
    ) -> None:
        path = self.delivered(client, world)
        world.received(world.queues["tasks"], tenant=client.tenant)
        dead = client.call("POST", f"{path}/fail", {"token": 1, "final": True}).body
        assert dead["status"] == "DEAD"
        assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
        (letter,) = world.received(world.queues["tasks-dlq"], tenant=client.tenant)
        assert dead["run_id"] in letter["body"]
        again = client.call("POST", f"{path}/retry")
        assert (again.status, again.body["status"]) == (202, "DEAD")
        assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
        assert client.get(path).body["token"] == 2
        assert client.call("POST", f"{path}/retry").body["state"] == "RUNNING"


def test_a_backfill_of_more_runs_than_one_step_makes_goes_on_by_itself(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "STEP_RUNS", 10)
    task_id = recur(client).body["task_id"]
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-25T23:00:00Z"}
    key = {"idempotency-key": "b"}
    asked, again = (client.call("POST", f"{TASKS}/{task_id}/backfill", span, key) for _ in range(2))
    assert (again.body["operation_id"], again.headers["idempotent-replayed"]) == (
        asked.body["operation_id"],
        "true",
    )
    path, done = asked.headers["location"], []
    for _ in range(3):
        calls = world.received(world.queues["tasks"], tenant=client.tenant)
        steps = [call for call in calls if '"op_' in call["body"]]
        assert world.run(steps) == []
        done.append(client.get(path).body["done"])
    assert done == [10, 20, 25]
    assert client.get(path).body["state"] == "DONE"
    planned = [run["planned_at"][:10] for run in runs(client, task_id, "limit=100")]
    assert sorted(planned)[:25] == [f"2026-01-{day:02d}" for day in range(1, 26)]


def test_a_backfill_of_a_task_that_was_cancelled_does_not_go_on(client: Client, world: World) -> None:
    task_id = recur(client).body["task_id"]
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-30T00:00:00Z"}
    path = client.call("POST", f"{TASKS}/{task_id}/backfill", span).headers["location"]
    assert client.call("DELETE", f"{TASKS}/{task_id}").status == 200
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    told = client.get(path).body
    assert (told["state"], told["done"], told["reason"]) == ("ABORTED", 0, "its task was cancelled")
    other = world.tenant(f"{client.tenant}-2")
    assert other.get(path).status == 404
