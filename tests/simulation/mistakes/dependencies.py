"""Mistakes about the breakers of dependencies."""

from typing import Final

from tests.simulation.mistakes.bug import DEPENDENCIES, DEPENDENCY, bug

BUGS: Final = (
    bug(
        "the breaker of a dependency never closes",
        f"{DEPENDENCIES}:Dependencies.heard",
        "self._health[name] = CLOSED",
        "pass",
        mix="unanswered",
    ),
    bug(
        "the breaker of a dependency never opens",
        f"{DEPENDENCY}:failed",
        "if health.open_until is None and counted.failures < patience.failures:",
        "if True:",
        mix="unanswered",
    ),
    bug(
        "a try that fails at once leaves the breaker of a dependency its time",
        f"{DEPENDENCY}:failed",
        "if health.is_open(now) and not health.tries:",
        "if health.is_open(now):",
        mix="unanswered",
    ),
    bug(
        "one refused condition opens the breaker of a table",
        f"{DEPENDENCIES}:_says_failing",
        'return code.removesuffix("Exception") in _THROTTLES or code.startswith("5")',
        'return code not in ("", "None")',
        (f"{DEPENDENCY}:failed", "counted.failures < patience.failures", "counted.failures < 1"),
        mix="unanswered",
    ),
    bug(
        "messages that a breaker puts back are dropped",
        "postdate.runtime.putting_back:put_back",
        "outbox.send_on(call.due, call.message, not_before=max(until, call.at))",
        "pass",
        mix="unanswered",
    ),
)
