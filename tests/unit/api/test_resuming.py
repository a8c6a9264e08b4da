"""A subscription that is resumed: the replay of its pause."""

from datetime import timedelta

import pytest

from functions.api.caller import Caller
from functions.api.subscriptions.sending import EventSender
from functions.api.subscriptions.subscribe import Subscriber
from postdate.domain.replay import Step
from postdate.domain.subscription import Subscription
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Destination
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.subscriptions import MemorySubscriptions
from postdate.stores.vault import Vault
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, ManualClock, ScriptedQueue, ScriptedTasks

CALLER = Caller(tenant="demo", key_id="k", scopes=frozenset({"subscriptions:write"}))


@pytest.mark.parametrize(("age", "before"), [(10 * MINUTE, MINUTE), (SECOND, SECOND)], ids=["old", "new"])
def test_the_replay_of_a_pause_begins_a_minute_before_it(age: timedelta, before: timedelta) -> None:
    """Events that were recorded just before a pause may come to their deliveries during the pause. A subscription has
    none from before it was made."""
    clock, subscriptions, tasks = ManualClock(), MemorySubscriptions(), ScriptedTasks()
    queue = ScriptedQueue(clock)
    subscriber = Subscriber(
        subscriptions=subscriptions,
        sender=EventSender(
            tasks=tasks,
            queue=queue,
            shards=PLAN,
            horizon=Horizon(lead=120 * SECOND, margin=60 * SECOND),
            clock=clock,
        ),
        clock=clock,
        unique=lambda: b"1",
        vault=Vault(data_keys=MemoryDataKeys(), clock=clock),
        refusal=lambda tenant, destination: None,
    )
    hook = Destination(type="webhook", address="https://shop.example/hook")
    assert subscriptions.add(
        Subscription(
            id="sub_1",
            tenant="demo",
            destination=hook,
            types=("*",),
            created_at=START - age,
            changed_at=START - age,
        )
    )
    subscriber.pause(CALLER, "sub_1")
    clock.move(timedelta(hours=1))
    resumed = subscriber.resume(CALLER, "sub_1")
    assert resumed.missed_since == START
    (replay,) = tasks.get_many(queue.ids).values()
    assert Step.read(replay.payload.text or "").since == START - before
