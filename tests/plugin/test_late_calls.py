"""Each call belongs to the test whose thread or task started it."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import llm
import pytest

from llm_mock import LLMMock
from llm_mock.core.context import activate
from llm_mock.plugin.run import activate_test_mock

SECTION = "*LLM calls after the end of their test*"

LEFT_OVER = """
    import asyncio
    import threading
    from concurrent.futures import ThreadPoolExecutor
    from multiprocessing.pool import ThreadPool
    import llm
    import pytest

    GO, ANSWERS, WAITED_FOR = threading.Event(), [], []

    def ask(prompt="left over"):
        GO.wait(20)
        try:
            ANSWERS.append(llm.get_model("4o-mini").prompt(prompt).text())
        except Exception as error:
            ANSWERS.append(error)

    class Started(threading.Thread):
        def start(self):
            super().start()
            WAITED_FOR.append(self)

        def run(self):
            ask()

    def thread():
        thread = threading.Thread(target=ask, name="asker")
        thread.start()
        WAITED_FOR.append(thread)

    def subclass():
        Started(name="asker").start()

    def timer():
        timer = threading.Timer(0, ask)
        timer.name = "asker"
        timer.start()
        WAITED_FOR.append(timer)

    def thread_of_a_thread():
        first = threading.Thread(target=thread)
        first.start()
        first.join()

    def submitted(pool):
        pool.submit(ask)
        WAITED_FOR.append(pool)

    @pytest.fixture(scope="session")
    def pool():
        with ThreadPoolExecutor(1, thread_name_prefix="asker") as pool:
            pool.submit(print).result()
            yield pool

    @pytest.fixture
    def in_teardown():
        yield
        if STARTING is None:
            thread()

    STARTING = {starting}

    def test_a(pool, in_teardown, mock_llm_calls):
        mock_llm_calls.set("4o-mini", "of a")
        if STARTING is submitted:
            submitted(pool)
        elif STARTING is not None:
            STARTING()

    def test_b(pool, mock_llm_calls):
        mock_llm_calls.add("4o-mini", "of b")
        GO.set()
        for waited_for in WAITED_FOR:
            pool.submit(print).result() if waited_for is pool else waited_for.join(20)
        assert ANSWERS == ["of a"]
        assert mock_llm_calls.calls == []
        assert llm.get_model("4o-mini").prompt("mine").text() == "of b"
        assert [call["prompt"] for call in mock_llm_calls.calls] == ["mine"]
