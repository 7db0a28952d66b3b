"""Run coroutines on an event loop in a background thread that outlives the loops of tests."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopClosed(RuntimeError):
    """The loop has ended, or belongs to the parent of this forked process."""


class BackgroundLoop:
    """An event loop in a daemon thread, which does not keep the process alive."""

    def __init__(self) -> None:
        self._process = os.getpid()
        # Independent of the policy that the project sets: it must be able to watch pipes.
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(
            target=self._loop.run_forever,
            name="llm-mock-servers",
            daemon=True,
        )
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Return whether the loop is open and belongs to this process."""
        # A forked process has the object, but not the thread.
        return not self._loop.is_closed() and self._process == os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine and wait for its result.

        Raises:
            LoopClosed: the loop is closed, or closes during the call.
        """
        future = self._start(coroutine)
        try:
            return future.result()
        except CancelledError:
            raise LoopClosed from None
        except BaseException:
            # Ctrl-C in the waiting thread ends the coroutine too.
            future.cancel()
            raise

    async def run_async(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine without blocking the event loop of the caller."""
        return await asyncio.wrap_future(self._start(coroutine))

    def _start(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("The event loop of the servers cannot wait for itself.")
        if not self.usable:
            # Without close() Python warns that it was never awaited.
            coroutine.close()
            raise LoopClosed
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self, shutdown: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a final coroutine, then stop the loop and its thread."""
        self.run(self._shut_down(shutdown))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut_down(self, shutdown: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # The same steps as asyncio.run().
        await shutdown()
        current = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
