"""Rules of Anthropic's Messages API.

See https://docs.anthropic.com/en/api/messages and the types of its SDK, `anthropic.types`. The
messages come from error responses that applications have recorded and reported.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.request_rules.rule import Check, Memo, Rule, RuleSet, Violation
from llm_mock.boundaries.http.sdk_fields import has_sdk_field
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://docs.anthropic.com/en/api/messages"
TOOL_GUIDE = "https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use"
THINKING_GUIDE = "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking"
SYSTEM_GUIDE = (
    "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"
)
LINKED_GUIDE = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
"""The address in Anthropic's messages."""
LEAST_BUDGET = 1024
TOOL_CHOICES = ("auto", "any", "tool", "none")
TOOL_TYPES = (
    "bash_20250124",
    "browser_toolset_20260801",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_toolset_20260801",
    "custom",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
)
"""The types of tools that the error names: those of the SDK's `ToolUnionParam`."""
VERTEX_TOOL_TYPES = (
    "bash_20250124",
    "browser_toolset_20260801",
    "computer_toolset_20260801",
    "custom",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_search_20250305",
)
"""The types that Vertex AI names: https://github.com/seoeunbae/agentrouter-multi-llm-gcp."""
UNDATED_TYPES = (
    "mcp_toolset",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
)
"""The types of Anthropic's own tools without a date, also those of betas."""
BLOCK_TYPES = (
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "container_upload",
    "document",
    "image",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text",
    "text_editor_code_execution_tool_result",
    "thinking",
    "tool_result",
    "tool_search_tool_result",
    "tool_use",
    "web_fetch_tool_result",
    "web_search_tool_result",
)
"""The types of content that the error names: those of the SDK's `ContentBlockParam`."""
OPENAI_TYPES = frozenset(
    (
        "file",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_text",
        "output_text",
        "refusal",
    )
)
"""The types of content that only OpenAI has. Other unknown types may be those of a beta."""
SDK_TYPES = (
    ("anthropic.types.message_create_params", "MessageCreateParamsBase"),
    ("anthropic.types.beta.message_create_params", "MessageCreateParamsBase"),
)

MISSING = Rule("missing-parameter", "a request without max_tokens", REFERENCE)
UNKNOWN_PARAMETER = Rule("unknown-parameter", "a parameter that does not exist", REFERENCE)
OUT_OF_RANGE = Rule("number-out-of-range", "a number outside the range of its parameter", REFERENCE)
UNKNOWN_ROLE = Rule("unknown-role", "a role that does not exist", f"{REFERENCE}#body-messages")
SYSTEM_ROLE = Rule(
    "system-role",
    "a system message as the first message, or inside the conversation for a model before Claude "
    "Opus 4.8",
    SYSTEM_GUIDE,
)
UNKNOWN_PART = Rule(
    "unknown-content-type",
    "a content type of OpenAI, such as image_url",
    "https://github.com/AstrBotDevs/AstrBot/pull/4444",
)
EMPTY_CONTENT = Rule(
    "empty-content",
    "an empty message where content is required, or an empty or blank text",
    f"{REFERENCE}#body-messages",
)
TOOL_WITHOUT_CALL = Rule(
    "tool-result-without-call",
    "a tool result without a tool call in the previous message",
    TOOL_GUIDE,
)
CALL_WITHOUT_RESULT = Rule(
    "tool-call-without-result",
    "a tool call without a tool result in the next message",
    TOOL_GUIDE,
)
REPEATED_CALL = Rule(
    "repeated-tool-call",
    "two tool calls with the same id, or two results for one call",
    TOOL_GUIDE,
)
CALL_ID = Rule(
    "tool-call-id",
    "a tool call id with characters other than letters, digits, _ and -",
    REFERENCE,
)
TOOL_TYPE = Rule(
    "tool-type",
    "a tool type that does not exist, such as OpenAI's function",
    "https://github.com/dirac-run/dirac/issues/57",
)
TOOL_WITHOUT_NAME = Rule("tool-without-name", "a tool without a name", f"{REFERENCE}#body-tools")
TOOL_NAME = Rule(
    "tool-name",
    "a tool name with more than 128 characters, or with characters other than letters, digits, _ "
    "and -",
    f"{REFERENCE}#body-tools",
)
REPEATED_TOOL = Rule("repeated-tool", "two tools with the same name", f"{REFERENCE}#body-tools")
TOOL_SCHEMA = Rule(
    "tool-schema",
    "a tool without a schema, or with a schema that is not an object",
    f"{REFERENCE}#body-tools",
)
TOOL_CHOICE = Rule(
    "tool-choice",
    "a tool choice for an unknown tool, without tools, or together with thinking",
    f"{REFERENCE}#body-tool-choice",
)
THINKING_BUDGET = Rule(
    "thinking-budget",
    "a thinking budget that is below 1,024 tokens, or that is not below max_tokens",
    THINKING_GUIDE,
)
THINKING_SAMPLING = Rule(
    "thinking-sampling",
    "a temperature, top_p or top_k that the API does not allow with thinking",
    THINKING_GUIDE,
)
ONE_SAMPLING = Rule(
    "one-sampling-parameter",
    "temperature together with top_p for a model that accepts only one of them",
    "https://docs.anthropic.com/en/docs/about-claude/models/migrating-to-claude-4",
)
MODEL_FEATURE = Rule(
    "model-feature",
    "a feature that the model lacks: effort, a thinking budget, sampling parameters, or a "
    "prefilled assistant message",
    "https://platform.claude.com/docs/en/about-claude/models/migration-guide",
)
ALL_RULES = (
    MISSING,
    UNKNOWN_PARAMETER,
    OUT_OF_RANGE,
    UNKNOWN_ROLE,
    SYSTEM_ROLE,
    UNKNOWN_PART,
    EMPTY_CONTENT,
    TOOL_WITHOUT_CALL,
    CALL_WITHOUT_RESULT,
    REPEATED_CALL,
    CALL_ID,
    TOOL_TYPE,
    TOOL_WITHOUT_NAME,
    TOOL_NAME,
    REPEATED_TOOL,
    TOOL_SCHEMA,
    TOOL_CHOICE,
    THINKING_BUDGET,
    THINKING_SAMPLING,
    ONE_SAMPLING,
    MODEL_FEATURE,
)

