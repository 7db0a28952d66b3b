"""The documents of a request to Anthropic or Cohere, which an answer may cite.

See https://docs.anthropic.com/en/docs/build-with-claude/citations and
https://docs.cohere.com/docs/rag-citations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.support.json_types import JSONObject


def list_documents(body: JSONObject) -> list[JSONObject]:
    """Return the documents of all messages, in the order in which citations number them."""
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
    """Return the reason why an Anthropic response cannot cite a document, or None.

    Args:
        body: the body of the request.
        index: the position of the document.
        cited_text: the cited words.
    """
    documents = list_documents(body)
    if index >= len(documents):
        return (
            f"cites document {index}, but the request has {len(documents)} documents; the first "
            "has index 0."
        )
    document = documents[index]
    config = document.get("citations")
    if not isinstance(config, dict) or not config.get("enabled"):
        return (
            f"cites document {index}, but the request does not enable citations for it: add "
            '"citations": {"enabled": true} to the document.'
        )
    source = document.get("source") or {}
    if source.get("type") != "text":
        return (
            f"cites document {index}, which is not plain text. llm_mock supports citations only "
            "of plain text; for others, pass the provider's own JSON as body or events."
        )
    if cited_text not in source.get("data", ""):
        return f"cites {cited_text!r}, which is not in document {index} of the request."
    return None


def find_cohere_document_problem(body: JSONObject, index: int, cited_text: str) -> str | None:
    """Return the reason why a Cohere response cannot cite a document, or None.

    Args:
        body: the body of the request.
        index: the position of the document.
        cited_text: the cited words.
    """
    documents = body.get("documents") or ()
    if index >= len(documents):
        return (
            f"cites document {index}, but the request has {len(documents)} documents; the first "
            "has index 0."
        )
    mode = (body.get("citation_options") or {}).get("mode")
    if mode in ("OFF", "DISABLED"):
        return (
            f"cites document {index}, but the request turns citations off with "
            f'"citation_options": {{"mode": "{mode}"}}.'
        )
    if isinstance(documents[index], str):
        return (
            f"cites document {index}, which is a string. llm_mock supports citations only of "
            'documents with `data`: {"data": {…}}.'
        )
    values = map(str, describe_cohere_document(body, index).values())
    if not any(cited_text in value for value in values):
        return f"cites {cited_text!r}, which is not in document {index} of the request."
    return None


def describe_cohere_document(body: JSONObject, index: int) -> JSONObject:
    """Return a document in the form that citations contain: its data and its id."""
    document = body["documents"][index]
    document_id = document.get("id") or f"doc:{index}"
    return {"id": document_id, **(document.get("data") or {})}
