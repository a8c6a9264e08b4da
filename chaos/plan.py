"""The sizes of a run."""

from dataclasses import dataclass
from typing import Final

CLIENTS: Final = 6
ACCOUNTS: Final = tuple(f"chaos-{number}" for number in range(8))
DEPOSIT: Final = 3_000
# A dead worker's calls come back after 23 s, the closing pass up to two minutes after an item's minute began.
QUIET_WITHIN_SECONDS: Final = 240
# Until a worker has said how long its messages are to be hidden, they are hidden for as long as a function may run: for
# tasks, that is longer than anybody watches here.
HIDDEN_SECONDS: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """With `game_minutes` a game day follows on the same stack."""

    minutes: int
    seed: int
    game_minutes: int = 0

    @property
    def seconds(self) -> int:
        return 60 * self.minutes
