"""Find details of a reply that the called API does not support; imported only for such replies.

The values come from the SDKs' own types and from
https://ai.google.dev/gemini-api/docs/priority-inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llm_mock.boundaries.http.providers import anthropic, google
from llm_mock.boundaries.http.providers.registry import get_registry
from llm_mock.support.text import join_names

if TYPE_CHECKING:
    from llm_mock.core.reply import Reply
    from llm_mock.support.json_types import JSONObject

OPENAI_APIS = ("Chat Completions", "Responses")
"""The APIs that other providers offer, too."""
OTHER_NAMES = {"bedrock": "Bedrock", "mistral": "Mistral"}
"""The names in messages of providers with their own APIs."""
OPENAI_TIERS = ("auto", "default", "flex", "scale", "priority")
SERVICE_TIERS = {
    "Chat Completions": OPENAI_TIERS,
    "Responses": (*OPENAI_TIERS, "ultrafast"),
    "Anthropic": ("standard", "priority", "batch"),
    "Gemini": ("standard", "flex", "priority"),
    "Bedrock": (),
    "Interactions": (),
    "Mistral": ("standard", "priority"),
    "Vertex AI": (),
}
"""The service tiers of a response, by API."""


CITED_SOURCES = {
    "Chat Completions": ("url",),
    "Responses": ("url", "file_id"),
    "Anthropic": ("url", "document_index"),
    "Gemini": ("url", "file_id"),
    "Bedrock": (),
    "Cohere": ("document_index",),
    "Interactions": (),
    "Mistral": (),
    "Vertex AI": ("url", "file_id"),
}
"""The supported sources, as fields of a `Citation`, by API."""


LOGPROBS_OPTIONS = {
    "Chat Completions": "logprobs=True",
    "Cohere": "logprobs=True",
    "Responses": 'include=["message.output_text.logprobs"] or top_logprobs',
    "Gemini": "responseLogprobs",
    "Mistral": "logprobs=True",
    "Vertex AI": "responseLogprobs",
}
"""The options that ask for log probabilities, by API."""


USAGE_DETAILS = {
    "Chat Completions": ("prompt_tokens_details", "completion_tokens_details"),
    "Responses": ("input_tokens_details", "output_tokens_details"),
    "Anthropic": (
        *("cache_read_input_tokens", "cache_creation_input_tokens"),
        *anthropic.USAGE_DETAILS,
    ),
    "Gemini": google.USAGE_PARTS,
    "Vertex AI": google.USAGE_PARTS,
    "Bedrock": (
        *("cacheReadInputTokens", "cacheWriteInputTokens"),
        *("cache_read_input_tokens", "cache_creation_input_tokens"),
    ),
}
"""The supported names of usage details, by API; an API that is not listed sends any name."""


ITEM_TOOLS: dict[str, dict[str, str]] = {
    "WebSearch": {
        "Responses": "web_search",
        "Anthropic": "web_search_",
        "Gemini": "googleSearch",
        "Vertex AI": "googleSearch",
    },
    "CodeInterpreter": {
        "Responses": "code_interpreter",
        "Anthropic": "code_execution_",
        "Gemini": "codeExecution",
        "Vertex AI": "codeExecution",
    },
    "McpCall": {"Responses": "mcp", "Anthropic": "mcp_servers"},
    "FileSearch": {"Responses": "file_search", "Gemini": "fileSearch"},
    "ImageGeneration": {"Responses": "image_generation", "Gemini": "", "Vertex AI": ""},
    "Audio": {"Chat Completions": "", "Gemini": "", "Vertex AI": ""},
}
"""The prefix of the tool type that an item requires, by API; empty if it requires no tool."""


class CalledAPI(NamedTuple):
    """The properties of a request that determine which details its response may have."""

    api: str
    """The API, as in `HTTPRequest.api`."""
    provider: str | None
    host: str
    body: JSONObject
    data_tool: str | None
    """The tool that gets the reply's data as arguments, so that the response has no text."""

    @property
    def name(self) -> str:
        """The name of the API in messages and in the tables of this module."""
        if self.provider in OTHER_NAMES:
            return OTHER_NAMES[self.provider]
        if self.api in get_registry().apis:
            return str(self.provider).capitalize()
        if self.api == "generate_content":
            return "Vertex AI" if "aiplatform" in self.host else "Gemini"
        if self.api == "interactions":
            return "Interactions"
        if self.api == "messages":
            return "Anthropic"
        return "Responses" if self.api == "responses" else "Chat Completions"

    @property
    def is_openai(self) -> bool:
        """True for OpenAI itself."""
        return self.host.endswith("api.openai.com")


def find_unsupported_detail(reply: Reply, called: CalledAPI) -> str | None:
    """Return a phrase for the first unsupported detail of a reply, or None.

    Args:
        reply: the reply.
        called: the request.
    """
    return (
        _find_attachments(reply)
        or _find_unknown_usage(reply, called)
        or _find_unknown_tier(reply, called)
        or _find_unknown_source(reply, called)
        or _find_unasked_logprobs(reply, called)
        or _find_missing_text(reply, called)
        or _find_unsupported_item(reply, called)
    )


