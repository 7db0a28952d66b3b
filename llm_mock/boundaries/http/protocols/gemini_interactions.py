"""Google's Interactions API. See https://ai.google.dev/gemini-api/docs/interactions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from http import HTTPStatus

from llm_mock.boundaries.http.body_types import INTERACTION
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.error_formats import get_details
from llm_mock.boundaries.http.errors import FAST_RETRY, RETRIED_STATUSES
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    encode_arguments,
    extract_options,
    join_text,
    make_base64_part,
    make_text_part,
    make_url_part,
    parse_allowed_tools,
    parse_json_body,
    validate_body,
)
from llm_mock.boundaries.http.providers.google import GOOGLE, GoogleFormat
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    Tool,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Event, Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

API = "interactions"
SIGNATURE = "bW9jaw=="
"""The signature of a thought, which clients send back with it."""
STATUSES = {
    "tool_calls": "requires_action",
    "length": "incomplete",
    "content_filter": "failed",
}
"""The status of an interaction, by the finish reasons of Chat Completions; else `completed`."""
TOOL_CHOICES = {"any": "required", "validated": "auto"}
"""The tool choices of Chat Completions, by the choices here that differ from them."""
PARSED_FIELDS = (
    "model",
    "agent",
    "input",
    "system_instruction",
    "tools",
    "tool_choice",
    "generation_config",
    "response_format",
    "stream",
    "previous_interaction_id",
)
"""The fields of a request and of its configuration that are not options."""
CODES = {400: "invalid_request", 429: "too_many_requests", 500: "internal_error"}
"""The error codes, by status; all others are derived from the name of the status."""
DONE = server_sent_event("[DONE]", "done")


class InteractionsFormat(GoogleFormat):
    """The error format of the Interactions API, whose codes are strings."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        body = error.body if isinstance(error.body, dict) else {}
        details = get_details(body)
        if isinstance(details.get("code"), str):
            return body
        return {"error": {"message": error.message, "code": get_code(error.status)}}

    def build_headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error, with the time of a fast retry, which the SDK reads."""
        headers = super().build_headers(error)
        is_retried = error.status in RETRIED_STATUSES or error.status >= 500
        if not is_retried or not http_settings.fast_retries or "x-should-retry" in headers:
            return headers
        return {**headers, "retry-after-ms": f"{FAST_RETRY * 1000:g}"}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return WireError(400, f"Missing required parameter: '{name}'.")


def get_code(status: int) -> str:
    """Return the code of an error."""
    if status in CODES:
        return CODES[status]
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        return "unknown"
    return phrase.lower().replace(" ", "_")


class GeminiInteractions:
    """`POST …/interactions`."""

    provider = GOOGLE._replace(errors=InteractionsFormat())

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        errors = self.provider.errors
        body = validate_body(parse_json_body(sent.body), INTERACTION, errors, "input")
        model = body.get("model") or body.get("agent")
        if model is None:
            raise errors.build_missing_field_error("model")
        config = body.get("generation_config") or {}
        return HTTPRequest(
            str(model),
            [*_load_earlier_messages(body, mock), *_parse_input(body["input"])],
            api=API,
            system=body.get("system_instruction") or "",
            tools=_parse_tools(body),
            schema=_parse_schema(body.get("response_format")),
            options=extract_options({**body, **config}, *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=_parse_tool_choice(config.get("tool_choice")),
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        interaction = build_interaction(context, reply)
        if context.request.body.get("background"):
            # The stored interaction is already complete, so that a test need not wait.
            return {**build_head(context), "status": "in_progress"}
        return interaction

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        return InteractionStream(context).build_events()

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(404, f"Model '{model_id}' not found.")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        return encode_event("error", **self.provider.errors.build_body(error))


PROTOCOL = GeminiInteractions()


def build_head(context: ResponseContext) -> JSONObject:
    """Return the first fields of an interaction."""
    body = context.request.body
    kind = "model" if body.get("model") else "agent"
    head: JSONObject = {
        "id": f"v1_mock_{context.number}",
        "object": "interaction",
        kind: context.model,
    }
    previous = body.get("previous_interaction_id")
    if previous:
        head["previous_interaction_id"] = previous
    return head


def build_end(context: ResponseContext, finish_reason: str) -> JSONObject:
    """Return the fields of an interaction that has ended.

    Args:
        context: the call and its reply.
        finish_reason: the finish reason in the terms of Chat Completions.
    """
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    end: JSONObject = {
        "status": STATUSES.get(finish_reason, "completed"),
        "created": now,
        "updated": now,
        "service_tier": "standard",
    }
    if not context.sends_usage:
        return end
    counts = {
        "total_input_tokens": context.input_tokens,
        "total_output_tokens": context.output_tokens,
        "total_tokens": context.input_tokens + context.output_tokens,
        "total_cached_tokens": 0,
        "total_thought_tokens": 0,
        "total_tool_use_tokens": 0,
    }
    return {**end, "usage": {**counts, **context.usage_details}}


def build_interaction(context: ResponseContext, reply: CompleteReply) -> JSONObject:
    """Return a whole interaction, and store it."""
    steps: list[JSONObject] = []
    if context.answer.reply.reasoning is not None or reply.reasoning:
        thought: JSONObject = {
            "type": "thought",
            "signature": SIGNATURE,
            "summary": [],
        }
        if reply.reasoning:
            thought["summary"].append(make_text_part(reply.reasoning))
        steps.append(thought)
    if reply.refusal is None:
        steps += map(build_step, reply.parts)
    end = build_end(context, reply.finish_reason)
    if reply.refusal is not None:
        end["errors"] = [{"code": "content_blocked", "message": reply.refusal}]
    interaction = {**build_head(context), **end, "steps": steps}
    store(context.mock, context.request, interaction)
    return interaction


def build_step(part: str | ToolCallText) -> JSONObject:
    """Return the step of a text or a call of a function."""
    if isinstance(part, str):
        return {"type": "model_output", "content": [make_text_part(part)]}
    return {
        "type": "function_call",
        "id": part.id,
        "name": part.name,
        "arguments": encode_arguments(part.arguments),
    }


def store(mock: Mock | None, request: HTTPRequest, interaction: JSONObject) -> None:
    """Store an interaction with the conversation before it, unless the request forbids that."""
    if mock is not None and request.body.get("store") is not False:
        mock.store_object(str(interaction["id"]), (API, request.conversation, interaction))


def find_stored(interaction_id: str, mock: Mock) -> tuple[list[Message], JSONObject]:
    """Return the messages before a stored interaction, and the interaction.

    Raises:
        WireError: no interaction has this id.
    """
    stored = mock.stored_objects.get(interaction_id)
    if not isinstance(stored, tuple) or stored[0] != API:
        raise WireError(404, f"Interaction '{interaction_id}' not found.")
    return stored[1], stored[2]


def _load_earlier_messages(body: JSONObject, mock: Mock) -> list[Message]:
    """Return the messages of the interaction that a request continues."""
    previous = body.get("previous_interaction_id")
    if not previous:
        return []
    # A request that a cassette answers may continue an interaction that was not recorded.
    if mock.cassette is not None and previous not in mock.stored_objects:
        return []
    messages, interaction = find_stored(str(previous), mock)
    return [*messages, *_parse_input(interaction["steps"])]


class InteractionStream:
    """The events of a streamed interaction.

    Args:
        context: the call and its reply.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._index = -1
        self._open: tuple[str, str | None] | None = None
        self._steps: list[JSONObject] = []

    def build_events(self) -> Iterator[bytes | Wait]:
        """Yield the events."""
        context = self._context
        head = build_head(context)
        created = {**head, "status": "in_progress"}
        yield encode_event("interaction.created", interaction=created)
        update = {
            "interaction_id": head["id"],
            "status": "in_progress",
        }
        yield encode_event("interaction.status_update", **update)
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            else:
                yield from self._build_chunk(chunk)
        if self._index < 0 and context.answer.reply.refusal is None:
            yield from self._build_chunk("")
        yield from self._close_step()
        interaction = {**head, **build_end(context, context.get_finish_reason())}
        store(context.mock, context.request, {**interaction, "steps": self._steps})
        yield encode_event("interaction.completed", interaction=interaction)
        yield DONE

    def _build_chunk(self, chunk: str | Event) -> Iterator[bytes]:
        """Yield the events of a chunk."""
        if isinstance(chunk, str):
            yield from self._open_step(("model_output", None), {"type": "model_output"})
            yield self._build_delta(make_text_part(chunk))
            # Stored in one piece.
            [content] = self._steps[-1].setdefault("content", [make_text_part("")])
            content["text"] += chunk
        elif chunk.type == "reasoning":
            yield from self._open_step(("thought", None), {"type": "thought"})
            summary = {
                "type": "thought_summary",
                "content": make_text_part(chunk.chunk),
            }
            yield self._build_delta(summary)
        elif chunk.type == "tool_call_name":
            call_id = chunk.tool_call_id
            empty: JSONObject = {
                "type": "function_call",
                "id": call_id,
                "name": chunk.chunk,
                "arguments": {},
            }
            yield from self._open_step(("function_call", call_id), empty)
        elif chunk.type == "tool_call_args":
            step = self._steps[-1]
            step["arguments"] = (step["arguments"] or "") + chunk.chunk
            yield self._build_delta({"type": "arguments_delta", "arguments": chunk.chunk})

    def _open_step(self, key: tuple[str, str | None], step: JSONObject) -> Iterator[bytes]:
        """Yield the events that start a step, if it is not the one that is open."""
        if key == self._open:
            return
        yield from self._close_step()
        self._open = key
        self._index += 1
        self._steps.append(dict(step))
        yield encode_event("step.start", index=self._index, step=step)

    def _close_step(self) -> Iterator[bytes]:
        """Yield the events that end the open step."""
        if self._open is None:
            return
        if self._open[0] == "thought":
            yield self._build_delta({"type": "thought_signature", "signature": SIGNATURE})
        elif self._open[0] == "function_call":
            step = self._steps[-1]
            step["arguments"] = encode_arguments(step["arguments"] or "{}")
        yield encode_event("step.stop", index=self._index)
        self._open = None

    def _build_delta(self, delta: JSONObject) -> bytes:
        return encode_event("step.delta", index=self._index, delta=delta)


