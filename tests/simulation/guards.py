"""Breakers of dependencies: each copy of a function has its own, as if the copy were a process.

A model beside them counts the failures in a row of each dependency of each copy. It knows nothing of the rules but
their bounds: no call is refused before so many failures, and after these only one call goes out in a while.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable
from postdate.runtime import dependencies
from postdate.runtime.clock import SystemClock
from postdate.runtime.dependencies import Dependencies
from tests.simulation.hub import SECOND, Actor, Hub
from tests.simulation.seen import Broken

# Failures in a row that open the breaker of a table, and the shortest time between two tries while it is open.
_FAILURES: Final = 10
_PAUSE: Final = SECOND
_SERVICE: Final = "dynamodb"
_SERVER_ERROR: Final = 500


@dataclass(kw_only=True, slots=True)
class Watched:
    """The failures of a dependency since its last answer, and the instant of the last failure or try."""

    failures: int = 0
    at: int = 0


@dataclass(kw_only=True, slots=True)
class Guards:
    """`are_on` for the runs that have breakers. In all other runs each call finds closed breakers."""

    are_on: bool = False
    counted: Callable[[str], None] = lambda name: None
    _of: dict[int, Dependencies] = field(default_factory=dict)
    _made: Dependencies | None = None
    _watched: dict[tuple[int, str], Watched] = field(default_factory=lambda: defaultdict(Watched))

    def begin(self, *, are_on: bool, counted: Callable[[str], None]) -> None:
        self.are_on, self.counted = are_on, counted
        self._watched.clear()

    @contextmanager
    def making(self) -> Iterator[Callable[[object], None]]:
        """Surrounds the making of a copy, which keeps what it is given here."""
        made = self._made = Dependencies(SystemClock().now)
        try:
            yield lambda copy: self._of.update({id(copy): made})
        finally:
            self._made = None

    def of(self, actor: Actor | None) -> Dependencies:
        if self._made is not None:
            return self._made
        found = self._of.get(id(actor.wired)) if self.are_on and actor is not None else None
        return found or Dependencies(SystemClock().now)

    def asked(
        self, hub: Hub, service: str, operation: str, asked: Mapping[str, Any], made: Callable[[], Any]
    ) -> Any:
        """The answer to a call, which the breakers of the current copy may refuse."""
        actor = hub.current
        if not self.are_on or actor is None or service != _SERVICE:
            return made()
        model = SimpleNamespace(name=operation, service_model=SimpleNamespace(service_name=service))
        context: dict[str, Any] = {}
        own = self.of(actor)
        try:
            dependencies._before(params=asked, model=model, context=context)
        except Unavailable:
            self._is_refused(actor, context)
            raise
        if own._guards:
            self._goes_out(actor, context)
        try:
            answer = made()
        except BotoCoreError as error:
            dependencies._after_error(exception=error, context=context)
            self._answered(actor, own, context, failed=True)
            raise
        except ClientError as error:
            dependencies._after(parsed=error.response, context=context)
            self._answered(actor, own, context, failed=_fails(error))
            raise
        dependencies._after(parsed=answer, context=context)
        self._answered(actor, own, context, failed=False)
        return answer

    def _is_refused(self, actor: Actor, context: Mapping[str, Any]) -> None:
        self.counted("call refused by a breaker")
        # The failures that opened it were those of earlier invocations.
        actor.faults += 1
        if not any(each.failures >= _FAILURES for each in self._each(actor, context)):
            raise Broken(f"I22: a breaker refuses {_names(context)}, which does not fail")

    def _goes_out(self, actor: Actor, context: Mapping[str, Any]) -> None:
        for each in self._each(actor, context):
            if each.failures >= _FAILURES:
                if actor.now < each.at + _PAUSE:
                    raise Broken(f"I17: {_names(context)} is asked again, after {each.failures} failures")
                each.at = actor.now

    def _answered(self, actor: Actor, own: Dependencies, context: Mapping[str, Any], *, failed: bool) -> None:
        for each in self._each(actor, context) if own._guards else ():
            each.failures = each.failures + 1 if failed else 0
            each.at = actor.now

    def _each(self, actor: Actor, context: Mapping[str, Any]) -> list[Watched]:
        return [self._watched[id(actor.wired), name] for name in _names(context)]


def _names(context: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(context.get(dependencies._NOTED, ())))


def _fails(error: ClientError) -> bool:
    """True if the service does not work. A refusal shows that it works."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= _SERVER_ERROR or "Throttling" in str(error.response["Error"]["Code"])
