"""A call in the names of OpenTelemetry's semantic conventions for generative AI.

See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans.
"""

from __future__ import annotations

from typing import Any

OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "seed": "seed",
    "n": "choice.count",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
"""Options as the providers call them, and what they are in the conventions, after `gen_ai.request.`."""


def gen_ai_attributes(call: dict[str, Any]) -> dict[str, Any]:
    """The attributes of the span that instrumentation would have made of a call; those without a value are left out.

    Args:
        call: a call as the document has it.
    """
    options = {f"gen_ai.request.{OPTIONS[name]}": value for name, value in call["options"].items() if name in OPTIONS}
    reason = call.get("finish_reason")
    attributes = {
        "gen_ai.operation.name": "generate_content" if call.get("api") == "generate_content" else "chat",
        "gen_ai.request.model": call["model_id"],
        "gen_ai.response.model": call["resolved_model"],
        "gen_ai.response.finish_reasons": None if reason is None else [reason],
        "gen_ai.output.type": "json" if call["schema"] else None,
        "gen_ai.usage.input_tokens": call["usage"]["input_tokens"],
        "gen_ai.usage.output_tokens": call["usage"]["output_tokens"],
        "error.type": call["error"] and (call["error"]["type"] or "_OTHER"),
        **options,
    }
    return {name: value for name, value in attributes.items() if value is not None}
