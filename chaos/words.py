"""Receivers that have the last word about a run: some at once, some after a heartbeat, some say no, some nothing."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from random import Random
from threading import local
from typing import Any, Final

from chaos.asking import Asked, ask
from chaos.forms import ACKNOWLEDGED_WITHIN_SECONDS
from chaos.notes import Notes, together
from chaos.seen import Arrival
from cli.client import Client

_AT_ONCE: Final = 16
_KINDS: Final = {"completes": 5, "beats and completes": 5, "fails": 2, "is silent": 2}
_PATIENCE_SECONDS: Final = 15


class Words:
    """`completed` has the runs whose success was acknowledged to their receiver, and the token it was said under."""

    def __init__(self, url: str, key: str, *, seed: int) -> None:
        self._url, self._key, self._seed = url, key, seed
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._own = local()
        self._all_notes: list[Notes] = []
        self._opened = ExitStack()
        self._said: list[Future[None]] = []
        self.completed: dict[str, int] = {}

    def acknowledge(self, arrival: Arrival) -> None:
        self._said.append(self._pool.submit(self._say, arrival))

    def close(self) -> Notes:
        """Waits for all acknowledgements that were begun, and returns the notes of them."""
        self._pool.shutdown()
        self._opened.close()
        for said in self._said:
            said.result()
        return together(self._all_notes)

    def _say(self, arrival: Arrival) -> None:
        draws = Random(f"{self._seed} {arrival.run} {arrival.token}")  # noqa: S311 (no secret)
        (kind,) = draws.choices(list(_KINDS), list(_KINDS.values()))
        if kind == "is silent":
            return
        if kind == "beats and completes":
            time.sleep(0.6 * ACKNOWLEDGED_WITHIN_SECONDS)
            self._ask("a heartbeat", arrival, "heartbeat", {})
            time.sleep(0.6 * ACKNOWLEDGED_WITHIN_SECONDS)
        if kind == "fails":
            self._ask("a word of failure", arrival, "fail", {"error": "not now"})
        elif self._ask("a word of success", arrival, "complete", {}).status == 200:
            self.completed[arrival.run] = arrival.token

    def _ask(self, what: str, arrival: Arrival, verb: str, form: dict[str, Any]) -> Asked:
        client, notes = self._of_this_thread()
        path = f"/api/v1/runs/{arrival.run}/{verb}"
        return ask(
            what,
            lambda: client.post(path, form | {"token": arrival.token}),
            notes,
            patience_seconds=_PATIENCE_SECONDS,
        )

    def _of_this_thread(self) -> tuple[Client, Notes]:
        if not hasattr(self._own, "client"):
            self._own.client = self._opened.enter_context(Client(self._url, self._key))
            self._own.notes = Notes()
            self._all_notes.append(self._own.notes)
        return self._own.client, self._own.notes
