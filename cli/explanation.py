"""Sentences about an item: the reason for its state, what happens next, and what holds it back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from cli import ids
from cli.next_steps import LATE, NEXT, OF_AN_EVENT, PARKED

Item = dict[str, Any]
_UNKNOWN: Final = "an instant that is not known yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """Answers that were read beside the item; None for an answer that the key may not read.

    `task` is the task of a run, `run` the run of a one-time task, `events` those of a payment.
    """

    task: Item | None = None
    run: Item | None = None
    events: list[Item] = field(default_factory=list)
    overview: Item | None = None


def kind_of(id: str, item: Item) -> str:
    """The kind whose states the item has."""
    things = ids.things(id)
    if things == "tasks" and "cron" in item:
        return "plans"
    if things == "operations" and item.get("action") == "backfill":
        return "backfills"
    return "tasks" if things == "runs" else things


def explained(id: str, item: Item, beside: Beside, *, now: datetime) -> Item:
    kind, state = kind_of(id, item), item.get("status") or item.get("state") or item.get("type")
    facts = _facts(id, item, beside)
    text = _next(kind, str(state), facts, beside, _text(now))
    return {
        "id": id,
        "kind": kind,
        "state": state,
        "because": _because(item, beside),
        "next": text.format_map(
            {name: _UNKNOWN if value is None else value for name, value in facts.items()}
        ),
        "held": list(_held(kind, str(state), beside.task or item, beside.overview or {})),
        "history": _history(item, beside),
    }


def _next(kind: str, state: str, facts: Item, beside: Beside, now: str) -> str:
    if kind == "events":
        return OF_AN_EVENT
    if kind == "payments" and state == "EXECUTING" and beside.events and facts["next_at"] is None:
        return PARKED
    waits = (kind, state) in (("payments", "PENDING"), ("tasks", "PENDING"), ("tasks", "RETRYING"))
    if waits and facts["next_at"] is not None and facts["next_at"] < now:
        return LATE
    return NEXT[kind][state]


def _facts(id: str, item: Item, beside: Beside) -> Item:
    run, task = beside.run or item, beside.task or item
    made = _made(item.get("attempts"))
    most = task["retry"]["max_attempts"] if "retry" in task else None
    newest = beside.events[-1]["data"].get("after", {}) if beside.events else {}
    next_at = item.get("next_run_at") or item.get("next_attempt_at") or newest.get("next_attempt_at")
    ends = item.get("expires_at")
    return {
        "waiting": 0, "sent": 0, "failed": 0, "changed": 0,
        **item,
        "id": id,
        "task_id": item.get("task_id", id),
        "count": item.get("eligible", {}).get("count"),
        "subject": item.get("subject", {}).get("id"),
        "next_at": item.get("scheduled_time") if item.get("status") == "PENDING" and not next_at else next_at,
        "deadline": f" No attempt begins after {ends}." if ends else "",
        "funded": "Its amount is held until then."
        if item.get("funding") == "reserve"
        else "The balance at that instant decides.",
        "awaited": "Its receiver completes it" if task.get("ack") == "explicit" else "Its attempt ends",
        "lease_until": run.get("lease_until"),
        "after_failure": "it is DEAD, because that was its last attempt"
        if made == most
        else f"attempt {made + 1} follows",
        "made": made,
        "following": made + 1,
        "most": "its task's attempts" if most is None else most,
    }  # fmt: skip


def _made(attempts: int | list[Item] | None) -> int:
    """The number of the newest attempt: an item tells it, or lists its attempts. A redrive begins again at 1."""
    if isinstance(attempts, list):
        return int(attempts[-1]["number"]) if attempts else 0
    return attempts or 0


def _because(item: Item, beside: Beside) -> str | None:
    """The first reason that the item gives. The newest line of its history has that of every other state."""
    told = (item.get(name) for name in ("stopped_because", "error_message", "error", "reason"))
    lines = [line["reason"] for line in item.get("history", ())]
    lines += [event["data"].get("reason") for event in beside.events]
    return next((text for text in told if text), lines[-1] if lines else None)


def _held(kind: str, state: str, task: Item, overview: Item) -> Iterator[str]:
    """The reasons for which a waiting task is not called: a paused flow key, or a destination that failed too often."""
    if kind != "tasks" or state not in ("PENDING", "RETRYING"):
        return
    key = (task.get("flow_control") or {}).get("key")
    if key in [each["key"] for each in overview.get("paused_flow_keys", ())]:
        yield f"Its flow key {key} is paused: `postdate flow-keys resume {key}`."
    for each in overview.get("destinations", ()):
        if (each["type"], each["address"]) == _destination(task.get("target", {})):
            yield (
                f"Its destination {each['address']} is {each['state']} after {each['failures']} failures "
                f"({each['last_error']}); the next call tries at {each['next_probe_at'] or _UNKNOWN}: "
                f"`postdate destinations probe {each['id']}`."
            )


def _destination(target: Item) -> tuple[str | None, str | None]:
    """Type and address as a list of destinations has them: of a URL that is called, the host."""
    if "url" in target:
        return target.get("type"), urlsplit(target["url"]).netloc.rpartition("@")[2].lower()
    address = next((target[name] for name in ("queue_url", "topic_arn", "bus") if name in target), None)
    return target.get("type"), address


def _history(item: Item, beside: Beside) -> list[str]:
    lines = [f"{line['at']}  {line['status']:<10} {line['reason']}" for line in item.get("history", ())]
    lines += [
        f"{event['occurred_at']}  {event['type'].partition('.')[2]:<10} {event['data'].get('reason') or ''}".rstrip()
        for event in beside.events
    ]
    attempts = item["attempts"] if isinstance(item.get("attempts"), list) else []
    return lines + [
        f"{each['started_at']}  attempt {each['number']}: {each['outcome']} {each['error'] or ''}".rstrip()
        for each in attempts
    ]


def _text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
