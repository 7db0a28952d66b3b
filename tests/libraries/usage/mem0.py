"""Mem0, which keeps memories in a database in this process."""

from __future__ import annotations

from mem0 import AsyncMemory, Memory
from mem0.configs.base import MemoryConfig

from llm_mock import templates
from tests.libraries.scenario import ANSWER, PROMPT

REQUIREMENTS = "mem0ai>=2"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions, embeddings)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test", "MEM0_TELEMETRY": "False"}
LACKS = {
    "streamed": "The library does not stream.",
    "tools": "The library does not call tools.",
    "structured": "The library returns only text.",
}
MEMORY = {"memory": [{"id": "0", "text": ANSWER}]}
REPLIES = {
    "plain": [MEMORY],
    "asynchronous": [MEMORY],
    "retried": [templates.rate_limit(), MEMORY],
}
CONFIG = MemoryConfig(
    llm={"provider": "openai", "config": {"model": MODEL}},
    vector_store={"provider": "qdrant", "config": {"path": "memories"}},
)
USER = {"user_id": "user"}


def plain() -> str:
    memory = Memory(CONFIG)
    memory.add(PROMPT, **USER)
    return memory.search(PROMPT, filters=USER)["results"][0]["memory"]


async def asynchronous() -> str:
    memory = AsyncMemory(CONFIG)
    await memory.add(PROMPT, **USER)
    return (await memory.search(PROMPT, filters=USER))["results"][0]["memory"]


def retried() -> str:
    return plain()
