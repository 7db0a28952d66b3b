"""Generators that a failed test never reads: they call no model, and leave replies unused."""

from __future__ import annotations

import pytest

APP = """
import functools
import llm

def stream():
    yield from llm.get_model("gpt-4o").prompt("Hi")

def decorate(function):
    return function

@decorate
async def stream_later():
    async for chunk in llm.get_async_model("gpt-4o").prompt("Hi"):
        yield chunk

def list_chunks():
    yield "Hello"

async def list_later():
    yield "Hello"

async def one_line(): yield "Hello"

class Client:
    def stream(self):
        yield from stream()
"""
UNREAD = {
    "answer = app.stream(); assert answer == 'Hello'": (
        "The generator of stream() was never read, so its code did not run: read it with list() "
        "or a for loop."
    ),
    "assert app.Client().stream() == 'Hello'": (
        "The generator of Client.stream() was never read, so its code did not run: read it with "
        "list() or a for loop."
    ),
    "answer = app.stream_later(); assert 0": (
        "The generator of stream_later() was never read, so its code did not run: read it with "
        "async for."
    ),
    # A call was made, or the generator was read.
    "answer = app.stream(); list(app.stream()); assert 0": "",
    "answer = app.stream(); answer.close(); assert 0": "",
    "answer = app.stream_later(); asyncio.run(read_first(answer)); assert 0": "",
    "answer = app.list_chunks(); next(answer); assert 0": "",
    "answer = app.list_later(); start(answer); assert 0": "",
    "answer = app.one_line(); start(answer); assert 0": "",
    # The code of these is not that of a function of the project.
    "answer = (text for text in ['Hello']); assert 0": "",
    "answer = os.walk('.'); assert 0": "",
    "answer = map(str, [1]); assert 0": "",
}


@pytest.mark.parametrize(("code", "hint"), UNREAD.items())
def test_a_generator_that_was_never_read_is_named_where_no_model_was_called(
    pytester: pytest.Pytester, code: str, hint: str
) -> None:
    pytester.makepyfile(app=APP)
    pytester.makepyfile(
        test_it=f"""
        import asyncio
        import os
        import app
        import pytest

        async def read_first(answer):
            async for chunk in answer:
                break

        def start(answer):
            with pytest.raises(StopIteration, match="Hello"):
                answer.asend(None).send(None)

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hello")
            mock_llm_responses.set("gpt-5", "Hello")
            {code}
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    shown = [line for line in result.outlines if "was never read, so" in line]
    assert shown == ([hint] if hint else [])


def test_an_unread_generator_of_a_test_without_replies_is_not_named(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(app=APP)
    pytester.makepyfile(
        """
        import app

        def test_it(mock_llm_responses):
            answer = app.stream()
            assert 0
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*was never read*")