_ID = re.compile("^[a-zA-Z0-9_-]+$")
_TOOL_NAME = re.compile("^[a-zA-Z0-9_-]{1,128}$")
_DATED_TYPE = re.compile(r"_\d{8}$")
"""Matches the date suffix of Anthropic's own tool types, also of later ones."""
_NO_SYSTEM_ROLE = re.compile(
    r"^claude-(2|3|instant|(opus|sonnet|haiku)-4(-[0-7])?([-@]\d{8}|-latest|@default)?$)"
)
"""The models before Claude Opus 4.8; Vertex AI has an `@` before the version."""
_ONE_SAMPLING = re.compile(r"^claude-(opus-4-[156]|sonnet-4-5|haiku-4-5)")
_FOUR_EFFORTS = re.compile(r"^claude-opus-4-6")
_NO_PREFILL = re.compile(
    r"^claude-(opus-4-[678]|sonnet-4-6|(opus|sonnet|haiku|fable|mythos)-5)([-@]|$)"
)
"""The models from Claude 4.6 on."""
_ADAPTIVE = re.compile(r"^claude-(opus-4-[78]|(opus|sonnet|haiku|fable|mythos)-5)([-@]|$)")
"""The models from Claude 4.7 on, which choose their thinking and sampling themselves."""
_passed_tools = Memo()


def _make(rule: Rule, message: str) -> Violation:
    return Violation(rule, WireError(400, message))


def _make_tag_violation(rule: Rule, place: str, kind: object, expected: Sequence[str]) -> Violation:
    """Return the violation of an unexpected type."""
    tags = ", ".join(f"'{name}'" for name in expected)
    message = (
        f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
        f"{tags}"
    )
    return _make(rule, message)


