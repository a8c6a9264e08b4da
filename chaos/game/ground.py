"""The ground of each drill of a game day: the stack, a tenant of its own, a receiver, alarms and the runbook."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from chaos.bed import TIMEOUT_SECONDS, Bed
from chaos.game.receiver import Receiver, receiving
from chaos.game.runbook import Runbook
from cli import alarms, tenants
from cli.client import Client
from cli.local import aws, secrets
from cli.local.place import Place
from cli.local.processes import Process
from cli.local.stack import Stack
from infra.environments import LOCAL

TENANT: Final = "game"
PATIENCE_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.2
_LOOK_AT_ALARMS_SECONDS: Final = 2.0
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """`key` is the game's tenant's, with every scope of a tenant. `on_call` is the operator's key that the runbook asks
    for. Clients are for one thread each."""

    place: Place
    stack: Stack
    key: str
    on_call: str
    receiver: Receiver
    runbook: Runbook
    aws: Callable[[str], Any]

    def client(self) -> Client:
        return Client(self.stack.api_url, self.key, timeout_seconds=TIMEOUT_SECONDS)

    def operator(self) -> Client:
        return Client(self.stack.api_url, self.stack.operator_key, timeout_seconds=TIMEOUT_SECONDS)

    def workers(self, function: str) -> list[int]:
        """The processes of a function."""
        mark = f"{self.place.temporary}/ministack-lambda-{LOCAL.named(function)}-"
        return Process.noted(self.stack.pid).group(marked=mark)

    def fires(
        self, alarm: str, *, since: datetime, times: float = 1, within: float = PATIENCE_SECONDS
    ) -> bool:
        """Waits until the alarm fires on what was emitted since the fault; False if it stays quiet."""

        def look() -> bool:
            return alarms.fires(LOCAL, self.aws, alarm, since=since, now=datetime.now(UTC), times=times)

        return bool(until(look, within=within, every=_LOOK_AT_ALARMS_SECONDS))


def until(
    look: Callable[[], Found], *, within: float = PATIENCE_SECONDS, every: float = _LOOK_SECONDS
) -> Found:
    """Calls `look` until its result is true or patience ends, and returns the last result."""
    deadline = time.monotonic() + within
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(every)
    return found


@contextmanager
def made(bed: Bed) -> Iterator[Ground]:
    """On a running stack, which may have served another run before."""
    stack, clients = bed.stack, dict[str, Any]()
    tenants.tenant(stack.tables["tenants"], TENANT, vault=secrets.vault(stack.tables))
    key = tenants.key(secrets.key_table(stack.tables), TENANT, tenants.SCOPES)
    on_call = tenants.operator_key(secrets.key_table(stack.tables), tenants.SCOPES)

    def client(service: str) -> Any:
        if service not in clients:
            clients[service] = aws.client(service)
        return clients[service]

    with receiving() as receiver:
        yield Ground(
            place=bed.place,
            stack=stack,
            key=key,
            on_call=on_call,
            receiver=receiver,
            runbook=Runbook(aws=client, url=stack.api_url, tenant=TENANT),
            aws=client,
        )
