"""The provider's payload of a reply, which `response.json()` returns if the project enables it.

It is known for the plugin of OpenAI's models that comes with `llm`: the plugin stores the SDK's
object without null values, and for a streamed chat a dict of its own. For other plugins it is the
`response_json` of the reply, or None.
"""

from __future__ import annotations

import copy
from typing import Any

from llm.utils import remove_dict_none_values

from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.routing import load_protocol
from llm_mock.core.answer import Answer
from llm_mock.support.json_types import JSONObject

PLUGIN = "llm.default_plugins.openai_models"


def build_payload(answer: Answer, response: Any) -> Any:
    """Return the `response.response_json` of an answer; None if it is not known."""
    reply = answer.reply
    if reply.response_json is not None or reply.is_recorded:
        return copy.deepcopy(reply.response_json)
    kind = _get_kind(response)
    if kind is None or reply.error is not None:
        return None
    # The same code builds the body that an SDK gets over HTTP. It writes the finish reason to the
    # record, so it gets a copy.
    record = copy.copy(answer.record)
    request = HTTPRequest(record["model_id"], [], api="chat.completions")
    exchange = ResponseContext(request, answer._replace(record=record))
    whole = collect_reply(exchange)
    if kind == "Responses":
        body = load_protocol("openai_responses").build_body(exchange, whole)
        body["created_at"] = float(body["created_at"])  # the type in the SDK's model
    else:
        body = load_protocol("openai_chat").build_body(exchange, whole)
        if response.stream:
            body = _combine_chunks(body, whole.text)
    return remove_dict_none_values(body)  # type: ignore[no-untyped-call]


def _get_kind(response: Any) -> str | None:
    """Return the class of the plugin that the model has or derives from: `Chat` or `Responses`."""
    model = response.model
    real = type(getattr(model, "_registered", None) or model)
    if getattr(real, "is_llm_mock", False):
        # The mocked model was created without the registered one, which is looked up here.
        mock = model.mock()
        real = mock and mock.names.provider_class(model.model_id)
    bases = getattr(real, "__mro__", ())
    names = [base.__name__ for base in bases if base.__module__ == PLUGIN]
    kind = names[0].removeprefix("Async") if names else None
    if kind == "Responses" and getattr(response.prompt.options, "chat_completions", None):
        return "Chat"
    return kind if kind in ("Chat", "Responses") else None


def _combine_chunks(body: JSONObject, text: str) -> JSONObject:
    """Return the payload of a streamed chat, as the plugin's `combine_chunks` builds it."""
    # A reply that sends no usage has none here.
    names = ("id", "model", "created", "usage")
    head = {name: body[name] for name in names if name in body}
    reason = body["choices"][0]["finish_reason"]
    return {"content": text, "finish_reason": reason, "object": "chat.completion.chunk", **head}
