"""What AWS calls of this process take: units as the tables themselves say, and requests as they were sent.

It hangs itself into botocore before any client is made, so boto3 and pynamodb are both heard and nothing is patched.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import botocore.handlers

_READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
_STATUSES: Final = {"RUNNING": "claim", "SUCCEEDED": "completion"}


class Meter:
    """`taken[phase]` are sums. Within a run the phase follows from what is written: see `_phase`."""

    def __init__(self, *, destination: str) -> None:
        self.taken: dict[str, Counter[str]] = {}
        self._destination = destination
        self._usual: str | None = None
        botocore.handlers.BUILTIN_HANDLERS += [
            ("before-parameter-build.dynamodb", self._asks_for_units),
            ("before-parameter-build", self._names_phase),
            ("after-call", self._counts),
        ]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._usual = name
        yield
        self._usual = None

    def note(self, name: str, **counts: float) -> None:
        self.taken.setdefault(name, Counter()).update(counts)

    def _asks_for_units(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def _names_phase(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if self._usual is not None:
            context["phase"] = self._phase(params)

    def _phase(self, params: dict[str, Any]) -> str:
        """A claim makes a task RUNNING, a completion makes it SUCCEEDED; what goes to the destination is delivery."""
        if params.get("QueueUrl") == self._destination:
            return "delivery"
        if "Statements" in params:
            values = json.dumps(params["Statements"])
            return next((phase for status, phase in _STATUSES.items() if f'"{status}"' in values), self._usual or "")
        return self._usual or ""

    def _counts(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        phase = context.get("phase")
        if phase is None:
            return
        service = model.service_model.service_name
        self.note(phase, **{f"{service}_requests": 1})
        consumed = parsed.get("ConsumedCapacity", ())
        units = sum(part["CapacityUnits"] for part in ([consumed] if isinstance(consumed, dict) else consumed))
        if units:
            self.note(phase, **{"read_units" if model.name in _READS else "write_units": units})
