"""Calls that are made for real, and folders of the user, end where they are left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import llm

from llm_mock.boundaries.llm.log import load_logged_conversation, log_responses
from llm_mock.boundaries.llm.user_folder import switch_user_folder
from llm_mock.boundaries.passthrough import call_through
from llm_mock.core.context import is_passing_through
from tests.process_state import StateWatch, assert_nothing_left


def test_a_stream_that_is_left_early_is_closed() -> None:
    seen: list[object] = []

    def stream() -> Iterator[bool]:
        try:
            yield is_passing_through()
            yield is_passing_through()
        finally:
            seen.append("closed")

    chunks = call_through(stream)
    seen += [next(chunks), is_passing_through()]
    chunks.close()
    assert seen == [True, False, "closed"]
    assert list(call_through(stream)) == [True, True]
    assert list(call_through(lambda: iter([1, 2]))) == [1, 2]


def test_an_asynchronous_stream_that_is_left_early_is_closed() -> None:
    seen: list[object] = []

    async def stream() -> AsyncIterator[bool]:
        try:
            yield is_passing_through()
            yield is_passing_through()
        finally:
            seen.append("closed")

    async def run() -> None:
        chunks = call_through(stream)
        seen.extend([await anext(chunks), is_passing_through()])
        await chunks.aclose()
        assert seen == [True, False, "closed"]
        assert [chunk async for chunk in call_through(stream)] == [True, True]

    asyncio.run(run())


def test_the_folder_of_the_user_is_used_for_a_while(tmp_path: Path) -> None:
    before = llm.user_dir()
    with switch_user_folder(str(tmp_path)):
        assert llm.user_dir() == tmp_path
    assert llm.user_dir() == before != tmp_path


def test_a_conversation_is_logged_and_loaded_without_a_trace() -> None:
    model = llm.get_model("m")
    response = model.conversation().prompt("Hello")
    response.text()
    log_responses([response], "own name")
    get_model = llm.get_model
    loaded = load_logged_conversation("own name", model)
    assert loaded.id == response.conversation.id
    assert loaded.model is model
    assert llm.get_model is get_model
    watch = StateWatch(kinds=("thread", "descriptor"))
    load_logged_conversation("own name", model)
    assert load_logged_conversation("another name", model) is None
    assert_nothing_left(watch.take_changes())
