"""Random requests of clients: most are due in some seconds, some beyond the horizon, where only the sweep calls.

Retries are short, so that everything ends soon after the faults do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from chaos.plan import ACCOUNTS
from postdate.domain import instants

RETRY: Final = {"max_attempts": 6, "initial_seconds": 0.5, "multiplier": 2, "max_seconds": 4}
RETRY_BRIEFLY: Final = RETRY | {"max_attempts": 3}
TIMEOUT_SECONDS: Final = 3
ACKNOWLEDGED_WITHIN_SECONDS: Final = 5
# How a webhook's receiver behaves, for how many attempts, and how often each is drawn.
TEMPERS: Final[Mapping[str, int]] = {
    "fine/0": 12, "500/1": 2, "500/99": 1, "429/1": 2, "hang/1": 1, "reset/1": 2, "slow/99": 2,
}  # fmt: skip
_GOES_ON_SECONDS: Final = 10
MOODY: Final = tuple(temper for temper in TEMPERS if temper != "fine/0")
EVERY_MINUTE: Final = ("fine/0", "500/1", "reset/1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Destinations of tasks, and the latest instant that they may be due. A recurring task goes on for some seconds
    after the others, so that a whole minute follows its registration."""

    receiver_url: str
    queue_url: str
    ends_at: datetime

    def hook(self, temper: str) -> dict[str, str]:
        return {"type": "webhook", "url": f"{self.receiver_url}/{temper}"}

    @property
    def last_run_at(self) -> datetime:
        return self.ends_at + timedelta(seconds=_GOES_ON_SECONDS)

    @property
    def queue(self) -> dict[str, str]:
        return {"type": "sqs", "queue_url": self.queue_url}


def instant(draws: Random, places: Places, now: datetime) -> datetime:
    near, far = draws.uniform(3, 9), draws.uniform(32, 75)
    ahead = now + timedelta(seconds=far if draws.random() < 0.4 else near)
    return instants.whole(ahead if ahead <= places.ends_at else now + timedelta(seconds=near))


def temper(draws: Random) -> str:
    (drawn,) = draws.choices(list(TEMPERS), list(TEMPERS.values()))
    return drawn


def to_a_webhook(temper: str, places: Places) -> dict[str, Any]:
    retry = RETRY_BRIEFLY if temper == "500/99" else RETRY
    return {"target": places.hook(temper), "retry": retry, "timeout_seconds": TIMEOUT_SECONDS}


def to_a_queue(draws: Random, places: Places) -> dict[str, Any]:
    payload = {"n": "x" * draws.choice((1, 10, 1500))}
    return {"target": places.queue, "retry": RETRY, "payload": payload}


def acknowledged(places: Places) -> dict[str, Any]:
    return {
        "target": places.hook("word/99"),
        "retry": RETRY,
        "ack": "explicit",
        "timeout_seconds": ACKNOWLEDGED_WITHIN_SECONDS,
    }


def payment(draws: Random) -> dict[str, Any]:
    payer, payee = draws.sample(ACCOUNTS, 2)
    return {
        "from_account_id": payer,
        "to_account_id": payee,
        "amount": draws.choice((1, 10, 50, 200, 600)),
        "funding": draws.choice(("reserve", "reserve", "at_execution")),
    }


def every_minute(places: Places) -> list[dict[str, Any]]:
    """Tasks of every minute until the end. Their runs may overlap, and a late run is never given up."""
    plan: dict[str, Any] = {
        "cron": "* * * * *",
        "end_at": places.last_run_at.isoformat(),
        "overlap": "allow",
        "catch_up": "all",
        "retry": RETRY,
    }
    by_word = {"ack": "explicit", "timeout_seconds": ACKNOWLEDGED_WITHIN_SECONDS}
    by_answer = {"timeout_seconds": TIMEOUT_SECONDS}
    return [
        *(plan | by_answer | {"target": places.hook(temper)} for temper in EVERY_MINUTE),
        plan | by_word | {"target": places.hook("word/99")},
        *(plan | {"target": places.queue} for _ in range(2)),
    ]
