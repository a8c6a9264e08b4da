"""Every fixture of `postdate trigger` causes a real event of its type on the stack."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from cli.failure import Failure
from cli.trigger.fixtures import FIXTURES
from cli.trigger.hands import hands
from tests.e2e.conftest import RunningStack

# A plan that ends by itself runs at the next minute, and a retry is due after seconds: fixtures wait side by side.
_AT_ONCE = 4


def test_each_type_is_triggered(stack: RunningStack) -> None:
    def triggered(type: str) -> str | None:
        mine = made[type]
        try:
            event = mine.seen(type, FIXTURES[type](mine))
        except (Failure, KeyError, ValueError) as failure:
            return f"{type}: {failure}"
        return None if event["type"] == type and "reconstructed" not in event else f"{type}: {event}"

    stack.client().get("/api/v1/whoami").expect(200)
    with ExitStack() as opened, ThreadPoolExecutor(_AT_ONCE) as threads:
        made = {type: opened.enter_context(hands(stack, stack.place)) for type in FIXTURES}
        failed = [each for each in threads.map(triggered, FIXTURES) if each]
    assert not failed, "\n".join(failed)
