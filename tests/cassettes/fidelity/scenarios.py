"""Prompts and the answers of real providers, by OpenAI's wire and by plugins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import llm
from llm.default_plugins import openai_models

from tests.cassettes.fidelity import server
from tests.cassettes.fidelity.server import Served

try:
    from llm.parts import StreamEvent
except ImportError:  # before llm 0.32
    StreamEvent = None

PNG = b"\x89PNG\r\n\x1a\n" + bytes(3000)
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

Execute = Callable[[Any, Any], Iterator[Any]]


class Scenario(NamedTuple):
    """Prompts of one conversation, answered by the server or by a function as `execute`."""

    served: tuple[Served, ...] = ()
    execute: Execute | None = None
    prompts: tuple[dict[str, Any], ...] = ({"prompt": "Hi"},)
    kind: str = "Chat"
    """Which of `llm`'s OpenAI models the server is asked by."""
    chain: bool = False


def lookup(country: str) -> str:
    """Return the population of a country."""
    return f"{country} has 123124 inhabitants"


def _with_image(**more: Any) -> dict[str, Any]:
    return {
        "prompt": "What is this?",
        "attachments": [llm.Attachment(type="image/png", content=PNG)],
        **more,
    }


_ITEM = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
_MESSAGE = {
    **{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
    "content": [{"type": "output_text", "text": "It is small.", "annotations": [], "logprobs": []}],
}
_REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABfirst"}
_FINAL = {
    **_ITEM,
    "action": {**_ITEM["action"], "sources": [{"type": "url", "url": "https://example.com"}]},
}
_CALL = {
    **{
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "lookup",
        "status": "completed",
    },
    "arguments": '{"country": "Nauru"}',
}
_RESPONSES_STREAM = server.responses(
    {**_REASONING, "encrypted_content": "gAAAAABfinal"},
    _FINAL,
    _MESSAGE,
    events=[
        {"type": "response.output_item.added", "output_index": 0, "item": _REASONING},
        {"type": "response.output_item.done", "output_index": 0, "item": _REASONING},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**_ITEM, "status": "in_progress"},
        },
        {"type": "response.output_item.done", "output_index": 1, "item": _ITEM},
        {
            "type": "response.output_item.added",
            "output_index": 2,
            "item": {**_MESSAGE, "content": []},
        },
        *(
            {
                "type": "response.output_text.delta",
                "item_id": "msg_1",
                "output_index": 2,
                "content_index": 0,
                **delta,
            }
            for delta in ({"delta": "It is", "logprobs": []}, {"delta": " small.", "logprobs": []})
        ),
        {"type": "response.output_item.done", "output_index": 2, "item": _MESSAGE},
    ],
)

