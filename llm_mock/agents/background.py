"""An event loop in a thread of its own, for what outlives the event loops of the tests."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopClosed(RuntimeError):
    """The loop has ended, or belongs to the process from which this one was forked off."""


class BackgroundLoop:
    """The loop. Its thread does not keep the process from ending."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.SelectorEventLoop()  # whatever policy the project sets: it must be able to watch pipes
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-mock-servers", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether it has not been closed, and belongs to this process."""
        return not self._loop.is_closed() and self._process == os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine, and wait for what it returns or raises; LoopClosed also where it is closed while it runs."""
        future = self._start(coroutine)
        try:
            return future.result()
        except CancelledError:
            raise LoopClosed from None
        except BaseException:
            future.cancel()  # Ctrl-C in the waiting thread ends what it waits for
            raise

    async def run_async(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine; for code that runs in another event loop."""
        return await asyncio.wrap_future(self._start(coroutine))

    def _start(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        waits_for_itself = threading.current_thread() is self._thread
        if not self.usable or waits_for_itself:
            coroutine.close()
            raise RuntimeError("The loop of the servers would wait for itself.") if waits_for_itself else LoopClosed()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self, shutdown: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a last coroutine, then end the loop and its thread."""
        self.run(self._shut_down(shutdown))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut_down(self, shutdown: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await shutdown()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
