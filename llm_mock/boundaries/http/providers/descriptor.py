"""The descriptor of a provider: all that tells its API from those of other providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from llm_mock.boundaries.http.error_formats import OPENAI, ErrorFormat
from llm_mock.boundaries.http.model_formats import OPENAI_MODELS, ModelFormat

SERVER_SENT_EVENTS = "text/event-stream; charset=utf-8"
"""The media type of the streams of most providers."""


class ClientKey(NamedTuple):
    """The sources of a client's credentials; if one is set, the client gets no placeholder."""

    variables: tuple[str, ...]
    """Environment variables with credentials."""
    arguments: tuple[str, ...] = ()
    """Arguments with credentials, beside `api_key`."""
    flags: tuple[str, ...] = ()
    """Variables that, if true, make the client use another kind of credentials."""


class ServerAccess(NamedTuple):
    """The way in which programs outside of this process find the mock server and its keys."""

    prefix: str = ""
    """The first part of the paths at the server; empty for a provider without paths of its own."""
    host: str = ""
    """The host of the real API; by default the first domain of the provider."""
    base_urls: Mapping[str, str] = {}
    """Environment variables for the URL of the API, with the paths at the server."""
    optional_base_urls: Mapping[str, str] = {}
    """Variables that are only replaced if set: some programs behave differently with one."""
    keys: tuple[str, ...] = ()
    """Variables with API keys, which get a placeholder."""
    optional_keys: tuple[str, ...] = ()
    """Variables that are only replaced if set: programs choose a provider by them."""
    removed_keys: tuple[str, ...] = ()
    """Variables that SDKs prefer to those in `keys`."""


class ProviderDescriptor(NamedTuple):
    """A provider of models, and the differences of its API from OpenAI's."""

    name: str
    domains: tuple[str, ...] = ()
    """The domains of its API, each with all subdomains."""
    host_patterns: tuple[str, ...] = ()
    """Regular expressions for hosts whose names contain a region."""
    shared_hosts: tuple[tuple[str, str], ...] = ()
    """Regular expressions for hosts that serve other things too, and for their model paths."""
    base_url_variables: tuple[str, ...] = ()
    """Environment variables in which SDKs and frameworks look for the URL of its API."""
    user_agents: tuple[str, ...] = ()
    """Regular expressions for the user agents of its SDKs, in any case."""
    clients: Mapping[str, Mapping[str, ClientKey]] = {}
    """The clients of its SDKs that refuse to start without a key, by package and class."""
    errors: ErrorFormat = OPENAI
    """The format of its error responses."""
    models: ModelFormat = OPENAI_MODELS
    """The format of its models."""
    embedding_id: str | None = None
    """The id of its responses with embeddings, with the placeholder `{model}`; None for no id."""
    finish_reasons: Mapping[str, str] = {}
    """Its finish reasons by those of Chat Completions; others are the same."""
    protocols: Mapping[str, str | None] = {}
    """Its variant of a protocol, by the protocol of `routing.MODEL_PATHS`; None: it has none."""
    reads_retry_after_ms: bool = False
    """True if its SDK reads the header `retry-after-ms` before `retry-after`."""
    stream_type: str = SERVER_SENT_EVENTS
    """The media type of its streams."""
    build_headers: Callable[[str, bool, int, int], dict[str, str]] | None = None
    """Returns further headers for the API, whether it streams, and the tokens of the answer."""
    server: ServerAccess = ServerAccess()
    """The way in which programs find the mock server."""

    def get_finish_reason(self, reason: str) -> str:
        """Return its finish reason for one of Chat Completions."""
        return self.finish_reasons.get(reason, reason)

    def parse_finish_reason(self, reason: str) -> str | None:
        """Return the finish reason of Chat Completions for one of this provider.

        Returns:
            The reason; None for the normal end of a reply, with tool calls or without.
        """
        for common, own in self.finish_reasons.items():
            if own == reason:
                reason = common
                break
        return None if reason in ("stop", "tool_calls") else reason
