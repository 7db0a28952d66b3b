"""Answers of providers are read whole for cassettes, and replayed as they came."""

from __future__ import annotations

import copy
import itertools
import json
import zlib
from typing import Any, NamedTuple

import pytest

from llm_mock.boundaries.http.readers.text_slots import RecordedChunks, TextSlots
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.core.events import Event
from tests.boundaries.http.test_replies import CASES, STREAMED, Case, name_case

READERS = {
    "chat_completions": "chat.completions",
    "mistral": "chat.completions",
    "responses": "responses",
    "messages": "messages",
    "gemini": "generate_content",
    "interactions": "interactions",
    "converse": "converse",
    "invoke_model": "invoke_model",
    "cohere": "cohere.chat",
    "ollama": "ollama.chat",
}
"""The names of the APIs in records, by the files of the corpus."""


REPEATED = ("tools", "tool_choice", "logprobs", "logprobsResult", "groundingMetadata")
"""The fields that repeat the request or texts of the answer."""


class Read(NamedTuple):
    """What was read in an answer."""

    text: str = ""
    reasoning: str = ""
    calls: dict[str | None, list[str]] = {}  # noqa: RUF012
    """The name and the arguments of each tool call, by its id."""
    model: str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] = {}  # noqa: RUF012
    has_ended: bool = False


def read(api: str, bodies: list[Any]) -> Read:
    """Read the bodies of an answer, and replay them from what was read."""
    reader = create_reader(api)
    slots = TextSlots(reader)
    emptied = copy.deepcopy(bodies)
    chunks = [chunk for body in emptied for chunk in slots.extract(body)]
    replayed_slots = TextSlots(create_reader(api))
    recorded = RecordedChunks(chunks)
    assert [replayed_slots.restore(body, recorded) for body in copy.deepcopy(emptied)] == bodies
    text = reasoning = ""
    calls: dict[str | None, list[str]] = {}
    for chunk in chunks:
        if isinstance(chunk, str):
            text += chunk
            continue
        assert isinstance(chunk, Event)
        if chunk.type == "reasoning":
            reasoning += chunk.chunk
            continue
        call = calls.setdefault(chunk.tool_call_id, ["", ""])
        call[chunk.type == "tool_call_args"] += chunk.chunk
    left = json.dumps([remove_repetitions(body) for body in emptied])
    for piece in [text, reasoning, *itertools.chain(*calls.values())]:
        # Each text stands in the cassette once: none is left in the bodies.
        assert not piece or json.dumps(piece) not in left
    return Read(
        text,
        reasoning,
        calls,
        reader.model,
        reader.finish_reason,
        reader.usage,
        reader.has_ended,
    )


