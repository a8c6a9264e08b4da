"""An event loop in a thread of its own, beside the thread that handles events."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable


class BackgroundLoop:
    """Runs coroutines for threads that do not wait for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # The loop itself only holds its tasks weakly.
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="deliver", daemon=True)
        self._thread.start()

    def start(self, coroutines: Iterable[Coroutine[None, None, None]]) -> None:
        self._loop.call_soon_threadsafe(self._start, list(coroutines))

    def close(self, release: Callable[[], None]) -> None:
        """Ends the running coroutines, calls `release` in the loop's thread, and then ends the thread."""
        asyncio.run_coroutine_threadsafe(self._ended(release), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self, coroutines: list[Coroutine[None, None, None]]) -> None:
        for coroutine in coroutines:
            task = self._loop.create_task(coroutine)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ended(self, release: Callable[[], None]) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        release()
        await self._loop.shutdown_default_executor()
