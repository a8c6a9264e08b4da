"""Connections to checked addresses, kept open between deliveries and between invocations."""

import asyncio
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from postdate.targets.connection import Connection, Key
from postdate.targets.guard import Endpoint

_ADDRESSES_TRIED_MAX: Final = 4


class ConnectTimedOut(TimeoutError):
    """No connection within the time for connecting."""


class Connections:
    """At most `idle_max` are kept; those of the longest unused destination go first.

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
        self._idle: OrderedDict[Key, list[tuple[float, Connection]]] = OrderedDict()
        self._idle_count = 0

    def kept(self, endpoint: Endpoint) -> Connection | None:
        """An idle connection to one of the endpoint's addresses, as they were checked just now."""
        for address in endpoint.addresses:
            while idle := self._idle.get(_key(endpoint, address)):
                kept_at, connection = self._pop(connection_key=_key(endpoint, address), idle=idle, at=-1)
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
        self._idle.setdefault(connection.key, []).append((self._clock(), connection))
        self._idle.move_to_end(connection.key)
        self._idle_count += 1
        if self._idle_count > self._idle_max:
            self._drop_oldest()

    def close(self) -> None:
        while self._idle:
            self._drop_oldest()

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

    def _pop(
        self, connection_key: Key, idle: list[tuple[float, Connection]], at: int
    ) -> tuple[float, Connection]:
        popped = idle.pop(at)
        self._idle_count -= 1
        if not idle:
            del self._idle[connection_key]
        return popped

    def _drop_oldest(self) -> None:
        key, idle = next(iter(self._idle.items()))
        self._pop(key, idle, 0)[1].abort()


def _key(endpoint: Endpoint, address: str) -> Key:
    return endpoint.scheme, endpoint.host, endpoint.port, address