def encode_event(kind: str, **fields: object) -> bytes:
    """Encode an event of a type."""
    return server_sent_event({"event_type": kind, **fields}, kind)


def _parse_input(value: str | JSONObject | list[JSONObject]) -> list[Message]:
    """Parse the input: a text, contents of a single message, or the steps of a conversation."""
    if isinstance(value, str):
        return [{"role": "user", "parts": [make_text_part(value)]}]
    items = [value] if isinstance(value, dict) else value
    messages: list[Message] = []
    contents: list[Message] = []
    for item in items:
        message = _parse_step(item)
        if message is None:
            contents += _parse_contents([item])
        else:
            messages.append(message)
    if contents:
        messages.append({"role": "user", "parts": contents})
    return messages


def _parse_step(step: JSONObject) -> Message | None:
    """Return the message of a step; None for something else, such as a content."""
    kind = step.get("type")
    if kind in ("user_input", "model_output"):
        role = "user" if kind == "user_input" else "assistant"
        return {"role": role, "parts": _parse_contents(step.get("content"))}
    if kind == "function_call":
        part = make_tool_call_part(
            str(step.get("name")),
            step.get("arguments"),
            step.get("id"),
        )
        return {"role": "assistant", "parts": [part]}
    if kind == "function_result":
        part = make_tool_result_part(
            _parse_result(step.get("result")),
            step.get("call_id"),
            step.get("name"),
            is_error=step.get("is_error"),
        )
        return {"role": "tool", "parts": [part]}
    if kind == "thought":
        text = join_text(_parse_contents(step.get("summary")))
        parts: list[Message] = [{"type": "reasoning", "text": text}] if text else []
        return {"role": "assistant", "parts": parts}
    return None


