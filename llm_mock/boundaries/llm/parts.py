"""Instances of classes of `llm`, for packages that must not import it."""

from __future__ import annotations

from typing import Any

from llm_mock.support.json_types import JSONObject


def create_usage(
    input_tokens: int | None, output_tokens: int | None, details: JSONObject | None = None
) -> Any:
    """Return an `llm.Usage`."""
    import llm.models

    return llm.models.Usage(input_tokens, output_tokens, details)


def create_attachment(kind: str | None, url: str | None, content: bytes | None) -> Any:
    """Return an `llm.Attachment`."""
    import llm

    return llm.Attachment(type=kind, url=url, content=content)
