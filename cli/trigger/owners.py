"""Functions that cause events of accounts, tenants, keys, subscriptions and destinations on a local stack."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from cli.failure import Failure
from cli.trigger.hands import API, PATIENCE_SECONDS, Hands
from cli.trigger.items import ONCE, Fixture
from postdate.domain.breaker import FAILURES_TO_OPEN

_ROUNDS: Final = 4


def of_account(change: Callable[[Hands, str], Any], amount: int = 0) -> Fixture:
    def fixture(it: Hands) -> str:
        id = it.account(amount)
        change(it, id)
        return id

    return fixture


def of_tenant(*steps: tuple[str, str, Any]) -> Fixture:
    """A new tenant, and requests of an operator about it."""

    def fixture(it: Hands) -> str:
        id = it.other
        for method, path, form in steps:
            it.operator.send(method, f"{API}/{path.format(id)}", form)
        return id

    return fixture


def of_key(*steps: tuple[str, str, Any]) -> Fixture:
    def fixture(it: Hands) -> str:
        id = str(it.mine.post(f"{API}/keys", {"name": "triggered", "scopes": ["events:read"]})["key_id"])
        for method, path, form in steps:
            it.mine.send(method, f"{API}/{path.format(id)}", form)
        return id

    return fixture


def of_subscription(*steps: tuple[str, str, Any]) -> Fixture:
    def fixture(it: Hands) -> str:
        form = {"target": it.dead_end, "types": ["audit.failed"], "description": "triggered"}
        id = str(it.mine.post(f"{API}/subscriptions", form)["subscription_id"])
        for method, path, given in (*steps, ("DELETE", "subscriptions/{}", None)):
            it.mine.send(method, f"{API}/{path.format(id)}", given)
        return id

    return fixture


def opened(it: Hands) -> str:
    """Refuses enough calls in a row to open the breaker of their destination. On a busy machine these calls may take
    longer than the minute in which failures count together, so there are several rounds."""
    port = it.dead_end["url"].rpartition("/")[0].rpartition(":")[2]
    for _ in range(_ROUNDS):
        for _ in range(FAILURES_TO_OPEN):
            it.task(target=it.dead_end, delay_seconds=0, **ONCE)
        with suppress(Failure):
            it.seen("destination.opened", port, within=PATIENCE_SECONDS / _ROUNDS)
            break
    return port


def closed(it: Hands) -> str:
    port = opened(it)
    destinations = it.mine.get(f"{API}/destinations?limit=100")["destinations"]
    id = next(each["id"] for each in destinations if port in each["address"])
    it.mine.post(f"{API}/destinations/{quote(id, safe='')}/reset", {})
    return port


def flow_key(it: Hands) -> str:
    name = f"triggered-{uuid4().hex[:12]}"
    it.mine.patch(f"{API}/flow-keys/{name}", {"rate": 5})
    return name


def operation(it: Hands) -> str:
    form = {
        "action": "cancel",
        "kind": "tasks",
        "ids": [it.task()],
        "reason": "triggered",
        "dry_run": False,
    }
    return str(it.mine.post(f"{API}/operations", form)["operation_id"])


def audit(it: Hands) -> str:
    """The reconciliation tells the recorder what it found."""
    run = f"triggered-{uuid4().hex[:12]}"
    tenant = it.mine.get(f"{API}/whoami")["tenant"]
    it.record(action="audit_failed", run=run, found={"tenant": tenant, "checks": ["events_complete"]})
    return run


def config(it: Hands) -> str:
    """The command `postdate config` tells the recorder what it deployed. No parameter changes here."""
    number = int(datetime.now(UTC).timestamp() * 1000)
    step = {"at": datetime.now(UTC).isoformat(), "by": "aws:trigger", "reason": "triggered"}
    values = {"before": {"registering.batch_max": 100}, "after": {"registering.batch_max": 50}}
    it.record(action="config_changed", number=number, began=step, taken_back=None, **values)
    return f"parameters-{number}"


def secret(it: Hands) -> str:
    """Rotates the signing secret of a tenant of its own: receivers of the demo tenant keep theirs."""
    it.other  # noqa: B018 - the operator then acts for it
    it.operator.post(f"{API}/signing-secrets/rotate", {"overlap_seconds": 0})
    return "signing-secret"


def switch(it: Hands) -> str:
    name = f"tenant:{it.other}"
    for on in (False, True):
        it.operator.put(f"{API}/ops/switches/{quote(name, safe='')}", {"on": on, "reason": "triggered"})
    return name


def frozen_and_unfrozen(it: Hands, id: str) -> None:
    for step in ("freeze", "unfreeze"):
        it.mine.post(f"{API}/accounts/{id}/{step}", {})
