"""The documents of a request to Anthropic or Cohere, which an answer may cite.

See https://docs.anthropic.com/en/docs/build-with-claude/citations and
https://docs.cohere.com/docs/rag-citations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.support.json_types import JSONObject


def list_documents(body: JSONObject) -> list[JSONObject]:
    """Return the documents of all messages, as citations count them."""
    documents: list[JSONObject] = []
    for message in body.get("messages") or ():
        documents += _iter_documents(message.get("content"))
    return documents


def _iter_documents(content: Any) -> Iterator[JSONObject]:
    if not isinstance(content, list):
        return
    for block in content:
        if block.get("type") == "document":
            yield block
        elif block.get("type") == "tool_result":
            yield from _iter_documents(block.get("content"))


def find_document_problem(body: JSONObject, index: int, cited_text: str) -> str | None:
    """Return a phrase for why an answer of Anthropic cannot cite a document, or None.

    Args:
        body: the body of the request.
        index: the position of the document.
        cited_text: the words that are cited.
    """
    documents = list_documents(body)
    if index >= len(documents):
        return f"cites the document {index}, but the request has {len(documents)} documents."
    document = documents[index]
    config = document.get("citations")
    if not isinstance(config, dict) or not config.get("enabled"):
        return (
            f"cites the document {index}, but the request does not enable its citations: "
            '"citations": {"enabled": true}.'
        )
    source = document.get("source") or {}
    if source.get("type") != "text":
        return (
            f"cites the document {index}, which is not plain text: only positions in plain text "
            "are known."
        )
    if cited_text not in source.get("data", ""):
        return f"cites {cited_text!r}, which is not in the document {index} of the request."
    return None


def find_cohere_document_problem(body: JSONObject, index: int, cited_text: str) -> str | None:
    """Return a phrase for why an answer of Cohere cannot cite a document, or None.

    Args:
        body: the body of the request.
        index: the position of the document.
        cited_text: the words that are cited.
    """
    documents = body.get("documents") or ()
    if index >= len(documents):
        return f"cites the document {index}, but the request has {len(documents)} documents."
    mode = (body.get("citation_options") or {}).get("mode")
    if mode in ("OFF", "DISABLED"):
        return (
            f"cites the document {index}, but the request turns citations off: "
            f'"citation_options": {{"mode": "{mode}"}}.'
        )
    if isinstance(documents[index], str):
        return (
            f"cites the document {index}, which is a text: only the form of documents with `data` "
            "is known."
        )
    values = map(str, describe_cohere_document(body, index).values())
    if not any(cited_text in value for value in values):
        return f"cites {cited_text!r}, which is not in the document {index} of the request."
    return None


def describe_cohere_document(body: JSONObject, index: int) -> JSONObject:
    """Return a document of a request as citations have it: its data and its id."""
    document = body["documents"][index]
    document_id = document.get("id") or f"doc:{index}"
    return {"id": document_id, **(document.get("data") or {})}