"""


@pytest.mark.parametrize(
    "starting", ["thread", "subclass", "timer", "thread_of_a_thread", "submitted", "None"]
)
def test_a_left_over_call_gets_the_reply_of_its_own_test(
    pytester: pytest.Pytester, starting: str
) -> None:
    pytester.makepyfile(test_it=LEFT_OVER.replace("{starting}", starting))
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(passed=2)
    late = "  test_it.py::test_a: 1 call to gpt-4o-mini by the thread 'asker*', which was still running while *::test_b ran"  # noqa: E501
    result.stdout.fnmatch_lines([SECTION, late, "*In the test, wait*"])


def test_a_strict_left_over_call_is_refused_and_fails_no_other_test(
    pytester: pytest.Pytester,
) -> None:
    source = LEFT_OVER.replace("{starting}", "thread").replace(
        'mock_llm_calls.set("4o-mini", "of a")', "pass"
    )
    source = source.replace('ANSWERS == ["of a"]', 'type(ANSWERS[0]).__name__ == "UnexpectedCall"')
    pytester.makepyfile(test_it=source)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-o", "llm_mock_strict=error")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([SECTION, "  test_it.py::test_a: 1 call to gpt-4o-mini *"])


def test_workers_of_xdist_report_left_over_calls(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=LEFT_OVER.replace("{starting}", "thread"))
    result = pytester.runpytest("-p", "no:randomly", "-n", "1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([SECTION, "  test_it.py::test_a: 1 call to gpt-4o-mini *"])


def test_a_left_over_thread_reaches_no_real_model_where_the_project_opted_out(
    pytester: pytest.Pytester,
) -> None:
    source = LEFT_OVER.replace("{starting}", "thread").replace(
        "def test_b(pool, mock_llm_calls)", "def test_b(pool)"
    )
    source = source.partition('        mock_llm_calls.add("4o-mini", "of b")')
    end = "\n        GO.set(); WAITED_FOR[0].join(20)\n        assert ANSWERS == ['of a']\n"
    pytester.makepyfile(test_it=source[0] + end)
    pytester.runpytest_inprocess("-p", "no:randomly", "-o", "llm_mock=false").assert_outcomes(
        passed=2
    )


SHARED = """
    import asyncio
    import queue
    import threading
    from concurrent.futures import ThreadPoolExecutor
    from multiprocessing.pool import ThreadPool
    import anyio.from_thread
    import llm
    import pytest

    def ask():
        return llm.get_model("4o-mini").prompt("Hi").text()

    async def ask_async():
        await asyncio.sleep(0)
        return await asyncio.get_running_loop().run_in_executor(None, ask)

    class Loop:
        def __init__(self):
            self.loop = asyncio.new_event_loop()
            self.thread = threading.Thread(target=self.loop.run_forever)
            self.thread.start()

        def ask(self):
            return asyncio.run_coroutine_threadsafe(ask_async(), self.loop).result(20)

        def close(self):
            asyncio.run_coroutine_threadsafe(self.loop.shutdown_default_executor(), self.loop).result(20)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()

    class Pool:
        def __init__(self):
            self.pool = ThreadPoolExecutor(1)

        def ask(self):
            return self.pool.submit(ask).result(20)

        def close(self):
            self.pool.shutdown()

    class OldPool:
        def __init__(self):
            self.pool = ThreadPool(1)
            self.methods = iter([
                lambda: self.pool.apply_async(ask).get(20),
                lambda: self.pool.map(lambda item: ask(), [1])[0],
                lambda: self.pool.map_async(lambda item: ask(), [1]).get(20)[0],
                lambda: self.pool.starmap(lambda item: ask(), [(1,)])[0],
                lambda: self.pool.starmap_async(lambda item: ask(), [(1,)]).get(20)[0],
                lambda: next(self.pool.imap(lambda item: ask(), [1])),
                lambda: next(self.pool.imap_unordered(lambda item: ask(), [1])),
            ])

        def ask(self):
            return next(self.methods)()

        def close(self):
            self.pool.terminate()
            self.pool.join()

    class Portal:
        def __init__(self):
            self.entered = anyio.from_thread.start_blocking_portal()
            self.portal = self.entered.__enter__()

        def ask(self):
            return self.portal.call(self._ask)

        async def _ask(self):
            return await anyio.to_thread.run_sync(ask)

        def close(self):
            self.entered.__exit__(None, None, None)

    class Server:
        def __init__(self):
            self.asked, self.answers = queue.Queue(), queue.Queue()
            self.thread = threading.Thread(target=self.serve)
            self.thread.start()

        def serve(self):
            while self.asked.get():
                threading.Thread(target=lambda: self.answers.put(ask())).start()

        def ask(self):
            self.asked.put(True)
            return self.answers.get(timeout=20)

        def close(self):
            self.asked.put(False)
            self.thread.join()

    class Runner:
        def __init__(self):
            self.runner = asyncio.Runner()
            self.runner.get_loop()

        def ask(self):
            return self.runner.run(ask_async())

        def close(self):
            self.runner.close()

    LAZY = []

    @pytest.fixture(scope="session")
    def of_session():
        shared = {kind}()
        yield shared
        shared.close()

    @pytest.fixture(scope="session")
    def close():
        yield
        LAZY[0].close()

    @pytest.fixture
    def on_request(request):
        return request.getfixturevalue("of_session")

    @pytest.fixture
    def lazy(close):
        LAZY[:] = LAZY or [{kind}()]
        return LAZY[0]

    @pytest.mark.parametrize("number", range(7))
    def test_it({fixture}, mock_llm_calls, number):
        mock_llm_calls.add("4o-mini", f"reply {number}")
        assert {fixture}.ask() == f"reply {number}"
        assert len(mock_llm_calls.calls) == 1
