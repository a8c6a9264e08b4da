"""Subscriptions are kept as they were written, and a change that was decided from another version is refused."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain.subscription import Filter, State, Subscription
from postdate.domain.task import Destination
from postdate.stores.subscriptions import Subscriptions, live


@pytest.fixture
def subscription(now: datetime) -> Subscription:
    return Subscription(
        id="sub_1",
        tenant=f"t{int(now.timestamp())}",
        destination=Destination(
            type="webhook", address="https://shop.example/hook", headers=(("X-Shop", "north"),)
        ),
        types=("payment.completed", "task.*"),
        filter=Filter(account_id="alice", tag="rent", metadata=(("a", "1"), ("b", "2"))),
        ordered=False,
        description="billing → Miete",
        secrets=("whsec_YQ==", "whsec_Yg=="),
        secrets_until=now + timedelta(days=1),
        created_at=now,
        changed_at=now,
        by="key:k1",
    )


def test_a_subscription_is_read_back_as_it_was_written(
    subscriptions: Subscriptions, subscription: Subscription, now: datetime
) -> None:
    plain = replace(
        subscription,
        id="sub_2",
        filter=Filter(),
        ordered=True,
        description=None,
        secrets_until=None,
        state=State.PAUSED,
        paused_at=now,
        missed_since=now - timedelta(hours=1),
    )
    assert subscriptions.add(subscription)
    assert subscriptions.add(plain)
    assert subscriptions.get(subscription.tenant, "sub_1") == subscription
    assert subscriptions.all(subscription.tenant) == [subscription, plain]
    assert subscriptions.add(replace(subscription, id="sub_3", state=State.ENDED))
    assert live(subscriptions, subscription.tenant) == [subscription, plain]
    assert subscriptions.all("nobody") == []
    assert subscriptions.get(subscription.tenant, "sub_4") is None


def test_a_change_is_refused_if_another_one_was_faster_and_counts_as_made_if_it_is_stored(
    subscriptions: Subscriptions, subscription: Subscription
) -> None:
    subscriptions.add(subscription)
    paused = replace(subscription, version=2, state=State.PAUSED)
    other = replace(subscription, version=2, ordered=True)
    assert subscriptions.change(paused)
    assert subscriptions.change(paused)
    assert not subscriptions.change(other)
    assert not subscriptions.add(replace(subscription, types=("*",)))
    assert subscriptions.get(subscription.tenant, "sub_1") == paused
