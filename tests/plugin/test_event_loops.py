"""Failures because an event loop was started within the loop of an async test."""

from __future__ import annotations

import pytest

AGENT = """
    import asyncio

    class Agent:
        async def run(self, text):
            return text

        def run_sync(self, text):
            coroutine = self.run(text)
            try:
                return asyncio.get_event_loop().run_until_complete(coroutine)
            finally:
                coroutine.close()

        def answer_sync(self):
            return self.run_sync("Hi")

    def fetch_sync(agent):
        raise RuntimeError("This event loop is already running")
"""
TEST = """
    import asyncio
    import pytest
    from agents import Agent, fetch_sync

    async def answer():
        return "Hi"

    def start(function):
        coroutine = answer()
        try:
            return function(coroutine)
        finally:
            coroutine.close()

    class Own:
        async def ask(self):
            pass

        def ask_sync(self):
            fetch_sync(Agent())

    @pytest.mark.asyncio
    async def test_it():
        {statement}
"""
BEGINNING = (
    "An event loop is already running, as in every async test, and Python cannot start another "
    "loop inside it. "
)


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("Agent().run_sync('Hi')", "Write await Agent.run(…) instead of Agent.run_sync(…)"),
        ("Agent().answer_sync()", "Write await Agent.run(…) instead of Agent.run_sync(…)"),
        ("start(asyncio.run)", "Await the coroutine instead of calling asyncio.run(…)"),
    ],
)
def test_a_loop_within_a_loop_is_explained(
    statement: str, advice: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(agents=AGENT, test_it=TEST.replace("{statement}", statement))
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*- Event loop -*", f"{BEGINNING}{advice}, or write the test without async."]
    )


@pytest.mark.parametrize(
    "statement",
    [
        "raise RuntimeError('This event loop is already running')",
        "raise RuntimeError('another error')",
        "raise ValueError('This event loop is already running')",
        "start(asyncio.get_running_loop().run_until_complete)",
        "fetch_sync(Agent())",
        "Own().ask_sync()",
        "assert asyncio.run is None",
    ],
)
def test_other_errors_are_not_explained(statement: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(agents=AGENT, test_it=TEST.replace("{statement}", statement))
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*- Event loop -*")
