"""Shorten the payloads that were sent to a provider, for cassettes, and restore them.

A cassette leaves out the items that the previous call already sent, and the content of attachments.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.cassettes.schema import RecordedResponse, hash_content
from llm_mock.support.interpolation import map_texts

if TYPE_CHECKING:
    from llm_mock.core.request import Request
    from llm_mock.support.json_types import JSONObject


def encode_attachments(request: Request) -> dict[str, str]:
    """Return the attachments of a call in base64, by their placeholders in a cassette.

    Attachments of tool results and of earlier messages are among them.
    """
    attachments = list(request.attachments)
    for result in request.tool_results:
        # Tool results have attachments only in newer versions of `llm`.
        attachments += getattr(result, "attachments", None) or ()
    texts = []
    for attachment in attachments:
        if not attachment.url:
            content = attachment.content_bytes()
            texts.append(base64.b64encode(content or b"").decode())
    texts += _get_encoded_attachments(request.given_messages())
    encoded = {}
    for text in filter(None, texts):
        digest = hash_content(base64.b64decode(text))
        encoded[f"[attachment {digest}]"] = text
    return encoded


def _get_encoded_attachments(messages: list[JSONObject]) -> list[str]:
    """Return the attachments of messages, which an SDK encodes itself."""
    texts = []
    for message in messages:
        for part in message["parts"]:
            attachment = part.get("attachment") or {}
            texts.append(attachment.get("content") or "")
    return texts


def shorten_prompt_json(
    sent: object, before: object, encoded: Mapping[str, str]
) -> tuple[Any, dict[str, int]]:
    """Return the part of a payload that a cassette keeps, and the number of repeated items by list.

    Args:
        sent: the payload, a JSON value.
        before: the payload of the previous call in the conversation.
        encoded: the attachments, see `encode_attachments`.
    """
    try:
        sent = json.loads(json.dumps(sent))
    except (TypeError, ValueError):
        return None, {}  # `llm` cannot log such a payload either.
    repeats = {}
    if isinstance(sent, dict) and isinstance(before, dict):
        for name, items in sent.items():
            count = _count_equal_items(items, before.get(name))
            if count:
                repeats[name] = count
                sent[name] = items[count:]
    placeholders = {content: name for name, content in encoded.items()}
    return _replace_texts(sent, placeholders), repeats


def restore_prompt_json(
    recorded: RecordedResponse, before: object, encoded: Mapping[str, str]
) -> Any:
    """Return the payload that `shorten_prompt_json` shortened."""
    sent = _replace_texts(recorded.prompt_json, encoded)
    for name, count in recorded.prompt_json_repeats.items():
        earlier = before.get(name) if isinstance(before, dict) else None
        repeated = copy.deepcopy(earlier or [])[:count]
        sent[name] = repeated + sent.get(name, [])
    return sent


def _count_equal_items(items: object, earlier: object) -> int:
    """Return the number of items at the start of two lists that are equal."""
    if not isinstance(items, list) or not isinstance(earlier, list):
        return 0
    count = 0
    # The lists have different lengths: each turn of a conversation adds items.
    for item, earlier_item in zip(items, earlier, strict=False):
        if item != earlier_item:
            break
        count += 1
    return count


def _replace_texts(value: object, replacements: Mapping[str, str]) -> Any:
    """Return a copy of a JSON value with parts of its texts replaced."""

    def replace(text: str) -> str:
        for old, new in replacements.items():
            text = text.replace(old, new)
        return text

    return map_texts(value, replace)
