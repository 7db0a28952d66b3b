"""Describe a call in the names of OpenTelemetry's semantic conventions for generative AI.

See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans.
"""

from __future__ import annotations

from llm_mock.support.json_types import JSONObject

OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "maxTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "seed": "seed",
    "n": "choice.count",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
    "stopSequences": "stop_sequences",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
"""The providers' names of options, and the names after `gen_ai.request.` in the conventions."""


def get_gen_ai_attributes(call: JSONObject) -> JSONObject:
    """Return the span attributes that instrumentation would record for a call.

    Args:
        call: a call of the document.

    Returns:
        The attributes that have a value.
    """
    reason = call.get("finish_reason")
    is_generate_content = call.get("api") == "generate_content"
    attributes = {
        "gen_ai.operation.name": "generate_content" if is_generate_content else "chat",
        "gen_ai.request.model": call["model_id"],
        "gen_ai.response.model": call["resolved_model"],
        "gen_ai.response.finish_reasons": None if reason is None else [reason],
        "gen_ai.output.type": "json" if call["schema"] else None,
        "gen_ai.usage.input_tokens": call["usage"]["input_tokens"],
        "gen_ai.usage.output_tokens": call["usage"]["output_tokens"],
    }
    if call["error"]:
        # `_OTHER` is the conventions' value for an unknown type.
        attributes["error.type"] = call["error"]["type"] or "_OTHER"
    for name, value in call["options"].items():
        if name in OPTIONS:
            attributes[f"gen_ai.request.{OPTIONS[name]}"] = value
    return {name: value for name, value in attributes.items() if value is not None}
