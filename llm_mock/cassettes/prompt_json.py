"""What a plugin says it sent, as a cassette holds it: without what the call before sent, and without attachments."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from llm_mock.cassettes.schema import digest
from llm_mock.support.interpolation import map_texts

if TYPE_CHECKING:
    from llm_mock.cassettes.schema import Response
    from llm_mock.core.request import Request


def encoded_attachments(request: Request) -> dict[str, str]:
    """The attachments that a call sends as base64, by what stands for them in a cassette."""
    attached = [*request.attachments, *(a for r in request.tool_results for a in getattr(r, "attachments", None) or ())]
    encoded = [base64.b64encode(each.content_bytes() or b"").decode() for each in attached if not each.url]
    for message in request.given_messages():
        encoded += [(part.get("attachment") or {}).get("content") or "" for part in message["parts"]]
    return {f"[attachment {digest(base64.b64decode(text))}]": text for text in encoded if text}


def shortened(sent: Any, before: Any, encoded: Mapping[str, str]) -> tuple[Any, dict[str, int]]:
    """What a cassette keeps of what was sent, and how many items each of its lists repeats.

    Args:
        sent: a JSON value.
        before: the same of the call before, in a conversation.
        encoded: the attachments, see `encoded_attachments`.
    """
    try:
        sent = json.loads(json.dumps(sent))
    except (TypeError, ValueError):  # `llm` could not log it either
        return None, {}
    repeats = {}
    if isinstance(sent, dict) and isinstance(before, dict):
        for name, items in sent.items():
            earlier = before.get(name)
            if isinstance(items, list) and isinstance(earlier, list):
                same = takewhile(lambda pair: pair[0] == pair[1], zip(items, earlier, strict=False))
                if count := sum(1 for _ in same):
                    repeats[name], sent[name] = count, items[count:]

    def shorten(text: str) -> str:
        for name, content in encoded.items():
            text = text.replace(content, name)
        return text

    return map_texts(sent, shorten), repeats


def restored(recorded: Response, before: Any, encoded: Mapping[str, str]) -> Any:
    """What was sent, as it was before `shortened`."""

    def restore(text: str) -> str:
        for name, content in encoded.items():
            text = text.replace(name, content)
        return text

    sent = map_texts(recorded.prompt_json, restore) if encoded else copy.deepcopy(recorded.prompt_json)
    for name, count in recorded.prompt_json_repeats.items():
        earlier = before.get(name) if isinstance(before, dict) else None
        sent[name] = [*copy.deepcopy(earlier or [])[:count], *sent.get(name, [])]
    return sent
