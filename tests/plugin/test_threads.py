"""A thread of a mocked test that goes on during a live one reaches no real model."""

from __future__ import annotations

import pytest

TESTS = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    import llm
    import pytest

    class Provider(llm.Model):
        model_id = "provider"
        def execute(self, prompt, stream, response, conversation):
            yield "REAL"

    LIVE, MOCKED, THREADS, EARLY = threading.Event(), [], [], llm.get_model("4o-mini")

    def ask(answers=MOCKED):
        LIVE.wait()
        try:
            answers.append(Provider().prompt("Hi").text())
        except Exception as error:
            answers.append(error)

    def ask_in_another_thread():
        LIVE.wait()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    def get():
        LIVE.wait()
        try:
            MOCKED.append(llm.get_model("4o-mini"))
        except Exception as error:
            MOCKED.append(error)

    def use_an_earlier_model():
        LIVE.wait()
        try:
            MOCKED.append(EARLY.prompt("Hi").text())
        except Exception as error:
            MOCKED.append(error)

    @pytest.fixture(scope="session")
    def pool():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(print).result()
            yield pool

    def test_mocked(pool):
        for target in (ask, ask_in_another_thread, get, use_an_earlier_model):
            THREADS.append(threading.Thread(target=target, name="left over"))
            THREADS[-1].start()

    @pytest.mark.llm_live
    def test_live(pool):
        LIVE.set()
        for thread in THREADS:
            thread.join()
        own = []
        pool.submit(ask, own).result()
        thread = threading.Thread(target=ask, args=(own,))
        thread.start()
        thread.join()
        ask(own)
        assert own == ["REAL"] * 3
        assert [type(answer).__name__ for answer in MOCKED] == ["RealModelCall"] * 4
        assert any("The thread 'left over' was started in test_it.py::test_mocked, which is" in str(e) for e in MOCKED)

    def test_mocked_again(pool):
        own = []
        pool.submit(ask, own).result()
        assert own == ['{"success": true}']
"""  # noqa: E501


def test_a_thread_of_a_mocked_test_is_refused_real_models_during_a_live_one(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=TESTS)
    pytester.runpytest_subprocess("--llm-mock-live").assert_outcomes(passed=3)


def test_nothing_of_python_stays_replaced_after_a_run(pytester: pytest.Pytester) -> None:
    import threading

    start = threading.Thread.start
    pytester.makepyfile(
        "import threading\ndef test_it(): assert hasattr(threading.Thread.start, '__wrapped__')"
    )
    pytester.runpytest_inprocess("--llm-mock-live").assert_outcomes(passed=1)
    assert threading.Thread.start is start
