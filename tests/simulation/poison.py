"""Messages that nobody can make anything of. They come to the dead letters, and take no other message with them."""

import json
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.slots import Slot, item_id
from tests.simulation.engine import Engine
from tests.simulation.hub import Hub

_DUE_AT: Final = datetime(2026, 11, 18, 10, 7, tzinfo=UTC)
_NOBODY: Final = item_id("pay", Slot(minute=instants.minute_of(_DUE_AT), shard=0), bytes(10))
_CALL: Final = {"form": 1, "tenant": "acme", "via": "sweep"}
# Nobody has paid in this run by that payment. One that is not there may only be hard to read, so its call stays.
_OF_NOBODY: Final = json.dumps({**_CALL, "dues": [[_NOBODY, 1, instants.milliseconds(_DUE_AT)]]})
_TEXTS: Final = (
    " ",
    "no json",
    "null",
    "[]",
    '{"kind": "neither"}',
    json.dumps({**_CALL, "form": 2, "dues": []}),
    json.dumps({**_CALL, "dues": [["no id", 1, 0]]}),
    json.dumps({**_CALL, "dues": [[5, "one", None]]}),
    json.dumps({**_CALL, "dues": [[_NOBODY, 1, 10**30]]}),
)
POISON: Final = frozenset({*_TEXTS, _OF_NOBODY})


def calls_in(text: str) -> list[tuple[str, int, int]]:
    """The items, versions and instants that a message speaks of; poison speaks of none, also when a switch made a
    worker send it again."""
    if text in POISON:
        return []
    found: list[Any] = json.loads(text).get("dues", [])
    return [(id, version, due_ms) for id, version, due_ms in found if id != _NOBODY]


def send(hub: Hub, engine: Engine, sent: Counter[str], *, count: int, within: int) -> None:
    """At instants that are drawn."""
    for _ in range(count):
        queue = hub.draws.choice(("tasks", "payments", "ticks"))
        texts = (*_TEXTS, _OF_NOBODY, _OF_NOBODY) if queue == "payments" else _TEXTS
        text = hub.draws.choice(texts)
        hub.after(hub.draws.randrange(within), partial(_send, hub, engine, sent, queue, text))


def _send(hub: Hub, engine: Engine, sent: Counter[str], queue: str, text: str) -> None:
    sent[queue] += 1
    hub.note(f"poison for {queue}: {text[:40]}")
    engine.send(queue, text)
    hub.stirred = True
