"""The event loop of a thread in the background, and its end."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 (whose import is followed once a process)
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator
from concurrent.futures import Future

import pytest

pytest.importorskip("mcp")

from llm_mock.agents.background import BackgroundLoop, LoopClosed
from tests.process_state import StateWatch, assert_nothing_left


def test_a_loop_ends_with_all_that_runs_in_it() -> None:
    seen: list[str] = []
    kept: list[object] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            seen.append("task")

    async def generate() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            seen.append("generator")

    async def begin() -> None:
        generator = generate()
        kept.extend([generator, asyncio.create_task(wait()), await anext(generator)])
        # Starts a thread.
        await asyncio.to_thread(int)

    async def shut_down() -> None:
        seen.append("shutdown")

    watch = StateWatch(kinds=("thread", "descriptor"))
    # Other tests of this process may have left the loop of a whole run.
    before = {*threading.enumerate()}
    loop = BackgroundLoop()
    (thread,) = {*threading.enumerate()} - before
    assert thread.name == "llm-mock-servers"
    loop.run(begin())
    assert loop.usable
    assert thread.daemon
    loop.close(shut_down)
    assert seen == ["shutdown", "task", "generator"]
    assert not loop.usable
    assert_nothing_left(watch.take_changes())
    with pytest.raises(LoopClosed):
        loop.run(shut_down())
    assert seen == ["shutdown", "task", "generator"]


def test_a_loop_that_closes_ends_those_who_wait_for_it() -> None:
    has_begun = threading.Event()
    ended: list[type[BaseException]] = []

    async def wait() -> None:
        has_begun.set()
        await asyncio.sleep(600)

    def run() -> None:
        try:
            loop.run(wait())
        except BaseException as error:
            ended.append(type(error))

    loop = BackgroundLoop()
    thread = threading.Thread(target=run)
    thread.start()
    has_begun.wait(60)
    loop.close(lambda: asyncio.sleep(0))
    thread.join()
    assert ended == [LoopClosed]


@pytest.mark.skipif(sys.platform == "win32", reason="no signal is sent to a thread there")
def test_ctrl_c_in_the_waiting_thread_ends_what_it_waits_for() -> None:
    seen: list[str] = []

    main = threading.main_thread().ident or 0

    def is_waiting() -> bool:
        frames = traceback.walk_stack(sys._current_frames()[main])
        return any(frame.f_code is Future.result.__code__ for frame, _ in frames)

    async def wait() -> None:
        # Before, Ctrl-C would come while the coroutine is still being started.
        while not is_waiting():
            await asyncio.sleep(0)
        signal.pthread_kill(main, signal.SIGINT)
        try:
            await asyncio.sleep(600)
        finally:
            seen.append("cancelled")

    async def wait_within() -> None:
        with pytest.raises(RuntimeError, match="cannot wait for itself"):
            loop.run(asyncio.sleep(0))

    loop = BackgroundLoop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run(wait())
        loop.run(asyncio.sleep(0))
        assert seen == ["cancelled"]
        loop.run(wait_within())
    finally:
        loop.close(lambda: asyncio.sleep(0))
