"""Checkers of each call to AWS, whether it succeeds or not: the owners of its rows, and how often it is made."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from postdate.domain.definition import is_definition
from postdate.stores import dependencies, key_hashes
from tests import partiql, tables
from tests.simulation.call import Call
from tests.simulation.engine import TABLES
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import Fault
from tests.simulation.rows import ITEM_TABLES, text
from tests.simulation.seen import Broken, Seen

Touched = tuple[str, tuple[str, ...]]

# The tries of one operation on one row, in one invocation: botocore makes five, and no loop of our own more than eight.
TRIES_MAX: Final = 5 * 8
# The calls for one item: a dozen different ones are more than any request needs.
CALLS_MAX: Final = 5 * 12
# An outcome that cannot be written is tried again as long as its worker lives, every two seconds, with five tries.
TRIES_PER_SECOND: Final = 3
# An invocation may last as long as its slowest delivery, and takes further messages meanwhile: the calls of a run that
# waits for others, for a place or for room come back every few seconds. A read with keys left unread is repeated, too.
ASKED_PER_SECOND: Final = 1
MESSAGES: Final = "messages"
LISTS: Final = "lists"
_READS: Final = frozenset({"BatchGetItem", "GetItem", "Query"})
_ASKS: Final = _READS | {"SendMessageBatch"}
# A request that sets an account right reads the account ten times: two looks of five tries.
_LOOKS: Final = 10
# Rows that many items share: each of these items may ask for them.
_SHARED: Final = frozenset({"accounts", "data_keys", "flow", "switches", "tenants"})
# A tenant's own key bears its name here.
_OWNED_BY_KEY: Final = frozenset(
    {"accounts", "flow", "journal", "idempotency", "tenants", "data_keys", "keys", LISTS}
)
_NOBODYS: Final = {
    ("keys", "internal"),
    ("keys", "operator"),
    ("data_keys", key_hashes.OWNER),
    ("flow", dependencies.OWNER),
}
_OWNED_BY_ITEM: Final = frozenset({*ITEM_TABLES, "payloads", MESSAGES})


def i17_calls_within_a_budget(seen: Seen, actor: Actor, call: Call, touched: list[Touched]) -> None:
    """However much fails, one invocation asks for one thing only so often, and for no more things than it has items.
    Passes of the sweep have no item of their own. An invocation asks for its own items as long as it lives, and for
    others less often."""
    items = max(1, len(actor.calls_given), actor.items_asked)
    seconds = (seen.hub.now - actor.invoked_at) // SECOND
    later = TRIES_PER_SECOND * seconds
    actor.spent["all"] += 1
    if actor.spent["all"] > (items + 1) * (CALLS_MAX + later) and not actor.name.startswith("sweep"):
        raise Broken(f"I17: {actor.spent['all']} calls of one invocation for {items} items")
    for table, key in touched:
        name = call.operation, table, key
        actor.spent[name] += 1
        if actor.spent[name] <= TRIES_MAX:
            continue
        # Writers of one tenant's feed read its pages again when another writer was faster.
        shared = table in _SHARED or is_definition(key[-1]) or key[-1].endswith("#feed")
        asked = _asks_a_second(seen) * seconds if call.operation in _ASKS else 0
        more = later if shared or _has_begun(seen, actor, key) else asked
        most = (TRIES_MAX + more) * (items if shared else 1)
        if call.operation in _READS and actor.path.endswith("/adjustments"):
            most *= _LOOKS
        if actor.spent[name] > most:
            raise Broken(
                f"I17: {call.operation} {table} {' '.join(key)} {actor.spent[name]} times, of {most}"
            )


def _asks_a_second(seen: Seen) -> int:
    """The allowed reads of a waiting run in a second: more in mixes that leave keys unread."""
    return ASKED_PER_SECOND * (2 if Fault.UNREAD in seen.began.rates else 1)


def _has_begun(seen: Seen, actor: Actor, key: tuple[str, ...]) -> bool:
    """True also if the receiver has ended the run meanwhile, which its worker does not know. A pointer has the name of
    its item in its own."""
    id = key[-1].partition("~")[0]
    row = seen.item(id)
    runs = row is not None and text(row, "status") == "RUNNING"
    return runs or any(taken.run == id and taken.worker == actor.name for taken in seen.taken)


def i19_asks_only_for_the_tenants_own(seen: Seen, actor: Actor, call: Call, touched: list[Touched]) -> None:
    """A request asks for its tenant's rows, a worker for those of the tenants whose calls it was given. An item's key
    does not say whose it is: one that a caller names himself has to be read to find out, and nothing else of it."""
    served = _served(seen, actor)
    if served is None:
        return
    reads = call.operation in ("GetItem", "BatchGetItem")
    for table, key in touched:
        owner = _owner(seen, table, key)
        named = reads and table in ITEM_TABLES and key[-1] in actor.path
        if owner is not None and owner not in served and not named:
            raise Broken(f"I19: {call.operation} {table} {' '.join(key)} of {owner}, for {sorted(served)}")


def i19_is_told_only_of_the_tenants_own(seen: Seen, actor: Actor, call: Call, rows: list[Any]) -> None:
    """Every row that a query finds."""
    served = _served(seen, actor)
    if served is None or not rows:
        return
    table = TABLES[call.asked["TableName"]]
    for row in rows:
        key = _key(table, row)
        owner = _owner(seen, table, key)
        if owner is not None and owner not in served:
            raise Broken(f"I19: a query of {table} finds {' '.join(key)} of {owner}, for {sorted(served)}")


BEFORE_EACH: Final[tuple[Callable[[Seen, Actor, Call, list[Touched]], None], ...]] = (
    i17_calls_within_a_budget,
    i19_asks_only_for_the_tenants_own,
)


def touched_by(call: Call) -> Iterator[Touched]:
    """Tables and keys of all rows that the call speaks of; of messages, the items that they call."""
    asked = call.asked
    match call.operation:
        case "GetItem" | "UpdateItem":
            yield _touched(asked["TableName"], asked["Key"])
        case "PutItem":
            yield _touched(asked["TableName"], asked["Item"])
        case "Query":
            values = sorted(asked["ExpressionAttributeValues"].items())
            listed = "IndexName" in asked or asked["TableName"] == "sim-journal"
            yield LISTS if listed else TABLES[asked["TableName"]], tuple(_plain(value) for _, value in values)
        case "BatchGetItem":
            for table, wanted in asked["RequestItems"].items():
                for key in wanted["Keys"]:
                    yield _touched(table, key)
        case "TransactWriteItems":
            for action in asked["TransactItems"]:
                for each in action.values():
                    yield _touched(each["TableName"], each.get("Item") or each["Key"])
        case "BatchExecuteStatement" | "ExecuteTransaction":
            for statement in asked.get("Statements") or asked["TransactStatements"]:
                yield _touched(partiql.table_of(statement), partiql.named(statement))
        case "SendMessageBatch":
            for entry in asked["Entries"]:
                for id, *_ in json.loads(entry["MessageBody"]).get("dues", ()):
                    yield MESSAGES, (id,)


def _touched(table: str, row: Mapping[str, Any]) -> Touched:
    name = TABLES[table]
    return name, _key(name, row)


def _key(table: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_plain(row[name]) for name in tables.KEYS[table])


def _plain(value: Mapping[str, Any]) -> Any:
    return next(iter(value.values()))


def _served(seen: Seen, actor: Actor) -> frozenset[str] | None:
    """The tenant whose work is done; None for a sweep, which works for all tenants."""
    if actor.tenant is not None:
        return frozenset({actor.tenant})
    given = [seen.owners.get(id) for id, _ in actor.calls_given]
    return frozenset(filter(None, given)) if given and None not in given else None


def _owner(seen: Seen, table: str, key: tuple[str, ...]) -> str | None:
    if (table, key[0]) in _NOBODYS:
        return None
    if table == "keys" and (row := seen.engine.row("keys", key[0])) is not None:
        return text(row, "tenant")
    makes_keys = seen.began.owners or seen.began.restricted
    if table in _OWNED_BY_KEY and not (table == "keys" and makes_keys):
        return key[0].partition("#")[0]
    if table not in _OWNED_BY_ITEM:
        return None
    return seen.owners.get(key[-1].partition("#")[0])
