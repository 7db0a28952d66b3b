"""niquests, which installs urllib3-future in the place of urllib3: run where it is installed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm_mock import LLMMock, Reply

pytest.importorskip("niquests.sessions")
import niquests

CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**QUESTION, "stream": True}


def test_a_call_is_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    with niquests.Session() as session:
        for _ in range(2):
            assert (
                session.post(CHAT, json=QUESTION).json()["choices"][0]["message"]["content"]
                == "Hi!"
            )


def test_a_stream_is_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))
    response = niquests.post(CHAT, json=STREAM, stream=True)
    assert [line for line in response.iter_lines() if line][-1] == b"data: [DONE]"


@pytest.mark.parametrize("streamed", [False, True])
def test_an_asynchronous_call_is_answered(streamed: bool, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))

    async def ask() -> bytes:
        async with niquests.AsyncSession() as session:
            response: Any = await session.post(
                CHAT, json={**QUESTION, "stream": streamed}, stream=streamed
            )
            content = response.content if not streamed else await response.content
            return bytes(content)

    assert (b"[DONE]" if streamed else b'"ab"') in asyncio.run(ask())