def remove_repetitions(value: Any) -> Any:
    """Return JSON values without repetitions of the request and of texts, and further choices."""
    if isinstance(value, list):
        return [remove_repetitions(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: item for name, item in value.items() if name not in REPEATED}
    if "reasoning_content" in kept:
        kept.pop("reasoning", None)
    for name in ("choices", "candidates"):
        if name in kept:
            kept[name] = kept[name][:1]
    return {name: remove_repetitions(item) for name, item in kept.items()}


def expect(case: Case) -> Read:
    """Return what is to be read in the answers of a case of the corpus of replies."""
    reply = choose_candidate(case.fields["reply"])
    parts = reply.get("parts", ())
    texts = reply.get("chunks") or [part for part in parts if isinstance(part, str)]
    text = reply.get("text") or "".join(texts)
    calls = {}
    made = reply.get("tool_calls") or [part for part in parts if "name" in part]
    for position, call in enumerate(made, start=1):
        call_id = prefix_id(case, call.get("tool_call_id") or f"call_1_{position}")
        arguments = call.get("arguments")
        calls[call_id] = [call["name"], json.dumps(arguments) if arguments else "{}"]
    if "data" in reply:
        if "tools" in case.request or "toolConfig" in case.request:
            calls[prefix_id(case, "call_1_1")] = ["weather", json.dumps(reply["data"])]
        else:
            text = json.dumps(reply["data"])
    named = case.request.get("model") or case.file["body"].get("model")
    model: str | None = reply.get("resolved_model") or named or "gemini-3-pro"
    tokens = reply.get("usage", {"input_tokens": 11, "output_tokens": 2})
    usage = {"input": tokens["input_tokens"], "output": tokens["output_tokens"]}
    if "details" in tokens:
        usage["details"] = tokens["details"]
    usage |= expect_searches(case, parts)
    reason = reply.get("finish_reason")
    if case.api in ("cohere", "converse", "mistral", "ollama"):
        text = reply.get("refusal") or text
    if case.api in ("cohere", "converse"):
        # The response does not name it.
        model = None
        if case.api == "converse" and "details" in tokens:
            usage["details"] = {"cacheReadInputTokens": 900, "cacheWriteInputTokens": 40}
    if case.api == "mistral" and reason == "content_filter":
        reason = "error"
    elif "refusal" in reply and case.api in (
        "converse",
        "gemini",
        "interactions",
        "invoke_model",
        "messages",
    ):
        reason = "content_filter"
    read = Read(text, reply.get("reasoning", ""), calls, model, reason, usage)
    return expect_block(read) if reply.get("finish_reason") == "prompt_blocked" else read


def expect_block(read: Read) -> Read:
    """Return what is to be read if the prompt is blocked, so that there is no output."""
    return read._replace(finish_reason="prompt_blocked", usage={"input": read.usage["input"]})


def expect_searches(case: Case, parts: list[Any]) -> dict[str, Any]:
    """Return the details of the usage for searches in the web, which Anthropic counts."""
    if case.api != "messages" or not any("WebSearch" in part for part in parts):
        return {}
    return {"details": {"server_tool_use": {"web_search_requests": 1}}}


def choose_candidate(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply, or its first candidate, which alone is read."""
    first = reply.get("candidates", [{}])[0]
    return {**reply, **({"text": first} if isinstance(first, str) else first)}


def prefix_id(case: Case, call_id: str) -> str:
    """Return the id of a tool call as an API has it: Anthropic's have a prefix."""
    if case.api == "mistral":
        return call_id if len(call_id) == 9 else f"{zlib.crc32(call_id.encode()):09x}"
    if case.api == "converse":
        return call_id if call_id.startswith("tool") else f"tooluse_{call_id}"
    is_anthropic = case.api in ("invoke_model", "messages")
    return f"toolu_{call_id.removeprefix('toolu_')}" if is_anthropic else call_id


def simplify(found: Read) -> Read:
    """Return what was read, with empty arguments as their JSON."""
    calls = {
        call_id: [name, arguments or "{}"] for call_id, (name, arguments) in found.calls.items()
    }
    return found._replace(calls=calls, has_ended=False)


def has_error(case: Case) -> bool:
    return "error" in case.fields


@pytest.mark.parametrize("case", [case for case in CASES if not has_error(case)], ids=name_case)
def test_an_answer_in_one_piece_is_read_and_replayed(case: Case) -> None:
    body = {**case.file["body"], **case.fields["body"]}
    assert simplify(read(READERS[case.api], [body])) == expect(case)


@pytest.mark.parametrize("case", [case for case in STREAMED if not has_error(case)], ids=name_case)
def test_a_stream_is_read_and_replayed(case: Case) -> None:
    events: list[Any] = case.events
    if READERS[case.api] == "chat.completions":
        events = [*events, "[DONE]"]
    found = read(READERS[case.api], events)
    assert found.has_ended
    assert not read(READERS[case.api], events[:-1]).has_ended
    expected = expect(case)
    if case.api == "chat_completions" and "usage" not in events[-2]:
        expected = expected._replace(usage={})
    assert simplify(found) == expected


@pytest.mark.parametrize("api", READERS)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_text_that_was_edited_is_replayed_wherever_it_stands(api: str, streamed: bool) -> None:
    case = next(case for case in CASES if (case.api, case.name) == (api, "text"))
    bodies: list[Any] = case.events if streamed else [{**case.file["body"], **case.fields["body"]}]
    slots = TextSlots(create_reader(READERS[api]))
    emptied = copy.deepcopy(bodies)
    chunks = [chunk for body in emptied for chunk in slots.extract(body)]
    assert chunks == (["Hel", "lo!"] if streamed else ["Hello!"])
    assert "Hello!" not in json.dumps(emptied)
    replayed = TextSlots(create_reader(READERS[api]))
    edited = RecordedChunks(["Good ", "bye."] if streamed else ["Good bye."])
    restored = json.dumps([replayed.restore(body, edited) for body in emptied])
    expected = json.dumps(bodies)
    for before, after in (("Hello!", "Good bye."), ('"Hel"', '"Good "'), ('"lo!"', '"bye."')):
        expected = expected.replace(before, after)
    assert restored == expected


@pytest.mark.parametrize(
    ("edited", "replayed"),
    [
        (['{"city": "Basel"}'], {"city": "Basel"}),
        ([""], {}),
        ([], {}),
        (["not JSON"], {"_raw": "not JSON"}),
    ],
)
def test_arguments_that_were_edited_are_replayed_as_an_object(
    edited: list[str], replayed: dict[str, str]
) -> None:
    call = {"functionCall": {"id": "c", "name": "weather", "args": {"city": "Bern"}}}
    body = candidate({"text": "See:"}, call)
    list(TextSlots(create_reader("generate_content")).extract(body))
    chunks: list[str | Event] = [
        "See:",
        Event("tool_call_name", "weather", tool_call_id="c"),
        *(Event("tool_call_args", text, tool_call_id="c") for text in edited),
    ]
    restored = TextSlots(create_reader("generate_content")).restore(body, RecordedChunks(chunks))
    call = {"functionCall": {"id": "c", "name": "weather", "args": replayed}}
    assert restored == candidate({"text": "See:"}, call)


def choice(message: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "message": message, **more}]}


