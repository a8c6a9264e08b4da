"""The AWS client of the functions in a run: its calls go over the simulated wire."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import boto3
import botocore
import botocore.endpoint
import botocore.retries.quota
import botocore.useragent
from botocore import handlers

from postdate.runtime import aws, deadline, dependencies
from tests.simulation.hub import Stuck
from tests.simulation.threads import Quota

if TYPE_CHECKING:
    from tests.simulation.inside import Inside

_ORIGINAL_CLIENT: Final = aws.client.__wrapped__
_WITH_TOKEN: Final = frozenset({"TransactWriteItems", "ExecuteTransaction"})


def made_client(inside: "Inside", service: str, **options: Any) -> Any:
    with _only_its_own_handlers():
        boto3.setup_default_session()
        client = _ORIGINAL_CLIENT(service, **options)
    client.meta.events.register_first("choose-signer", lambda **_: botocore.UNSIGNED)
    # Whatever listens to a call is asked, also after the answer: the deadline is looked at before the call.
    client.meta.events.unregister("before-send", deadline._check)
    client.meta.events.unregister("before-parameter-build", deadline._precede)
    client.meta.events.register_first(
        "before-send", lambda request, event_name, **_: _sent(inside, request, event_name)
    )
    _unwatch(client)
    made = _shortened(inside, service, client._make_api_call)
    client._make_api_call = lambda operation, asked: inside.guards.asked(
        inside.hub, service, operation, asked, lambda: made(operation, asked)
    )
    return client


def _unwatch(client: Any) -> None:
    """Takes the breakers away from botocore, which most calls do not reach here."""
    id = client.meta.service_model.service_id.hyphenize()
    client.meta.events.unregister(f"before-parameter-build.{id}", dependencies._before)
    client.meta.events.unregister(f"after-call.{id}", dependencies._after)
    client.meta.events.unregister(f"after-call-error.{id}", dependencies._after_error)


def _sent(inside: "Inside", request: Any, event_name: str) -> Any:
    deadline._check(event_name)
    return inside.wire.sent(request, event_name)


def _shortened(inside: "Inside", service: str, whole: Callable[..., Any]) -> Callable[..., Any]:
    """Half of a run's time would go to what botocore does for calls that simply succeed."""

    def call(operation: str, asked: dict[str, Any]) -> Any:
        if inside.hub.current is not None and inside.hub.current.met is not None:
            raise Stuck(f"{operation} would be answered with the outcome of an earlier call")
        inside.deadline().precede()
        if operation in _WITH_TOKEN:
            asked = {"ClientRequestToken": inside.drawn_bytes(16).hex(), **asked}
        if service == "kms":
            # Its answers are bytes, which botocore reads from the text of an answer.
            return whole(operation, asked)
        inside.deadline().check(operation)
        answer = inside.wire.direct(service, operation, asked)
        if answer is None:
            return _repeated(inside, lambda: whole(operation, asked))
        Quota().release(1)
        return answer

    return call


def _repeated(inside: "Inside", whole: Callable[[], Any]) -> Any:
    """Makes the call through botocore, which finds the outcome of the first try. When botocore makes no try, because
    the time is up, the outcome must not be left for the actor's next call."""
    try:
        return whole()
    finally:
        if (actor := inside.hub.current) is not None:
            actor.met = None


@contextmanager
def _only_its_own_handlers() -> Iterator[None]:
    """Other tests' listeners are not for these clients."""
    kept = list(handlers.BUILTIN_HANDLERS)
    handlers.BUILTIN_HANDLERS[:] = [
        each for each in kept if getattr(each[1], "__module__", "").startswith("botocore")
    ]
    yield
    handlers.BUILTIN_HANDLERS[:] = kept
