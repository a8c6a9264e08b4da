"""Connections to checked addresses, kept open between deliveries and between invocations."""

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Final

from postdate.targets.connection import Connection, Key
from postdate.targets.guard import Endpoint

_ADDRESSES_TRIED_MAX: Final = 4


class ConnectTimedOut(TimeoutError):
    """No connection within the time for connecting."""


class Connections:
    """Connections kept for further requests: at most `idle_max`, and those unused for the longest time go first. Only
    the loop's thread comes here.

    None is kept longer than `idle_seconds_max` by the wall clock: a function may have been frozen in between, and what
    a gateway forgot meanwhile swallows a request without a word.
    """

    def __init__(
        self,
        tls: ssl.SSLContext,
        *,
        idle_max: int = 100,
        idle_seconds_max: float = 20.0,
        connect_seconds_max: float = 3.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tls = tls
        self._idle_max = idle_max
        self._idle_seconds_max = idle_seconds_max
        self._connect_seconds_max = connect_seconds_max
        self._clock = clock
        self._idle: list[tuple[float, Connection]] = []

    def kept(self, endpoint: Endpoint) -> Connection | None:
        """The last used idle connection to one of the endpoint's addresses, as they were checked just now."""
        keys = {_key(endpoint, address) for address in endpoint.addresses}
        # The newest first: an old connection is more likely to be closed by the other side.
        for index in range(len(self._idle) - 1, -1, -1):
            kept_at, connection = self._idle[index]
            if connection.key in keys:
                del self._idle[index]
                if 0 <= self._clock() - kept_at <= self._idle_seconds_max and connection.is_usable():
                    return connection
                connection.abort()
        return None

    async def opened(self, endpoint: Endpoint) -> Connection:
        """A new connection, TLS included. Each address gets its share of the time, so a dead one costs no delivery."""
        addresses = endpoint.addresses[:_ADDRESSES_TRIED_MAX]
        share = self._connect_seconds_max / len(addresses)
        failure = OSError()
        for address in addresses:
            try:
                async with asyncio.timeout(share):
                    return await self._connected(endpoint, address)
            except TimeoutError:
                failure = ConnectTimedOut()
            except OSError as error:
                failure = error
        raise failure

    def keep(self, connection: Connection) -> None:
        connection.rest()
        self._idle.append((self._clock(), connection))
        if len(self._idle) > self._idle_max:
            self._drop_oldest()

    def close(self) -> None:
        while self._idle:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, connection = self._idle.pop(0)
        connection.abort()

    async def _connected(self, endpoint: Endpoint, address: str) -> Connection:
        """Goes to this very address: no name is resolved here and no proxy of the environment asked.

        The name is what TLS asks for and what the certificate must be for.
        """
        secure = endpoint.scheme == "https"
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(_key(endpoint, address)),
            address,
            endpoint.port,
            ssl=self._tls if secure else None,
            server_hostname=endpoint.host if secure else None,
        )
        return connection


def _key(endpoint: Endpoint, address: str) -> Key:
    return endpoint.scheme, endpoint.host, endpoint.port, address