"""  # noqa: E501
KINDS = ["Loop", "Pool", "OldPool", "Portal"]
NEWER = [] if sys.version_info < (3, 11) else ["Runner"]


@pytest.mark.parametrize(
    ("kind", "fixture"),
    [
        *itertools.product([*KINDS, *NEWER, "Server"], ["of_session", "on_request"]),
        *itertools.product([*KINDS, *NEWER], ["lazy"]),
    ],
)
def test_what_several_tests_share_works_for_the_running_one(
    pytester: pytest.Pytester, kind: str, fixture: str
) -> None:
    pytester.makepyfile(SHARED.replace("{kind}", kind).replace("{fixture}", fixture))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=7)
    result.stdout.no_fnmatch_line(SECTION)


ON_A_SHARED_LOOP = """
    import asyncio
    import llm
    import pytest

    {marks}
    ANSWERS, TASKS = [], []

    async def ask(go, prompt="left over"):
        await go.wait()
        ANSWERS.append(await llm.get_async_model("4o-mini").prompt(prompt).text())

    {fixture}
    async def go():
        yield asyncio.Event()

    async def test_a(go, mock_llm_calls):
        mock_llm_calls.set("4o-mini", "of a")
        TASKS.append(asyncio.create_task(ask(go), name="asker"))
        await asyncio.sleep(0)

    async def test_b(go, mock_llm_calls):
        mock_llm_calls.add("4o-mini", "of b")
        go.set()
        await TASKS[0]
        assert ANSWERS == ["of a"]
        assert mock_llm_calls.calls == []
        await asyncio.create_task(ask(go, "mine"))
        assert ANSWERS == ["of a", "of b"]
        assert [call["prompt"] for call in mock_llm_calls.calls] == ["mine"]
"""


def test_a_left_over_task_gets_the_reply_of_its_own_test(pytester: pytest.Pytester) -> None:
    source = ON_A_SHARED_LOOP.replace(
        "{marks}", 'pytestmark = pytest.mark.asyncio(loop_scope="session")'
    )
    fixture = (
        'import pytest_asyncio\n    @pytest_asyncio.fixture(loop_scope="session", scope="session")'
    )
    pytester.makepyfile(test_it=source.replace("{fixture}", fixture))
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:anyio")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [SECTION, "  test_it.py::test_a: 1 call to gpt-4o-mini by the task 'asker', *"]
    )


ANYIO = """
    import asyncio
    import anyio
    import llm
    import pytest

    pytestmark = pytest.mark.anyio

    @pytest.fixture(scope="session")
    def anyio_backend():
        return "{backend}"

    @pytest.fixture(scope="session")
    async def of_session(anyio_backend):
        yield "session"

    @pytest.fixture
    async def asked():
        return await anyio.to_thread.run_sync(ask)

    def ask():
        return llm.get_model("4o-mini").prompt("Hi").text()

    def test_sync(of_session, mock_llm_calls):
        assert of_session == "session"

    @pytest.mark.parametrize("number", range(3))
    async def test_it(of_session, mock_llm_calls, asked, number):
        mock_llm_calls.add("4o-mini", f"reply {number}", times=2)
        assert ask() == f"reply {number}"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, ask)
        assert len(mock_llm_calls.calls) == 3
