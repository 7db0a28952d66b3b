"""The names of OpenTelemetry for the options of a call."""

from __future__ import annotations

import pytest

from llm_mock.report.gen_ai import OPTIONS, get_gen_ai_attributes

# After https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans, and the APIs' references.
NAMES = [
    ("temperature", "gen_ai.request.temperature"),
    ("top_p", "gen_ai.request.top_p"),
    ("topP", "gen_ai.request.top_p"),
    ("top_k", "gen_ai.request.top_k"),
    ("topK", "gen_ai.request.top_k"),
    ("max_tokens", "gen_ai.request.max_tokens"),
    ("max_completion_tokens", "gen_ai.request.max_tokens"),
    ("max_output_tokens", "gen_ai.request.max_tokens"),
    ("maxOutputTokens", "gen_ai.request.max_tokens"),
    ("maxTokens", "gen_ai.request.max_tokens"),
    ("seed", "gen_ai.request.seed"),
    ("n", "gen_ai.request.choice.count"),
    ("stop", "gen_ai.request.stop_sequences"),
    ("stop_sequences", "gen_ai.request.stop_sequences"),
    ("stopSequences", "gen_ai.request.stop_sequences"),
    ("frequency_penalty", "gen_ai.request.frequency_penalty"),
    ("presence_penalty", "gen_ai.request.presence_penalty"),
]


@pytest.mark.parametrize(("option", "attribute"), NAMES)
def test_an_option_has_its_name_in_the_conventions(option: str, attribute: str) -> None:
    call = {
        "model_id": "m",
        "resolved_model": None,
        "schema": None,
        "usage": {"input_tokens": None, "output_tokens": None},
        "error": None,
        "options": {option: 7, f"{option}x": 8},
    }
    expected = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", attribute: 7}
    assert get_gen_ai_attributes(call) == expected


def test_every_named_option_is_tested() -> None:
    assert {option for option, _ in NAMES} == OPTIONS.keys()