BY_WIRE = {
    "plain": Scenario(
        (server.completion("Hello, Ada."),),
        prompts=({"prompt": "Hi", "system": "Be", "stream": False},),
    ),
    "stream": Scenario(
        (
            server.streamed_completion(
                {"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"}
            ),
        )
    ),
    "conversation": Scenario(
        (server.completion("One"), server.completion("Two"), server.completion("Three")),
        prompts=tuple({"prompt": f"Count {number}", "stream": False} for number in range(3)),
    ),
    "schema": Scenario(
        (server.completion('{"name": "Ada"}'),),
        prompts=({"prompt": "Who?", "schema": SCHEMA, "stream": False},),
    ),
    "options": Scenario(
        (server.completion("Hello"),),
        prompts=({"prompt": "Hi", "stream": False, "temperature": 0.5, "seed": 3},),
    ),
    "tools": Scenario(
        (
            server.completion(tool_calls=[server.tool_call("lookup", '{"country": "Nauru"}')]),
            server.completion("Nauru has few."),
        ),
        prompts=({"prompt": "How many?", "tools": [lookup], "stream": False},),
        chain=True,
    ),
    "tools in a stream": Scenario(
        (
            server.streamed_completion(
                {"tool_calls": [server.tool_call("lookup", "", index=0)]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '{"country": "Na'}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": 'uru"}'}}]},
            ),
            server.streamed_completion({"content": "Few."}),
        ),
        prompts=({"prompt": "How many?", "tools": [lookup]},),
        chain=True,
    ),
    "image": Scenario((server.completion("A picture."),), prompts=(_with_image(stream=False),)),
    "completion": Scenario(
        (
            Served(
                json.dumps(
                    {
                        **json.loads(server.completion().text),
                        "choices": [
                            {"text": "", "index": 0, "finish_reason": "stop", "logprobs": None}
                        ],
                    }
                )
            ),
        ),
        prompts=({"prompt": "Hi", "stream": False},),
        kind="Completion",
    ),
    "bad request": Scenario(
        (
            server.refused(
                400,
                {
                    "message": "Too long.",
                    "type": "invalid_request_error",
                    "param": "messages",
                    "code": "context_length_exceeded",
                },
            ),
        )
    ),
    "wrong key": Scenario(
        (
            server.refused(
                401,
                {
                    "message": "Incorrect API key provided.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "invalid_api_key",
                },
            ),
        )
    ),
    "rate limit": Scenario(
        (
            server.refused(
                429,
                {
                    "message": "Slow down.",
                    "type": "requests",
                    "param": None,
                    "code": "rate_limit_exceeded",
                },
                retry_after="7",
                retry_after_ms="6500",
            ),
        )
    ),
    "error that is text": Scenario((server.refused(500, "It broke."),)),
    "error of a gateway": Scenario(
        (
            Served(
                "<html>502 Bad Gateway</html>\n",
                502,
                {"content-type": "text/html", "x-should-retry": "false"},
            ),
        )
    ),
    "error without an envelope": Scenario(
        (
            Served(
                '{"message":"No such deployment","code":404}',
                404,
                {"content-type": "application/json"},
            ),
        )
    ),
    "error within a stream": Scenario(
        (
            Served(
                'data: {"error": {"message": "Overloaded", "code": 503, "type": '
                '"server_error"}}\n\n',
                headers={"content-type": "text/event-stream"},
            ),
        )
    ),
    "no answer": Scenario((Served("", cut=0),)),
    "cut": Scenario(
        (server.streamed_completion({"content": "Hel"}, {"content": "lo"})._replace(cut=700),)
    ),
    "arguments that are no JSON": Scenario(
        (
            server.streamed_completion(
                {"content": "Let me"},
                {"tool_calls": [server.tool_call("lookup", '{"country', index=0)]},
            ),
        ),
        prompts=({"prompt": "How many?", "tools": [lookup]},),
    ),
}
BY_WIRE_OF_RESPONSES = {
    "responses": Scenario(
        (server.responses(_REASONING, _FINAL, _MESSAGE),),
        prompts=(_with_image(stream=False),),
        kind="Responses",
    ),
    "responses in a stream": Scenario((_RESPONSES_STREAM,), kind="Responses"),
    "responses with tools": Scenario(
        (server.responses(_REASONING, _CALL), server.responses(_MESSAGE)),
        prompts=(_with_image(tools=[lookup], stream=False),),
        kind="Responses",
        chain=True,
    ),
    "responses refused": Scenario(
        (server.refused(400, {"message": "No.", "type": "x"}),), kind="Responses"
    ),
}


class Refusal(llm.ModelError):
    """An error that has more than its message, and is not made of it."""

    def __init__(self, details: dict[str, Any]) -> None:
        self.details = details
        self.category = details.get("category")
        super().__init__(f"Refused ({self.category})")


