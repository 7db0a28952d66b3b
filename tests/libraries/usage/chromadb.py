"""Chroma in this process, with OpenAI's embeddings."""

from __future__ import annotations

import chromadb
from chromadb.utils.embedding_functions import OpenAIEmbeddingFunction

from tests.libraries.scenario import ANSWER

REQUIREMENTS = "chromadb>=1.5 openai"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (embeddings)"
MODEL = "text-embedding-3-small"
VARIABLES = {"OPENAI_API_KEY": "test"}
LACKS = {
    "streamed": "The library supports only embeddings.",
    "tools": "The library supports only embeddings.",
    "structured": "The library supports only embeddings.",
    "asynchronous": "The in-process client of the library is synchronous.",
}
UNTRIED = {"retried": "Our test for retries covers only chat requests."}
REPLIES = {"plain": []}


def plain() -> str:
    client = chromadb.EphemeralClient()
    embed = OpenAIEmbeddingFunction(model_name=MODEL)
    texts = client.get_or_create_collection("texts", embedding_function=embed)
    texts.upsert(ids=["1", "2"], documents=["It rains.", ANSWER])
    return texts.query(query_texts=[ANSWER], n_results=1)["documents"][0][0]