"""


@pytest.mark.usefixtures("all_libraries")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_runner_of_anyio_works_for_the_running_test(
    pytester: pytest.Pytester, backend: str
) -> None:
    pytester.makepyfile(ANYIO.replace("{backend}", backend))
    result = pytester.runpytest_subprocess("-p", "anyio.pytest_plugin", "-p", "no:randomly")
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line(SECTION)


CASES = """
    import asyncio
    import threading
    import unittest
    import llm

    def ask():
        return llm.get_model("4o-mini").prompt("Hi").text()

    class TestCase(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self):
            self.first = await asyncio.to_thread(ask)

        async def test_one(self):
            assert await asyncio.create_task(asyncio.to_thread(ask)) == self.first

        async def test_two(self):
            assert ask() == self.first

    class TestSync(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.asked = threading.Event()
            cls.thread = threading.Thread(target=lambda: (cls.asked.wait(20), ask()))
            cls.thread.start()

        def test_one(self):
            self.asked.set()
            self.thread.join()
"""


def test_cases_of_unittest_call_for_themselves(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASES)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line(SECTION)


def test_threads_and_pools_look_as_without_the_plugin(mock_llm_calls: LLMMock) -> None:
    thread = threading.Thread(target=print, name="mine")
    before = (repr(thread), sorted(vars(thread)))
    thread.start()
    thread.join()
    plain = threading.Thread(target=print)
    assert (before[0].replace("initial", "stopped"), thread.name) == (
        re.sub(r"stopped \d+", "stopped", repr(thread)),
        "mine",
    )
    assert sorted(vars(plain)) == before[1]
    assert inspect.signature(threading.Thread.start) == inspect.signature(lambda self: None)
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        thread.start()
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(TypeError, match="missing 1 required positional argument"),
    ):
        pool.submit()  # type: ignore[call-arg]


def _ask(name: str) -> None:
    llm.get_model("4o-mini").prompt(name).text()


@pytest.fixture
def run_of_its_own() -> Iterator[None]:
    """Activate a mock below the tests' own, so that late calls stay out of the summary."""
    previous = activate(LLMMock(at_boundary=True))
    yield
    activate(previous)


def _start_thread(name: str, go: threading.Event, *, nested: bool) -> Callable[[], object]:
    """Start a thread that calls the model when it may go, perhaps in a pool of its own."""

    def call() -> None:
        go.wait(20)
        if nested:
            ThreadPoolExecutor(1).submit(_ask, name).result()
        else:
            _ask(name)

    thread = threading.Thread(target=call)
    thread.start()
    return thread.join


def _start_task(
    loop: asyncio.AbstractEventLoop, name: str, go: threading.Event
) -> Callable[[], object]:
    """Start a task that calls the model in a thread when it may go."""

    async def ask() -> None:
        while not go.is_set():
            await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, _ask, name)

    async def begin() -> asyncio.Task[None]:
        return asyncio.create_task(ask())

    task = loop.run_until_complete(begin())
    return lambda: loop.run_until_complete(asyncio.wait([task]))


@pytest.mark.usefixtures("run_of_its_own")
@pytest.mark.parametrize("seed", range(20))
def test_every_call_is_in_the_history_of_the_test_that_started_it(seed: int) -> None:
    """Tests come and go while their threads, pools and tasks call, in any order."""
    randomness, left, pool = random.Random(seed), [], ThreadPoolExecutor(2)
    histories: dict[str, list[str]] = {}
    mocks: dict[str, LLMMock] = {}
    loop = asyncio.new_event_loop()

    def start(name: str, go: threading.Event) -> None:
        def call() -> None:
            go.wait(20)
            _ask(name)

        kind = randomness.choice(["thread", "pool", "task", "now", "nested"])
        histories[name].append(name)
        # A pool of two threads would wait for a third call forever.
        is_pool_full = sum(1 for each in left if each[1].__name__ == "result") >= 2
        if kind == "now" or (kind == "pool" and is_pool_full):
            _ask(name)
        elif kind == "pool":
            left.append((go, pool.submit(call).result))
        elif kind == "task":
            left.append((go, _start_task(loop, name, go)))
        else:
            left.append((go, _start_thread(name, go, nested=kind == "nested")))

    def finish_some(all_of_them: bool = False) -> None:
        randomness.shuffle(left)
        while left and (all_of_them or randomness.random() < 0.5):
            go, wait = left.pop()
            go.set()
            wait()

    for number in range(8):
        name = f"test_{number}"
        histories[name] = []
        with contextmanager(activate_test_mock)() as pending:
            mocks[name] = pending.get()
            mocks[name].set("*", "answer")
            for _ in range(randomness.randrange(4)):
                start(name, threading.Event())
                finish_some()
    finish_some(all_of_them=True)
    pool.shutdown()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    assert {
        name: [call["prompt"] for call in mock.calls] for name, mock in mocks.items()
    } == histories
