"""The second clock: a message that the sweeper sends to itself, so that sweeps go on when the scheduler does not.

Counting it on is a conditional write, so a message delivered twice does not become two clocks. A clock that stopped,
because a worker died between the count and the send, is started again by the scheduler's next tick.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from postdate.runtime.clock import Clock
from postdate.stores.passes import Passes


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeat:
    passes: Passes
    clock: Clock
    # The time between two beats.
    every: timedelta
    # Sends the beat with this number to the sweep itself, after this time.
    send: Callable[[int, timedelta], None]

    def beat(self, number: int) -> bool:
        """Goes on from this beat, unless another worker did already."""
        if not self.passes.next_beat(number, self.clock.now()):
            return False
        self.send(number + 1, self.every)
        return True

    def revive(self) -> bool:
        """Starts the clock if it never ran or has missed two beats."""
        last = self.passes.beat()
        # Three intervals without a beat: two beats were missed, and the third may be on its way.
        if last is not None and self.clock.now() < last[1] + 3 * self.every:
            return False
        return self.beat(last[0] if last else 0)
