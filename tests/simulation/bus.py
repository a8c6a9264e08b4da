"""The bus of events in a run: EventBridge takes entries, refuses some, fails before and after it took them, and a
worker may die on either side."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from functions.record.bus import published
from postdate.domain.rollouts import Flag
from tests.simulation.hub import Crash, Hub

if TYPE_CHECKING:
    from tests.simulation.mix import Mix

_NAME: Final = "sim-events"
_ENDPOINT: Final = "https://events.simulation"


@dataclass(kw_only=True, slots=True, eq=False)
class Bus:
    """`taken` are the details of the entries by the ids of their events."""

    hub: Hub
    mix: "Callable[[], Mix]"
    taken: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    refused: int = 0

    def follow(self, recorder: Any) -> None:
        """Lets a copy of the recorder publish here."""
        recorder._publish = published(_NAME, self, flag=lambda: Flag(percent=100))

    def put_events(self, *, Entries: Sequence[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        self.hub.park(0)
        drawn = self.hub.draws.random() if self.mix().rates else 1.0
        if drawn < 0.02:
            raise Crash
        if drawn < 0.06:
            raise EndpointConnectionError(endpoint_url=_ENDPOINT)
        answer = [self._answer(entry, refuses=drawn < 0.14) for entry in Entries]
        self.hub.park(0)
        if 0.14 <= drawn < 0.16:
            raise Crash
        if 0.16 <= drawn < 0.20:
            raise ConnectionClosedError(endpoint_url=_ENDPOINT)
        return {"Entries": answer}

    def _answer(self, entry: dict[str, Any], *, refuses: bool) -> dict[str, str]:
        if refuses and self.hub.draws.random() < 0.5:
            self.refused += 1
            return {"ErrorCode": "ThrottlingException"}
        detail = json.loads(entry["Detail"])
        self.taken[detail["event_id"]].append(detail)
        return {"EventId": "1"}
