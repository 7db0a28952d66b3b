"""Voyage AI's SDK, which supports only embeddings."""

from __future__ import annotations

import voyageai

from tests.libraries.scenario import ANSWER

REQUIREMENTS = "voyageai"
ENVIRONMENT = "sdks"
ASKS = "Voyage (embeddings)"
MODEL = "voyage-3"
LACKS = {
    "streamed": "The library supports only embeddings.",
    "tools": "The library supports only embeddings.",
    "structured": "The library supports only embeddings.",
}
UNTRIED = {"retried": "Our test for retries covers only chat requests."}
REPLIES = {"plain": [], "asynchronous": []}
TEXTS = ["It rains.", ANSWER]


def find_nearest(query: list[float], documents: list[list[float]]) -> str:
    def measure(position: int) -> float:
        return sum(a * b for a, b in zip(query, documents[position], strict=True))

    return TEXTS[max(range(len(documents)), key=measure)]


def plain() -> str:
    client = voyageai.Client(api_key="test")
    documents = client.embed(TEXTS, model=MODEL, input_type="document").embeddings
    [query] = client.embed([ANSWER], model=MODEL, input_type="query").embeddings
    return find_nearest(query, documents)


async def asynchronous() -> str:
    client = voyageai.AsyncClient(api_key="test")
    documents = (await client.embed(TEXTS, model=MODEL)).embeddings
    [query] = (await client.embed([ANSWER], model=MODEL)).embeddings
    return find_nearest(query, documents)