def _find_attachments(reply: Reply) -> str | None:
    # Recorded attachments are the body of a response.
    if not reply.attachments or reply.over_http() is not None:
        return None
    return (
        "has attachments, which only a call through `llm` can return. Over HTTP, use "
        "Reply(parts=[ImageGeneration(data)]), Reply(parts=[Audio(data)]) or the provider's own "
        "JSON as body."
    )


def _find_unknown_usage(reply: Reply, called: CalledAPI) -> str | None:
    known = USAGE_DETAILS.get(called.name)
    details = reply.usage_details()
    if known is None or reply.is_recorded or not isinstance(details, dict):
        return None
    # Names of other APIs are allowed beside names of this one, as a reply may serve any model.
    if not details or details.keys() & {*known}:
        return None
    names = join_names([*details])
    return (
        f"has usage details {names}, which {called.name} does not send. Use at least one of these "
        f"names: {join_names(known)}."
    )


def _find_unknown_tier(reply: Reply, called: CalledAPI) -> str | None:
    tier = reply.service_tier
    if tier is None:
        return None
    tiers = SERVICE_TIERS.get(called.name, ())
    if tier in tiers or (called.name in OPENAI_APIS and not called.is_openai):
        return None
    known = " or ".join(map(repr, tiers))
    supported = f"supports only {known}" if known else "has no service tiers"
    return f"has service_tier={tier!r}, but {called.name} {supported}."


def _find_unknown_source(reply: Reply, called: CalledAPI) -> str | None:
    known = CITED_SOURCES.get(called.name, ())
    for citation in reply.citations:
        if citation.source not in known:
            words = " or ".join(known)
            supported = f"supports only {words}" if known else "has no citations"
            return f"has a citation with {citation.source}, but {called.name} {supported}."
        if citation.document_index is not None:
            # Imported late: most answers cite web pages.
            from llm_mock.boundaries.http import cited_documents

            index, text = citation.document_index, citation.cited_text
            if called.name == "Cohere":
                problem = cited_documents.find_cohere_document_problem(called.body, index, text)
            else:
                problem = cited_documents.find_document_problem(called.body, index, text)
            if problem is not None:
                return problem
    return None


def _find_unasked_logprobs(reply: Reply, called: CalledAPI) -> str | None:
    if not reply.logprobs:
        return None
    option = LOGPROBS_OPTIONS.get(called.name)
    if option is None:
        return f"has logprobs, but {called.name} does not send any."
    body = called.body
    config = body.get("generationConfig") or {}
    included = "message.output_text.logprobs" in (body.get("include") or ())
    asked = (body.get("logprobs"), config.get("responseLogprobs"), included)
    if any(asked) or (called.name == "Responses" and body.get("top_logprobs") is not None):
        return None
    return (
        f"has logprobs, but the request to {called.name} does not ask for them. Set {option} in "
        "the request."
    )


def _find_missing_text(reply: Reply, called: CalledAPI) -> str | None:
    if called.data_tool is None or not (reply.logprobs or reply.citations):
        return None
    return (
        "has logprobs or citations, but no text: its data are the arguments of the tool "
        f"{called.data_tool!r}."
    )


def _find_unsupported_item(reply: Reply, called: CalledAPI) -> str | None:
    for part in reply.parts or ():
        name = type(part).__name__
        tools = ITEM_TOOLS.get(name)
        if tools is None:
            continue
        if called.name not in tools:
            return f"has a part {name}, which {called.name} does not support."
        problem = _find_missing_offer(part, tools[called.name], called)
        # The tools may also be part of a prompt template.
        if problem is not None and not called.body.get("prompt"):
            return f"has a part {name}, but the request {problem}."
    return None


def _find_missing_offer(part: object, tool: str, called: CalledAPI) -> str | None:
    """Return a phrase for the setting that a request lacks for an item, or None."""
    name = type(part).__name__
    if name == "Audio":
        return _find_missing_modality(called.body)
    if name == "McpCall":
        return _find_missing_server(getattr(part, "server", ""), called.body)
    if not tool or any(kind.startswith(tool) for kind in _list_tool_types(called.body)):
        return None
    return f"offers no tool {tool.rstrip('_')}"


def _find_missing_modality(body: JSONObject) -> str | None:
    config = body.get("generationConfig") or {}
    modalities = body.get("modalities") or config.get("responseModalities") or ()
    has_audio = "audio" in [str(modality).lower() for modality in modalities]
    return None if has_audio else "does not list audio in its modalities"


def _find_missing_server(server: str, body: JSONObject) -> str | None:
    servers = _list_mcp_servers(body)
    if server in servers:
        return None
    others = f"; it has {', '.join(servers)}" if servers else ""
    return f"has no MCP server {server!r}{others}"


def _list_mcp_servers(body: JSONObject) -> list[str]:
    servers = [str(server.get("name")) for server in body.get("mcp_servers") or ()]
    for tool in body.get("tools") or ():
        if tool.get("type") == "mcp":
            servers.append(str(tool.get("server_label")))
    return servers


def _list_tool_types(body: JSONObject) -> list[str]:
    """Return the types of the tools; for Gemini, these are the names of their fields."""
    tools = body.get("tools") or ()
    types: list[str] = []
    for tool in [tools] if isinstance(tools, dict) else tools:
        types += [str(tool["type"])] if "type" in tool else tool
    return types