def check_required(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a request without `max_tokens`."""
    if request.body.get("max_tokens") is None:
        return (_make(MISSING, "max_tokens: Field required"),)
    return ()


# Each request has the whole conversation, so that this runs for each message of each request.
def check_messages(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation."""
    messages = request.body["messages"]
    last = len(messages) - 1
    has_blocks = False
    for index, message in enumerate(messages):
        role = message.get("role")
        if role != "user" and role != "assistant":
            yield from _check_role(role, index, request.model_id)
        content = message.get("content")
        if not content:
            yield from _check_empty(
                content, index, is_prefill=index == last and role == "assistant"
            )
        elif isinstance(content, list):
            has_blocks = True
            yield from _check_blocks(content, index)
    if has_blocks:
        yield from _check_calls(messages)
    if messages[-1].get("role") == "assistant":
        yield from _check_prefill(messages[-1], request.model_id)


def _check_prefill(message: JSONObject, model: str) -> Iterator[Violation]:
    """Yield the violation of a prefilled answer."""
    content = message.get("content")
    # A turn that paused during Anthropic's own tools continues from its end.
    is_paused = isinstance(content, list) and any(
        block.get("type") == "server_tool_use" for block in content
    )
    if not is_paused and _NO_PREFILL.match(model):
        text = (
            "This model does not support assistant message prefill. The conversation must end with "
            "a user message."
        )
        yield _make(MODEL_FEATURE, text)


def _check_role(role: object, index: int, model: str) -> Iterator[Violation]:
    if role is None:
        yield _make(UNKNOWN_ROLE, f"messages.{index}.role: Field required")
    elif role == "system":
        if index == 0:
            message = (
                'messages: Unexpected role "system". The Messages API accepts a top-level '
                '`system` parameter, not "system" as an input message role.'
            )
            yield _make(SYSTEM_ROLE, message)
        elif _NO_SYSTEM_ROLE.match(model):
            yield _make(SYSTEM_ROLE, "role 'system' is not supported on this model")
    else:
        message = f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".'
        if role == "tool":
            message += (
                " For instructions on how to use tools, see "
                "https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview."
            )
        yield _make(UNKNOWN_ROLE, message)


def _check_empty(content: object, index: int, is_prefill: bool) -> Iterator[Violation]:
    """Yield the violation of empty content, which only a prefilled answer may have."""
    if content is None:
        yield _make(EMPTY_CONTENT, f"messages.{index}.content: Field required")
    elif not is_prefill:
        message = (
            f"messages.{index}: all messages must have non-empty content except for the optional "
            "final assistant message"
        )
        yield _make(EMPTY_CONTENT, message)


def _check_blocks(blocks: list[JSONObject], index: int) -> Iterator[Violation]:
    """Yield the violations in the blocks of a message."""
    for position, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "text":
            text = block.get("text")
            if not text:
                message = "messages: text content blocks must be non-empty"
                yield _make(EMPTY_CONTENT, message)
            elif not text.strip():
                message = "messages: text content blocks must contain non-whitespace text"
                yield _make(EMPTY_CONTENT, message)
        elif kind == "tool_use" and not _ID.match(str(block.get("id"))):
            message = (
                f"messages.{index}.content.{position}.tool_use.id: String should match pattern "
                "'^[a-zA-Z0-9_-]+$'"
            )
            yield _make(CALL_ID, message)
        elif kind in OPENAI_TYPES:
            place = f"messages.{index}.content.{position}"
            yield _make_tag_violation(UNKNOWN_PART, place, kind, BLOCK_TYPES)


def _check_calls(messages: list[JSONObject]) -> Iterator[Violation]:
    """Yield the violations of calls and results, which must be in adjacent turns."""
    calls: list[str] = []
    answered: set[str] = set()
    called_at = 0
    role_before: object = None
    for index, message in enumerate(messages):
        role = message.get("role")
        # A system message is not a turn, and consecutive messages of a role are one turn.
        if role == "system":
            continue
        if role == "assistant" and role_before == "user":
            yield from _check_answered(calls, answered, called_at)
            calls = []
            answered = set()
        role_before = role
        blocks = _get_blocks(message)
        if role == "assistant":
            count = len(calls)
            yield from _check_turn(blocks, index, calls)
            called_at = index if len(calls) > count else called_at
        else:
            yield from _check_results(blocks, index, calls, answered)
    yield from _check_answered(calls, answered, called_at)


def _check_turn(blocks: list[JSONObject], index: int, calls: list[str]) -> Iterator[Violation]:
    """Yield the violations of the calls in a message, and add their ids.

    Args:
        blocks: the blocks of the message.
        index: its position.
        calls: the ids of the calls in this turn.
    """
    for position, block in enumerate(blocks):
        if block.get("type") != "tool_use":
            continue
        call_id = str(block.get("id"))
        if call_id in calls:
            message = f"messages.{index}.content.{position}: `tool_use` ids must be unique"
            yield _make(REPEATED_CALL, message)
        calls.append(call_id)


def _check_results(
    blocks: list[JSONObject], index: int, calls: list[str], answered: set[str]
) -> Iterator[Violation]:
    """Yield the violations of the results in a message."""
    for position, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            place = f"messages.{index}.content.{position}"
            yield from _check_result(block, place, calls, answered)


def _get_blocks(message: JSONObject) -> list[JSONObject]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _check_result(
    block: JSONObject, place: str, calls: list[str], answered: set[str]
) -> Iterator[Violation]:
    """Yield the violation of a result, and add its call to the answered calls.

    Args:
        block: the result.
        place: its place in the body.
        calls: the ids of the calls in the turn before.
        answered: the ids of the calls with a result.
    """
    call_id = str(block.get("tool_use_id"))
    if call_id not in calls:
        message = (
            f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        )
        yield _make(TOOL_WITHOUT_CALL, message)
    elif call_id in answered:
        message = (
            f"{place}: each tool_use must have a single result. Found multiple `tool_result` "
            f"blocks with id: {call_id}"
        )
        yield _make(REPEATED_CALL, message)
    answered.add(call_id)


def _check_answered(calls: list[str], answered: set[str], index: int) -> Iterator[Violation]:
    missing = [call for call in calls if call not in answered]
    if missing:
        message = (
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )
        yield _make(CALL_WITHOUT_RESULT, message)


def make_tools_check(types: Sequence[str]) -> Check:
    """Return a check of the tools on offer.

    Args:
        types: the tool types that the error for an unknown type lists.
    """
    check_new_tools = functools.partial(_check_each_tool, types)

    def check_tools(request: HTTPRequest) -> Iterator[Violation]:
        return _passed_tools.check_once(request.body["tools"], check_new_tools)

    return check_tools


def _check_each_tool(types: Sequence[str], tools: list[JSONObject]) -> Iterator[Violation]:
    names = []
    for index, tool in enumerate(tools):
        kind = tool.get("type")
        # Tools of other types are Anthropic's own, and each has its own fields.
        if kind in (None, "custom"):
            yield from _check_tool(tool, f"tools.{index}.custom")
        elif kind not in UNDATED_TYPES and not _DATED_TYPE.search(kind):
            yield _make_tag_violation(TOOL_TYPE, f"tools.{index}", kind, types)
        if tool.get("name") is not None:
            names.append(tool["name"])
    if len(set(names)) < len(names):
        yield _make(REPEATED_TOOL, "tools: Tool names must be unique.")


def _check_tool(tool: JSONObject, place: str) -> Iterator[Violation]:
    name = tool.get("name")
    schema = tool.get("input_schema")
    if name is None:
        yield _make(TOOL_WITHOUT_NAME, f"{place}.name: Field required")
    elif not _TOOL_NAME.match(name):
        message = f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        yield _make(TOOL_NAME, message)
    if schema is None:
        yield _make(TOOL_SCHEMA, f"{place}.input_schema: Field required")
    elif schema.get("type") is None:
        yield _make(TOOL_SCHEMA, f"{place}.input_schema.type: Field required")
    elif schema["type"] != "object":
        yield _make(TOOL_SCHEMA, f"{place}.input_schema.type: Input should be 'object'")


def check_tool_choice(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of the choice of a tool."""
    choice = request.body["tool_choice"]
    kind = choice.get("type")
    if kind not in TOOL_CHOICES:
        yield _make_tag_violation(TOOL_CHOICE, "tool_choice", kind, TOOL_CHOICES)
    elif not request.body.get("tools"):
        message = "tool_choice: tool_choice may only be specified while providing tools"
        yield _make(TOOL_CHOICE, message)
    elif kind == "tool" and not _offers(request, choice.get("name")):
        yield _make(TOOL_CHOICE, f"Tool '{choice.get('name')}' not found in provided tools")
    elif kind in ("any", "tool") and _get_thinking(request) is not None:
        message = "Thinking may not be enabled when tool_choice forces tool use."
        yield _make(TOOL_CHOICE, message)


def _offers(request: HTTPRequest, name: object) -> bool:
    # Also Anthropic's own tools, which the request does not list.
    return any(tool.get("name") == name for tool in request.body["tools"])


def _get_thinking(request: HTTPRequest) -> JSONObject | None:
    """Return the configuration of thinking with a budget; None without one."""
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        return thinking
    return None


def check_thinking(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of the budget for thinking."""
    thinking = _get_thinking(request)
    if thinking is None:
        return
    if _ADAPTIVE.match(request.model_id):
        message = (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
            'and "output_config.effort" to control thinking behavior.'
        )
        yield _make(MODEL_FEATURE, message)
    place = "thinking.enabled.budget_tokens"
    budget = thinking.get("budget_tokens")
    limit = request.body.get("max_tokens")
    if budget is None:
        yield _make(THINKING_BUDGET, f"{place}: Field required")
    elif not isinstance(budget, int):
        yield _make(THINKING_BUDGET, f"{place}: Input should be a valid integer")
    elif budget < LEAST_BUDGET:
        message = f"{place}: Input should be greater than or equal to {LEAST_BUDGET}"
        yield _make(THINKING_BUDGET, message)
    elif isinstance(limit, int) and limit <= budget and not _interleaves(request):
        message = (
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            f"documentation at {LINKED_GUIDE}#max-tokens-and-context-window-size"
        )
        yield _make(THINKING_BUDGET, message)


def _interleaves(request: HTTPRequest) -> bool:
    """Return True if the budget includes thinking between calls, and may exceed the limit."""
    headers = {} if request.sent is None else request.sent.headers
    return "interleaved-thinking" in headers.get("anthropic-beta", "")


def check_temperature(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of the temperature."""
    value = request.body["temperature"]
    if not 0 <= value <= 1:
        yield _make(OUT_OF_RANGE, "temperature: range: 0..1")
    yield from _check_sampling(request, "temperature")
    if value != 1 and _get_thinking(request) is not None:
        yield _make_sampling("`temperature` may only be set to 1 when thinking is enabled.")
    if request.body.get("top_p") is not None and _ONE_SAMPLING.match(request.model_id):
        message = (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )
        yield _make(ONE_SAMPLING, message)


def _check_sampling(request: HTTPRequest, field: str) -> Iterator[Violation]:
    """Yield the violation of a sampling parameter for a model without sampling parameters."""
    # The default is accepted.
    if request.body[field] != 1 and _ADAPTIVE.match(request.model_id):
        yield _make(MODEL_FEATURE, f"`{field}` is deprecated for this model.")


def check_top_p(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of `top_p`."""
    value = request.body["top_p"]
    if not 0 <= value <= 1:
        yield _make(OUT_OF_RANGE, "top_p: range: 0..1")
    yield from _check_sampling(request, "top_p")
    if value < 0.95 and _get_thinking(request) is not None:
        yield _make_sampling(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )


def check_top_k(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of `top_k`."""
    yield from _check_sampling(request, "top_k")
    if _get_thinking(request) is not None:
        yield _make_sampling("`top_k` must be unset when thinking is enabled.")


def _make_sampling(problem: str) -> Violation:
    message = (
        f"{problem} Please consult our documentation at {LINKED_GUIDE}"
        "#important-considerations-when-using-extended-thinking"
    )
    return _make(THINKING_SAMPLING, message)


def check_effort(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of an effort that the model does not support."""
    effort = request.body["output_config"].get("effort")
    levels = ("high", "low", "max", "medium")
    if effort is None or effort in levels or not _FOUR_EFFORTS.match(request.model_id):
        return ()
    message = (
        f"This model does not support effort level '{effort}'. Supported levels: "
        f"{', '.join(levels)}."
    )
    return (_make(MODEL_FEATURE, message),)


def check_max_tokens(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a negative limit. Zero is valid: it only fills the prompt cache."""
    if request.body["max_tokens"] >= 0:
        return ()
    return (_make(OUT_OF_RANGE, "max_tokens: Input should be greater than or equal to 0"),)


def check_stop(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a stop sequence without text."""
    if all(text.strip() for text in request.body["stop_sequences"]):
        return ()
    message = "stop_sequences: each stop sequence must contain non-whitespace"
    return (_make(EMPTY_CONTENT, message),)


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    # The installed SDK may know a newer parameter, and so may a beta.
    if has_sdk_field(name, *SDK_TYPES):
        return ()
    return (_make(UNKNOWN_PARAMETER, f"{name}: Extra inputs are not permitted"),)


FIELDS: dict[str, Check | None] = {
    **dict.fromkeys(
        (
            "anthropic_beta",
            "betas",
            "billing_policy",
            "cache_control",
            "compaction",
            "container",
            "context_management",
            "diagnostics",
            "fallback_credit_token",
            "fallbacks",
            "inference_geo",
            "mcp_servers",
            "metadata",
            "model",
            "output_format",
            "prefill",
            "service_tier",
            "speed",
            "stream",
            "system",
            "thread",
            "user_profile_id",
            "workspace_id",
        )
    ),
    "messages": check_messages,
    "max_tokens": check_max_tokens,
    "tools": make_tools_check(TOOL_TYPES),
    "tool_choice": check_tool_choice,
    "thinking": check_thinking,
    "output_config": check_effort,
    "temperature": check_temperature,
    "top_p": check_top_p,
    "top_k": check_top_k,
    "stop_sequences": check_stop,
}
"""The parameters, each with its check."""
RULES = RuleSet(FIELDS, check_unknown, always=(check_required,))


def check_vertex_model(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a model in the body, as Vertex AI requires it in the path."""
    return (_make(UNKNOWN_PARAMETER, "model: Extra inputs are not permitted"),)


VERTEX_RULES = RuleSet(
    {
        **FIELDS,
        "anthropic_version": None,
        "model": check_vertex_model,
        "tools": make_tools_check(VERTEX_TOOL_TYPES),
    },
    check_unknown,
    always=(check_required,),
)
