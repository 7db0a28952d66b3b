"""What the provider's payload would be: `response.json()` gives it where ini `llm_mock_response_json = raw` is set.

The plugin of OpenAI's chat models that comes with `llm` keeps what its SDK gives, without what is null; of a streamed
chat it makes a dict of its own. What other plugins keep is not known here: theirs is None, as that of a model whose
plugin keeps nothing, unless the reply says it as `response_json`.
"""

from __future__ import annotations

import copy
from typing import Any

from llm.utils import remove_dict_none_values

from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.routing import load_protocol
from llm_mock.core.answer import Answer

PLUGIN = "llm.default_plugins.openai_models"


def build_payload(answer: Answer, response: Any) -> Any:
    """What `response.response_json` is for an answer; None where that is not known."""
    reply = answer.reply
    if reply.response_json is not None or reply.is_recorded:
        return copy.deepcopy(reply.response_json)
    kind = _get_kind(response)
    if kind is None or reply.error is not None:
        return None
    record = copy.copy(answer.record)  # the protocol notes in it why the answer ended
    exchange = ResponseContext(
        HTTPRequest(record["model_id"], [], api="chat.completions"), Answer(reply, record)
    )
    whole = collect_reply(exchange)
    if kind == "Responses":
        body = load_protocol("openai_responses").build_body(exchange, whole)
        body["created_at"] = float(body["created_at"])
    else:
        body = load_protocol("openai_chat").build_body(exchange, whole)
        body = _combine_chunks(body, whole.text) if response.stream else body
    return remove_dict_none_values(body)  # type: ignore[no-untyped-call]


def _get_kind(response: Any) -> str | None:
    """Which class of the plugin the model is of, `Chat` or `Responses`, or of a class that derives from one."""
    model = response.model
    real = type(getattr(model, "_registered", None) or model)
    if getattr(real, "is_llm_mock", False):  # it was not made like the registered one
        mock = model.mock()
        real = mock and mock.names.provider_class(model.model_id)
    kinds = [
        base.__name__.removeprefix("Async")
        for base in getattr(real, "__mro__", ())
        if base.__module__ == PLUGIN
    ]
    kind = kinds[0] if kinds and kinds[0] in ("Chat", "Responses") else None
    asks_chat = getattr(response.prompt.options, "chat_completions", None)
    return "Chat" if kind == "Responses" and asks_chat else kind


def _combine_chunks(body: dict[str, Any], text: str) -> dict[str, Any]:
    """What the plugin makes of the chunks of a chat, in its `combine_chunks`."""
    head = {name: body[name] for name in ("id", "model", "created", "usage")}
    reason = body["choices"][0]["finish_reason"]
    return {"content": text, "finish_reason": reason, "object": "chat.completion.chunk", **head}
