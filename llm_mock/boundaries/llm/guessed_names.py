"""Names that newcomers guess for the methods of a mock, each with the correct code."""

from __future__ import annotations

from collections.abc import Mapping

NAMES_BY_ADVICE: Mapping[str, str] = {
    "[call.prompt for call in mock.calls]": "assert_has_calls call_prompts prompts",
    "add(model, reply), or script(model, first, second) for several": (
        "add_answer add_reply add_response enqueue enqueue_response push queue queue_reply "
        "queue_response respond_once return_once"
    ),
    "add(model, ToolCall(name, arguments))": (
        "add_function_call add_tool_call queue_tool_call set_function_call set_tool_call "
        "set_tool_calls"
    ),
    "assert len(mock.calls) == 3": (
        "assert_call_count assert_called_n_times assert_called_times num_calls"
    ),
    "len(mock.calls)": "call_count called_times times_called",
    "assert_any_call() or assert_called_once()": "assert_called",
    "assert_called_once()": "called_once",
    "assert_called_once_with(prompt)": "called_once_with",
    "assert_cost_below(mock, 0.01) of llm_mock": "assert_cost cost total_cost",
    "assert_called_with(prompt)": (
        "assert_prompt assert_prompt_contains assert_prompted_with called_with"
    ),
    "assert_called_with(tool_results=[…])": "assert_tool_called assert_tool_result",
    "calls[0].prompt": "call_args_list mock_calls",
    "calls": "get_calls get_requests recorded_calls requests requests_made",
    "get_model('gpt-4o').prompt(…)": "prompt",
    "last_call": "call_args last_call_args",
    "last_call.messages": "last_messages messages",
    "last_call.prompt": "last_prompt",
    "last_call.request": "last_request",
    "last_call.tools": "tools",
    "last_call.usage": "get_usage total_tokens usage",
    "reset()": "clear clear_calls reset_calls reset_mock",
    "script(model, first, second)": (
        "add_replies add_responses replies sequence set_replies set_responses set_sequence "
        "side_effect"
    ),
    "set(model, reply)": (
        "answer configure expect mock_reply mock_response patch register reply respond "
        "return_value returns set_answer set_completion set_model_response set_reply "
        "set_return_value set_text stub text when will_return"
    ),
    "set('*', reply)": "default default_reply default_response set_default set_default_response",
    "set(model, data) with a dict or a pydantic object": (
        "json set_data set_json set_object set_structured set_structured_output"
    ),
    "set(model, Reply(chunks=['Hel', 'lo']))": "set_chunks set_stream set_streaming stream",
    "set(model, Reply(text, usage={'input': 7, 'output': 2}))": "set_tokens set_usage",
    "set(model, templates.rate_limit())": "rate_limit set_rate_limit",
    "set(model, templates.timeout())": "set_timeout timeout",
    "set_embedding(model, text, vector)": "add_embedding embed set_embeddings set_vector",
    "set_error(model, error)": (
        "add_error enqueue_error error fail fail_with raise_error raise_exception raises "
        "set_exception set_failure set_side_effect"
    ),
}
"""The guessed names by the correct code. Comparing letters would suggest a wrong name."""
WORDS_BY_ADVICE: Mapping[str, str] = {
    "set_embedding(model, text, vector)": "embedding embeddings vector vectors",
    "set_error(model, error)": "error errors exception fail fails failure raise raises",
    "set(model, Reply(chunks=['Hel', 'lo']))": "chunk chunks stream streaming",
    "set(model, reply)": "answer answers reply replies respond responds response responses returns",
}
"""The words of other guessed names by the correct code; the first entry with a word decides."""


def find_advice(name: str) -> str | None:
    """Return the correct code for a guessed name; None for other names."""
    for advice, names in NAMES_BY_ADVICE.items():
        if name in names.split():
            return advice
    words = set(name.split("_"))
    # The most similar name to an assertion is always another assertion.
    if "assert" in words:
        return None
    for advice, meant in WORDS_BY_ADVICE.items():
        if not words.isdisjoint(meant.split()):
            return advice
    return None