def _parse_result(result: object) -> object:
    """Return the result of a function, or its text if it consists of contents."""
    contents = result.get("content") if isinstance(result, dict) else result
    if isinstance(contents, list):
        parts = _parse_contents(contents)
        if parts:
            return join_text(parts)
    return result


def _parse_contents(contents: object) -> list[Message]:
    """Parse a list of contents, a single content or a text; unknown types are skipped."""
    if isinstance(contents, str):
        return [make_text_part(contents)]
    items = contents if isinstance(contents, list) else [contents]
    parts = []
    for item in items:
        if not isinstance(item, dict):
            continue
        media_type = item.get("mime_type")
        if item.get("type") == "text":
            parts.append(make_text_part(str(item.get("text") or "")))
        elif item.get("data"):
            parts.append(make_base64_part(str(item["data"]), media_type))
        elif item.get("uri"):
            parts.append(make_url_part(str(item["uri"]), media_type))
    return parts


def _parse_tools(body: JSONObject) -> list[Tool]:
    tools = []
    for tool in body.get("tools") or ():
        # Google runs all other tools itself.
        if tool.get("type") == "function":
            offered = Tool(
                str(tool.get("name")),
                tool.get("description"),
                tool.get("parameters") or {},
            )
            tools.append(offered)
    return tools


def _parse_schema(value: object) -> JSONObject | None:
    """Return the JSON schema of a structured answer; None without one."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and item.get("type") == "text":
            return add_schema_title(item.get("schema"), None)
    return None


def _parse_tool_choice(choice: object) -> str | None:
    """Return the tool choice in the terms of `HTTPRequest.tool_choice`."""
    if isinstance(choice, str):
        return TOOL_CHOICES.get(choice, choice)
    allowed = choice.get("allowed_tools") if isinstance(choice, dict) else None
    if not isinstance(allowed, dict):
        return None
    mode = allowed.get("mode")
    tools = [{"name": name} for name in allowed.get("tools") or ()]
    return parse_allowed_tools(TOOL_CHOICES.get(mode, mode) if mode else None, tools)
