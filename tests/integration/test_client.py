"""The methods of the Python client against the API itself: forms, queries and requests without a body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest

from postdate_client import Client, InvalidState, NotFound, ValidationFailed
from postdate_client.transport import Answer
from tests.integration.world import Client as Tenant
from tests.integration.world import World

AT: Final = datetime.now(UTC) + timedelta(hours=3)


@dataclass(frozen=True)
class InProcess:
    """Calls the function as the gateway would for the request that the client sends."""

    tenant: Tenant

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        place, _, query = path.partition("?")
        given = {name.lower(): value for name, value in headers.items()}

        def as_sent(event: dict[str, Any]) -> None:
            kept = {name: event["headers"][name] for name in ("host", "authorization")}
            event.update({"headers": given | kept, "rawQueryString": query})
            if query:
                event["queryStringParameters"] = dict(parse_qsl(query))

        answer = self.tenant.call(method, place, body.decode() if body else None, change=as_sent)
        return Answer(status=answer.status, headers=answer.headers, body=json.dumps(answer.body).encode())

    def close(self) -> None:
        pass


@pytest.fixture
def postdate(client: Tenant) -> Client:
    return Client("http://api", "key", transport=InProcess(client), sleep=lambda _: None)


@pytest.fixture
def target(client: Tenant) -> Any:
    return client.target


class TestAccounts:
    def test_are_opened_filled_corrected_and_closed(self, postdate: Client) -> None:
        opened = postdate.open_account(account_id="rent", limits={"amount_max": 500})
        assert postdate.open_account(account_id="rent", limits={"amount_max": 500}) == opened
        results = postdate.open_accounts([{"account_id": "landlord"}, {"account_id": "no such name"}])
        assert [each["account"]["account_id"] for each in results if "account" in each] == ["landlord"]
        assert [each["error"]["code"] for each in results if "error" in each] == ["validation_failed"]
        deposit = postdate.deposit("rent", amount=100, metadata={"order": "1"}, idempotency_key="d1")
        assert postdate.deposit("rent", amount=100, metadata={"order": "1"}, idempotency_key="d1") == deposit
        assert postdate.adjust("rent", amount=-100, reason="a mistake")["amount"] == -100
        assert [each["type"] for each in postdate.transactions("rent")] == ["DEPOSIT", "ADJUSTMENT"]
        assert postdate.change_account("rent", limits={"amount_max": 600})["limits"]["amount_max"] == 600
        assert postdate.freeze_account("rent")["status"] == "FROZEN"
        assert postdate.unfreeze_account("rent")["status"] == "ACTIVE"
        assert postdate.close_account("rent")["status"] == "CLOSED"
        assert [each["account_id"] for each in postdate.accounts(status="ACTIVE")] == ["landlord"]
        assert postdate.forecast("landlord", until=AT)["balance"] == 0


class TestPayments:
    def test_are_scheduled_found_changed_and_cancelled(self, postdate: Client) -> None:
        postdate.open_accounts([{"account_id": "alice"}, {"account_id": "bob"}])
        postdate.deposit("alice", amount=100)
        payment = postdate.schedule_payment(
            from_account_id="alice",
            to_account_id="bob",
            amount=10,
            scheduled_time=AT,
            metadata={"order": "1"},
        )
        results = postdate.schedule_payments(
            [
                {"from_account_id": "alice", "to_account_id": "bob", "amount": 5, "delay_seconds": 60},
                {"from_account_id": "alice", "to_account_id": "nobody", "amount": 5, "delay_seconds": 60},
            ]
        )
        assert ["payment" in each for each in results] == [True, False]
        later = AT - timedelta(hours=1)
        found = [each["payment_id"] for each in postdate.payments(from_=later, metadata={"order": "1"})]
        assert found == [payment["payment_id"]]
        assert list(postdate.payments(from_=later, metadata={"order": "2"})) == []
        changed = postdate.change_payment(payment["payment_id"], amount=20, version=payment["version"])
        assert (changed["amount"], changed["version"]) == (20, 2)
        assert postdate.forecast("alice")["movements"] != []
        assert postdate.cancel_payment(payment["payment_id"])["status"] == "CANCELLED"
        names = [each["event_type"] for each in postdate.payment_events(payment["payment_id"])]
        assert names == ["SCHEDULED", "CHANGED", "CANCELLED"]
        assert postdate.payment_executions(payment["payment_id"]) == []


class TestTasks:
    def test_are_registered_found_changed_and_cancelled(self, postdate: Client, target: Any) -> None:
        task = postdate.register_task(target=target, run_at=AT, payload={"at": AT}, tags=["mail"])
        results = postdate.register_tasks([{"target": target, "delay_seconds": 60, "name": "second"}])
        assert ["task" in each for each in results] == [True]
        assert [each["task_id"] for each in postdate.tasks(tag="mail")] == [task["task_id"]]
        moved = postdate.change_task(task["task_id"], run_at=AT + timedelta(hours=1))
        assert moved.get("run_at") not in (None, task.get("run_at"))
        assert postdate.cancel_task(task["task_id"])["status"] == "CANCELLED"
        with pytest.raises(InvalidState):
            postdate.retry_task(task["task_id"])

    def test_that_recur_are_paused_run_and_caught_up(self, postdate: Client, target: Any) -> None:
        plan = postdate.register_task(target=target, cron="0 6 * * *", overlap="queue")
        id = plan["task_id"]
        assert postdate.pause_task(id, reason="closed")["status"] == "PAUSED"
        assert postdate.pause_task(id)["status"] == "PAUSED"
        assert postdate.resume_task(id)["status"] == "ACTIVE"
        run = postdate.trigger_task(id)
        assert run["run_id"] in [each["run_id"] for each in postdate.runs(id)]
        assert postdate.run(run["run_id"])["status"] == "PENDING"
        with pytest.raises(InvalidState):
            postdate.retry_run(run["run_id"])
        past = datetime.now(UTC) - timedelta(days=2)
        operation = postdate.backfill_task(id, from_=past, to=past + timedelta(days=1))
        assert postdate.operation(operation["operation_id"])["action"] == "backfill"
        assert len(postdate.preview(task_id=id, count=3)) == 3
        with pytest.raises(ValidationFailed):
            postdate.preview("nonsense")


class TestARun:
    def test_is_extended_failed_and_completed_by_its_token(
        self, postdate: Client, client: Tenant, world: World
    ) -> None:
        fields: Any = {
            "target": client.target,
            "ack": "explicit",
            "retry": {"max_attempts": 5, "initial_seconds": 0.1},
        }
        done, failed = (postdate.register_task(**fields, delay_seconds=0)["task_id"] for _ in range(2))
        world.run(world.received(world.queues["tasks"], tenant=client.tenant))
        for id in (done, failed):
            assert postdate.run(id)["status"] == "RUNNING"
            assert postdate.extend_run(id, token=1, extend_seconds=20)["lease_until"]
        assert postdate.fail_run(failed, token=1, error="the disk is full", final=True)["status"] == "DEAD"
        assert postdate.complete_run(done, token=1)["status"] == "SUCCEEDED"
        assert postdate.complete_run(done, token=1)["status"] == "SUCCEEDED"
        with pytest.raises(InvalidState):
            postdate.extend_run(done, token=1)
        assert postdate.wait_for_task(done)["status"] == "SUCCEEDED"


class TestOperations:
    def test_are_planned_and_listed(self, postdate: Client, target: Any) -> None:
        task = postdate.register_task(target=target, run_at=AT, name="old")
        operation = postdate.plan_operation(
            action="cancel", kind="tasks", reason="of no use", max_per_second=5,
            filter={"name": "old", "from": AT - timedelta(hours=1)},
        )  # fmt: skip
        id = operation["operation_id"]
        assert (operation["state"], operation["eligible"]["count"]) == ("PLANNED", 1)
        assert [each["operation_id"] for each in postdate.operations()] == [id]
        assert [each["item_id"] for each in postdate.operation_items(id)] == [task["task_id"]]
        assert postdate.wait_for_operation(id)["state"] == "PLANNED"
        assert postdate.stop_operation(id)["state"] == "STOPPED"
        with pytest.raises(NotFound):
            postdate.start_operation("op_unknown")