def delta(content: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content, **more}]}


def candidate(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}


CUSTOM_CALL = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
TOKENS = {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3}
SPECIAL_ANSWERS: dict[str, tuple[str, list[Any], Read]] = {
    "chat, not JSON": ("chat.completions", ["x", None, [1]], Read()),
    "chat, other choices": (
        "chat.completions",
        [{"choices": [{"index": 1, "message": {"content": "no"}, "finish_reason": "length"}]}],
        Read(),
    ),
    "chat, a choice without index": (
        "chat.completions",
        [{"choices": [{"message": {"content": "Hi"}}]}],
        Read("Hi"),
    ),
    "chat, reasoning under two names": (
        "chat.completions",
        [choice({"content": "42", "reasoning": "6*7", "reasoning_content": "6*7"})],
        Read("42", "6*7", model="m"),
    ),
    "chat, parts of Mistral": (
        "chat.completions",
        [
            choice(
                {
                    "content": [
                        {"type": "text", "text": "Hi"},
                        {"type": "reference", "text": "no", "reference_ids": [1]},
                    ]
                }
            )
        ],
        Read("Hi", model="m"),
    ),
    "chat, reasoning of OpenRouter": (
        "chat.completions",
        [choice({"content": "42", "reasoning": "6*7", "reasoning_content": None})],
        Read("42", "6*7", model="m"),
    ),
    "chat, a refusal": (
        "chat.completions",
        [choice({"content": None, "refusal": "No."}, finish_reason="stop")],
        Read(model="m"),
    ),
    "chat, a custom tool": (
        "chat.completions",
        [choice({"content": None, "tool_calls": [CUSTOM_CALL]}, finish_reason="tool_calls")],
        Read(calls={"c": ["sql", "SELECT 1"]}, model="m"),
    ),
    "chat, calls that alternate": (
        "chat.completions",
        [
            delta({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]}),
            delta({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g"}}]}),
            delta({"tool_calls": [{"index": 0, "function": {"arguments": "{1"}}]}),
            delta({"tool_calls": [{"index": 1, "function": {"arguments": "{2"}}]}),
            delta({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
        ],
        Read(calls={"a": ["f", "{1}"], "b": ["g", "{2"]}),
    ),
    "chat, calls without an index": (
        "chat.completions",
        [
            choice(
                {
                    "tool_calls": [
                        {"id": "a", "function": {"name": "f", "arguments": "1"}},
                        {"id": "b", "function": {"name": "g", "arguments": "2"}},
                    ]
                }
            )
        ],
        Read(calls={"a": ["f", "1"], "b": ["g", "2"]}, model="m"),
    ),
    "chat, the model is in the first event alone": (
        "chat.completions",
        [{"model": "m", "choices": []}, {"model": "", **delta({"content": "Hi"})}, "[DONE]"],
        Read("Hi", model="m", has_ended=True),
    ),
    "chat, usage without what is zero or empty": (
        "chat.completions",
        [
            {
                "usage": {
                    **TOKENS,
                    "total_cost": 3,
                    "cost": None,
                    "zero": 0,
                    "one": 1,
                    "text": "no",
                    "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 0, "x": {}},
                    "completion_tokens_details": {"reasoning_tokens": 0, "y": None},
                }
            }
        ],
        Read(
            usage={
                "input": 3,
                "output": 0,
                "details": {"one": 1, "prompt_tokens_details": {"cached_tokens": 2}},
            }
        ),
    ),
    "chat, usage that is incomplete": (
        "chat.completions",
        [{"usage": {"completion_tokens": 4, "prompt_tokens": None}}, {"usage": None}],
        Read(usage={"output": 4}),
    ),
    "responses, not JSON": ("responses", ["x", None], Read()),
    "responses, reasoning that others serve": (
        "responses",
        [
            {
                "type": "response.reasoning_text.delta",
                "output_index": 0,
                "content_index": 0,
                "delta": "6*",
            },
            {
                "type": "response.reasoning_text.delta",
                "output_index": 0,
                "content_index": 0,
                "delta": "7",
            },
            {
                "type": "response.reasoning_text.done",
                "output_index": 0,
                "content_index": 0,
                "text": "6*7",
            },
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {
                    "type": "reasoning",
                    "content": [{"type": "reasoning_text", "text": "6*7"}],
                },
            },
        ],
        Read(reasoning="6*7"),
    ),
    "responses, a custom tool": (
        "responses",
        [
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": ""},
            },
            {
                "type": "response.custom_tool_call_input.delta",
                "output_index": 0,
                "delta": "SELECT",
            },
            {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": " 1"},
            {
                "type": "response.custom_tool_call_input.done",
                "output_index": 0,
                "input": "SELECT 1",
            },
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {
                    "type": "custom_tool_call",
                    "call_id": "c",
                    "name": "sql",
                    "input": "SELECT 1",
                },
            },
        ],
        Read(calls={"c": ["sql", "SELECT 1"]}),
    ),
    "responses, parts of a text, and what is no text": (
        "responses",
        [
            {"type": "response.queued", "output_index": 0},
            {"type": "response.output_text.annotation.added", "output_index": 0, "delta": "no"},
            {
                "type": "response.refusal.delta",
                "output_index": 0,
                "content_index": 0,
                "delta": "no",
            },
            {
                "type": "response.output_text.delta",
                "output_index": 0,
                "content_index": 0,
                "delta": "a",
            },
            {
                "type": "response.output_text.delta",
                "output_index": 0,
                "content_index": 1,
                "delta": "b",
            },
            {
                "type": "response.output_text.delta",
                "output_index": 1,
                "content_index": 0,
                "delta": "c",
            },
            {
                "type": "response.completed",
                "response": {
                    "model": "m",
                    "output": [
                        {
                            "type": "message",
                            "content": [
                                {"type": "output_text", "text": "a"},
                                {"type": "output_text", "text": "b"},
                                {"type": "refusal", "refusal": "no"},
                                {"type": "a_later_part", "text": "no"},
                            ],
                        },
                        {"type": "message", "content": [{"type": "output_text", "text": "c"}]},
                        {
                            "type": "web_search_call",
                            "content": [{"type": "output_text", "text": "d"}],
                        },
                    ],
                },
            },
        ],
        Read("abc", model="m", has_ended=True),
    ),
    "responses, an end that repeats another text": (
        "responses",
        [
            {
                "type": "response.output_text.delta",
                "output_index": 0,
                "content_index": 0,
                "delta": "a",
            },
            {
                "type": "response.output_text.done",
                "output_index": 0,
                "content_index": 0,
                "text": "A!",
            },
        ],
        Read("a"),
    ),
    "responses, a failure": (
        "responses",
        [
            {"type": "response.failed", "response": {"model": "m", "output": []}},
            {"type": "response.failed", "response": {"model": None, "output": None}},
        ],
        Read(model="m", has_ended=True),
    ),
    "messages, not JSON": ("messages", ["x", None], Read()),
    "messages, blocks without a text": (
        "messages",
        [
            {
                "type": "message",
                "model": "m",
                "content": [
                    {"type": "redacted_thinking", "data": "no"},
                    {"type": "server_tool_use", "id": "s", "name": "no", "input": {"a": 1}},
                    {"type": "text", "text": "Hi"},
                ],
            }
        ],
        Read("Hi", model="m"),
    ),
    "messages, a stream with a search by Anthropic": (
        "messages",
        [
            {
                "type": "message_start",
                "message": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}},
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "server_tool_use", "id": "s", "name": "no", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": "no"},
            },
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "citations_delta", "citation": {"text": "no"}},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "text_delta", "text": "Hi"},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 4, "cache_read_input_tokens": 5},
            },
            {"type": "ping"},
            {"type": "message_stop"},
        ],
        Read(
            "Hi",
            model="m",
            usage={"input": 9, "output": 4, "details": {"cache_read_input_tokens": 5}},
            has_ended=True,
        ),
    ),
    "messages, an error": (
        "messages",
        [{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}],
        Read(has_ended=True),
    ),
    "messages, details of both events": (
        "messages",
        [
            {"type": "message_start", "message": {"usage": {"cache_read_input_tokens": 5}}},
            {"type": "message_delta", "usage": {"server_tool_use": {"web_search_requests": 1}}},
        ],
        Read(
            usage={
                "details": {
                    "cache_read_input_tokens": 5,
                    "server_tool_use": {"web_search_requests": 1},
                }
            }
        ),
    ),
    "invoke, a stream of a prompt": (
        "invoke_model",
        [
            {"generation": "Hel", "prompt_token_count": 9, "stop_reason": None},
            {
                "generation": "lo",
                "stop_reason": "length",
                "amazon-bedrock-invocationMetrics": {
                    "inputTokenCount": 3,
                    "outputTokenCount": 2,
                    "invocationLatency": 5,
                    "firstByteLatency": 1,
                },
            },
        ],
        Read("Hello", finish_reason="length", usage={"input": 3, "output": 2}, has_ended=True),
    ),
    "invoke, several outputs": (
        "invoke_model",
        [{"outputs": [{"text": "Hi", "stop_reason": "stop"}, {"text": "no"}]}],
        Read("Hi", has_ended=True),
    ),
    "invoke, not JSON": ("invoke_model", ["x", None], Read()),
    "interactions, an agent": (
        "interactions",
        [{"agent": "deep-research-preview-04-2026", "status": "completed", "steps": []}],
        Read(model="deep-research-preview-04-2026"),
    ),
    "gemini, not JSON": ("generate_content", ["x", None], Read()),
    "gemini, a stream as one list": (
        "generate_content",
        [
            [
                {"modelVersion": "m", **candidate({"text": "Hel"})},
                candidate({"text": "lo"}, finishReason="STOP"),
            ]
        ],
        Read("Hello", model="m", has_ended=True),
    ),
    "gemini, another candidate": (
        "generate_content",
        [
            {
                "candidates": [
                    *candidate({"text": "Hi"})["candidates"],
                    *candidate({"text": "no"})["candidates"],
                ]
            }
        ],
        Read("Hi"),
    ),
    "gemini, parts without a text": (
        "generate_content",
        [candidate({"inlineData": {"data": "no"}}, {"text": 5}, {"text": "Hi"}, "no")],
        Read("Hi"),
    ),
    "gemini, calls without an id": (
        "generate_content",
        [
            candidate({"inlineData": {}}, {"functionCall": {"name": "f", "args": {"a": "é"}}}),
            candidate({"functionCall": {"name": "g"}}, finishReason="STOP"),
        ],
        Read(calls={"call_1": ["f", '{"a": "é"}'], "call_2": ["g", ""]}, has_ended=True),
    ),
    "gemini, a prompt that is blocked": (
        "generate_content",
        [{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}],
        Read(usage={"input": 3}, finish_reason="prompt_blocked", has_ended=True),
    ),
}
"""Answers that our own protocols do not write, each with what is read in it."""


