"""Messages to the sweep itself: passes that sweepers share, and the heartbeat."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from postdate.domain.sweeping import Sweep


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticks:
    # The URL of the queue.
    url: str
    # The client of SQS.
    client: Any

    def hand_out(self, sweeps: Iterable[Sweep]) -> None:
        """Sends one message for each pass: sweepers share the passes, and a failed pass is redelivered alone."""
        for sweep in sweeps:
            self._send(
                {
                    "kind": "sweep",
                    "minute": sweep.minute,
                    "group": sweep.group,
                    "stage": sweep.stage.value,
                    "epoch": sweep.epoch,
                }
            )

    def beat(self, number: int, delay: timedelta) -> None:
        self._send({"kind": "heartbeat", "number": number}, delay)

    def _send(self, body: Mapping[str, Any], delay: timedelta = timedelta(0)) -> None:
        seconds = int(delay.total_seconds())
        self.client.send_message(QueueUrl=self.url, MessageBody=json.dumps(body), DelaySeconds=seconds)
