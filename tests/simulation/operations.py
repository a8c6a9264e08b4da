"""I24: an operation touches each eligible item at most once, whatever dies, and its report is true."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.simulation.call import Call
from tests.simulation.engine import TABLES, Change, Row
from tests.simulation.hub import Actor
from tests.simulation.poison import calls_in
from tests.simulation.rows import ITEM_TABLES, lines, moved, number, text
from tests.simulation.seen import Broken, Seen

# The first letters of the outcomes, as the rows of an operation's items have them.
_WAITING, _SENT, _DONE, _FAILED, _CHANGED, _MISSING = "wsdfcm"
_WATCHED_MS: Final = 15 * 60_000
_ACTIVE: Final = frozenset({"RUNNING", "PAUSED"})
_ENDS: Final = frozenset({"CANCELLED", "SKIPPED", "MISSED"})
_FAILURES: Final = frozenset({"RETRYING", "DEAD", "EXPIRED", "EXECUTING", "FAILED"})
_NAMES: Final = {
    _SENT: "sent",
    _DONE: "done",
    _FAILED: "failed",
    _CHANGED: "changed",
    _WAITING: "waiting",
    _MISSING: "missing",
}


def i24_an_operation_changes_what_it_planned(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Each item from the version of the plan, so once at most."""
    if actor is None or not actor.operation:
        return
    planned = seen.planned_items(actor.operation)
    for before, after in moved(changes):
        id = after["id"]["S"]
        if planned.get(id) != number(before, "version"):
            raise Broken(
                f"I24: {actor.operation} changes version {number(before, 'version')} of {id}, "
                f"and planned {planned.get(id)}"
            )
        seen.operated.add((actor.operation, id))


def i24_an_operation_calls_what_it_planned(seen: Seen, actor: Actor, call: Call) -> None:
    """A call names the version of the plan, or the one that the operation itself has written."""
    if not actor.operation or call.operation != "SendMessageBatch":
        return
    planned = seen.planned_items(actor.operation)
    for entry in call.asked["Entries"]:
        for id, version, _ in calls_in(entry["MessageBody"]):
            own = (actor.operation, id) in seen.operated
            if id not in planned or version not in (planned[id], planned[id] + own):
                raise Broken(
                    f"I24: {actor.operation} calls version {version} of {id}, and planned {planned.get(id)}"
                )
            seen.called.add((actor.operation, id))


def i24_notes_what_a_report_can_know(seen: Seen, actor: Actor, call: Call) -> None:
    """The versions of items that a worker asks for, as they are at that instant."""
    if not actor.operation or call.operation != "BatchGetItem":
        return
    for table, asked in call.asked["RequestItems"].items():
        for key in asked["Keys"] if TABLES[table] in ITEM_TABLES else ():
            id = key["id"]["S"]
            if row := seen.item(id):
                seen.looked[actor.name][id] = number(row, "version")


def i24_notes_what_ends(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes:
        after = change.after
        if actor and change.table == "operations" and after and text(after, "status") == "DONE":
            seen.reported[actor.operation] = dict(seen.looked[actor.name])


def executed(seen: Seen) -> dict[str, str | None]:
    """The operations that are carried out, each with its state. One that is PAUSED may wait for a call that lies among
    the dead letters."""
    rows = {id: seen.engine.row("operations", id, "head") for id in seen.executions.values()}
    return {id: row and text(row, "status") for id, row in rows.items()}


def abandoned(seen: Seen) -> set[str]:
    """The operations that are to go on, and that no execution carries out."""
    under_way = set(seen.executions.values())
    return {
        row["operation"]["S"]
        for row in (seen.engine.rows("operations") if seen.began.operations else ())
        if text(row, "status") in _ACTIVE and row["operation"]["S"] not in under_way
    }


def i24_each_is_carried_out(seen: Seen) -> None:
    """Asked when the time is over."""
    if left := abandoned(seen):
        raise Broken(f"I24: nobody carries out {', '.join(sorted(left))}")


def i24_reports_are_true(seen: Seen) -> None:
    for head in seen.engine.rows("operations"):
        if head["place"]["S"] != "head":
            continue
        id, status = head["operation"]["S"], text(head, "status")
        seen.reach[f"operation {status}"] += 1
        if status in _ACTIVE and id not in seen.executions.values():
            raise Broken(f"I24: {id} is {status}, and nobody carries it out")
        entries = seen.entries(id)
        counts = {name: count for name, count in json.loads(text(head, "counts") or "{}").items() if count}
        outcomes = dict(Counter(_NAMES[outcome] for _, _, outcome, *_ in entries))
        if counts != outcomes and status != "ABORTED":
            raise Broken(f"I24: {id} is {status} and tells {counts}, and its items {outcomes}")
        if status == "DONE" and "waiting" in outcomes:
            raise Broken(f"I24: {id} is DONE and has items that wait")
        for item, version, outcome, *at in entries:
            seen.reach[f"operation's item {_NAMES[outcome]}"] += 1
            _check(seen, head, item, version, outcome)
            if status == "DONE" and outcome == _SENT and number(head, "finished") < at[0] + _WATCHED_MS:
                raise Broken(f"I24: {id} is DONE, and the end of {item} is not known")


def _is_own(row: Row | None, version: int, operation: str) -> bool:
    """True if the operation signed the item's next version after the plan."""
    told = [] if row is None else [line["S"] for line in row["history"]["L"]]
    return any(
        line.startswith(f"{version + 1} ") and line.endswith(f"operation:{operation}") for line in told
    )


def _check(seen: Seen, head: Row, item: str, version: int, outcome: str) -> None:
    id, cancels = head["operation"]["S"], json.loads(text(head, "plan") or "{}")["action"] == "cancel"
    row = seen.item(item)
    later = [] if row is None else [to for at, _, to, _, _ in lines(row) if at > version]
    looked = seen.reported.get(id, {}).get(item, version)
    known = [] if row is None else [at for at, *_ in lines(row) if version < at <= looked]
    touched, own = (id, item) in seen.called | seen.operated, _is_own(row, version, id)
    is_true = {
        _WAITING: not touched or text(head, "status") != "DONE",
        _SENT: touched and (own or not known),
        _DONE: own
        and (later[:1] == ["CANCELLED"] if cancels else bool({"SUCCEEDED", "COMPLETED"} & set(later))),
        _FAILED: cancels or (own and bool(_FAILURES & set(later))),
        _CHANGED: bool(later) and (not own or bool(_ENDS & set(later))),
        _MISSING: False,
    }
    if not is_true[outcome]:
        raise Broken(f"I24: {id} tells {item} of version {version} as {_NAMES[outcome]}: {later}")