@pytest.mark.parametrize("name", SPECIAL_ANSWERS)
def test_an_answer_that_only_a_provider_sends_is_read_and_replayed(name: str) -> None:
    api, bodies, expected = SPECIAL_ANSWERS[name]
    assert read(api, bodies) == expected


FINISH_REASONS = {
    "chat.completions": (
        lambda reason: choice({"content": "Hi"}, finish_reason=reason),
        {
            "stop": None,
            "tool_calls": None,
            "function_call": None,
            "length": "length",
            "model_length": "length",
            "content_filter": "content_filter",
            "error": "error",
            "Stop": "Stop",
            None: None,
        },
    ),
    "responses": (
        lambda reason: {"object": "response", "incomplete_details": {"reason": reason}},
        {
            None: None,
            "max_output_tokens": "length",
            "content_filter": "content_filter",
            "max_tokens": "max_tokens",
        },
    ),
    "messages": (
        lambda reason: {"type": "message", "stop_reason": reason},
        {
            None: None,
            "end_turn": None,
            "tool_use": None,
            "stop_sequence": None,
            "max_tokens": "length",
            "refusal": "content_filter",
            "pause_turn": "pause_turn",
            "model_context_window_exceeded": "model_context_window_exceeded",
        },
    ),
    "generate_content": (
        lambda reason: candidate({"text": "Hi"}, finishReason=reason),
        {
            None: None,
            "STOP": None,
            "MAX_TOKENS": "length",
            "SAFETY": "content_filter",
            "RECITATION": "RECITATION",
            "MAX_TOKEN": "MAX_TOKEN",
        },
    ),
}
"""The finish reasons that are read, by those of the provider."""


@pytest.mark.parametrize(
    ("api", "given", "expected"),
    [
        (api, given, expected)
        for api, (_, reasons) in FINISH_REASONS.items()
        for given, expected in reasons.items()
    ],
)
def test_a_finish_reason_is_read_in_the_words_of_chat_completions(
    api: str, given: str | None, expected: str | None
) -> None:
    build, _ = FINISH_REASONS[api]
    assert read(api, [build(given)]).finish_reason == expected


@pytest.mark.parametrize("stage", ["added", "done"])
@pytest.mark.parametrize(
    ("event", "kind", "index", "expected"),
    [
        ("content_part", "output_text", "content_index", Read(text="Hi")),
        ("reasoning_summary_part", "summary_text", "summary_index", Read(reasoning="Hi")),
    ],
)
def test_a_part_has_its_text_where_it_begins_and_where_it_ends(
    stage: str, event: str, kind: str, index: str, expected: Read
) -> None:
    body = {
        "type": f"response.{event}.{stage}",
        "output_index": 0,
        index: 0,
        "part": {"type": kind, "text": "Hi"},
    }
    found = read("responses", [body])
    assert (found.text, found.reasoning) == (expected.text, expected.reasoning)