class Quota(Exception):
    """An error of which one thing can be left out."""

    def __init__(self, message: str, seconds: int | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


def _everything(prompt: Any, response: Any) -> Iterator[Any]:
    response.set_resolved_model("scripted-2026")
    response._prompt_json = {"contents": [{"parts": [{"text": prompt.prompt}]}], "none": None}
    response.response_json = {
        "id": "1",
        "grounding": {"score": 0.25, "none": None, "é": [1, 2**60, "x: y\n "]},
        "z": [],
        "a": {},
    }
    response.annotations = [{"url": "https://example.com", "start": 3}]
    response.set_usage(input=3, output=4, details={"thoughts": 5, "none": None})
    response.attachments.append(llm.Attachment(type="image/png", content=PNG))
    yield "One "
    yield ""
    yield "two"


def _gemini(prompt: Any, response: Any) -> Iterator[Any]:
    """As llm-gemini has it, whose models want their signature back."""
    if prompt.tool_results:
        signature = [
            call.thought_signature for call in response.conversation.responses[-1]._tool_calls
        ]
        yield f"Signed {signature}"
        return
    call = llm.ToolCall(name="lookup", arguments={"country": "Nauru"}, tool_call_id="call_9")
    call.thought_signature = "EqQBCqEBAb4+9vt=="
    response.add_tool_call(call)
    if StreamEvent is not None:
        metadata = {"gemini": {"thoughtSignature": "EqQBCqEBAb4+9vt=="}}
        yield StreamEvent(
            type="tool_call_name", chunk="lookup", tool_call_id="call_9", provider_metadata=metadata
        )
        yield StreamEvent(
            type="tool_call_args", chunk='{"country": "Nauru"}', tool_call_id="call_9"
        )
    response.response_json = {
        "candidates": [{"finishReason": "STOP", "index": 0}],
        "modelVersion": "gemini-3",
    }
    response.set_usage(input=5, output=0)


def _calls_without_events(prompt: Any, response: Any) -> Iterator[Any]:
    response.add_tool_call(llm.ToolCall("lookup", {"country": "Nauru"}, "call_1"))
    response.add_tool_call(llm.ToolCall("lookup", {"country": "Tuvalu"}, "call_2"))
    yield "Let me see."


def _late_details(prompt: Any, response: Any) -> Iterator[Any]:
    """Yield a plugin may complete the events that it gave before."""
    if StreamEvent is None:
        yield "Seen"
        return
    event = StreamEvent(
        type="tool_result",
        chunk="in_progress",
        tool_call_id="ws_1",
        server_executed=True,
        tool_name="s",
    )
    yield event
    yield StreamEvent(type="text", chunk="Seen")
    event.chunk = "completed"
    event.provider_metadata = {"openai": {"sources": ["https://example.com"]}}


def _error(
    make: Callable[[], BaseException], *, chunks: tuple[str, ...] = (), usage: bool = False
) -> Execute:
    def execute(prompt: Any, response: Any) -> Iterator[Any]:
        if usage:
            response.response_json = {"stop_reason": "refusal"}
            response._prompt_json = {"messages": []}
            response.set_usage(input=12, output=0)
            response.set_resolved_model("scripted-2026")
            response.add_tool_call(llm.ToolCall("lookup", {"country": "Nauru"}, "call_1"))
            response.attachments.append(llm.Attachment(type="image/png", content=PNG))
        yield from chunks
        raise make()

    return execute


def _caused() -> Exception:
    try:
        try:
            raise ConnectionRefusedError(111, "Connection refused")
        except OSError as error:
            raise Quota("No route", 3) from error
    except Quota as error:
        final = llm.ModelError("It failed")
        final.__cause__ = error
        if hasattr(final, "add_note"):
            final.add_note("The region was eu-1.")
        return final


def _in_context() -> Exception:
    try:
        try:
            json.loads("{")
        except ValueError:
            raise llm.ModelError("The provider sent no JSON")  # noqa: B904
    except llm.ModelError as error:
        return error


def _with_more() -> Exception:
    error = Quota("Used up", seconds=30)
    error.limit = {"day": 5}
    return error


SCRIPTED = {
    "everything": Scenario(execute=_everything),
    "everything at once": Scenario(
        execute=_everything, prompts=({"prompt": "Hi", "stream": False},)
    ),
    "nothing": Scenario(execute=lambda prompt, response: iter(())),
    "gemini": Scenario(
        execute=_gemini, prompts=({"prompt": "How many?", "tools": [lookup]},), chain=True
    ),
    "calls without events": Scenario(
        execute=_calls_without_events, prompts=({"prompt": "Hi", "tools": [lookup]},)
    ),
    "details that come late": Scenario(execute=_late_details),
    "refusal": Scenario(execute=_error(lambda: Refusal({"category": "bio", "n": [1]}), usage=True)),
    "refusal after chunks": Scenario(
        execute=_error(lambda: Refusal({"category": "bio"}), chunks=("One ", "two"), usage=True)
    ),
    "refusal after chunks at once": Scenario(
        execute=_error(lambda: Refusal({"category": "bio"}), chunks=("One ", "two")),
        prompts=({"prompt": "Hi", "stream": False},),
    ),
    "error with a cause": Scenario(execute=_error(_caused)),
    "error within an error": Scenario(execute=_error(_in_context)),
    "error with more": Scenario(execute=_error(_with_more)),
    "error of the system": Scenario(
        execute=_error(lambda: FileNotFoundError(2, "No such file", "notes.txt"))
    ),
}


def all_scenarios() -> dict[str, Scenario]:
    """Return those that the installed `llm` has models for."""
    newer = BY_WIRE_OF_RESPONSES if hasattr(openai_models, "Responses") else {}
    return {**BY_WIRE, **newer, **SCRIPTED}


def scenario_path(name: str, is_async: bool) -> str:
    """Return the path at the server; each kind of model has its own, whose answers it uses up."""
    return name.replace(" ", "-") + "-async" * is_async
