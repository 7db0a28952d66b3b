"""The descriptor of a provider: the differences between its API and other providers' APIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.boundaries.http.error_formats import OPENAI, ErrorFormat
from llm_mock.boundaries.http.model_formats import OPENAI_MODELS, ModelFormat

if TYPE_CHECKING:
    from llm_mock.behaviour.refusals import Refusal

SERVER_SENT_EVENTS = "text/event-stream; charset=utf-8"
"""The media type of most providers' streams."""
HeaderBuilder = Callable[[str, bool, int, int], dict[str, str]]
"""Returns headers; gets the API, whether it streams, and the numbers of input and output tokens."""


class ClientKey(NamedTuple):
    """The sources of a client's credentials. If one is set, the client gets no placeholder."""

    variables: tuple[str, ...]
    """Environment variables with credentials."""
    arguments: tuple[str, ...] = ()
    """Arguments with credentials, besides `api_key`."""
    flags: tuple[str, ...] = ()
    """Variables that, if true, make the client use another kind of credentials."""


class ServerAccess(NamedTuple):
    """The paths and variables through which other programs find the mock server."""

    prefix: str = ""
    """The first segment of the paths at the server; empty for a provider without its own paths."""
    host: str = ""
    """The host of the real API; by default the first domain of the provider."""
    base_urls: Mapping[str, str] = {}
    """Environment variables for the URL of the API, each with its path at the server."""
    optional_base_urls: Mapping[str, str] = {}
    """Variables that are replaced only if set, as they change the behaviour of some programs."""
    keys: tuple[str, ...] = ()
    """Variables with API keys, which are set to a placeholder."""
    optional_keys: tuple[str, ...] = ()
    """Additional names for `ProviderDescriptor.optional_keys`."""
    removed_keys: tuple[str, ...] = ()
    """Variables that SDKs prefer to those in `keys`."""


class ModelAPI(NamedTuple):
    """An API for calls to models that only one provider offers."""

    name: str
    """Its name in `HTTPRequest.api`, and in cassettes."""
    path: str
    """A regular expression for the path of its requests."""
    protocol: str
    """Its module in `protocols`, which also contains the parser of its responses, `READER`."""
    rules: str | None = None
    """The module in `request_rules` with the rules for the provider's own hosts."""
    is_local: bool = False
    """True for an API of programs on the application's machine, to which its rules apply, too."""


class OwnEndpoint(NamedTuple):
    """An endpoint that does not generate text, and that only one provider offers."""

    method: str
    path: str
    """A regular expression for the path of its requests."""
    handler: str
    """The function that answers it, as `module:function` of `protocols`."""
    calls_model: bool = True
    """True unless the endpoint only describes models."""


class ProviderDescriptor(NamedTuple):
    """A provider of models, and the differences between its API and OpenAI's."""

    name: str
    domains: tuple[str, ...] = ()
    """The domains of its API, each including all subdomains."""
    host_patterns: tuple[str, ...] = ()
    """Regular expressions for hosts whose names contain a region."""
    shared_hosts: tuple[tuple[str, str], ...] = ()
    """Regular expressions for hosts that also serve other content, and for their model paths."""
    base_url_variables: tuple[str, ...] = ()
    """Environment variables in which SDKs and frameworks look for the URL of its API."""
    user_agents: tuple[str, ...] = ()
    """Regular expressions for the user agents of its SDKs; they ignore case."""
    clients: Mapping[str, Mapping[str, ClientKey]] = {}
    """The clients of its SDKs that refuse to start without a key, by package and class."""
    errors: ErrorFormat = OPENAI
    """The format of its error responses."""
    models: ModelFormat | None = OPENAI_MODELS
    """The format of its models; None if the mock does not answer requests for models."""
    embedding_id: str | None = None
    """The id of its embedding responses, with the placeholder `{model}`; None for no id."""
    finish_reasons: Mapping[str, str] = {}
    """Its finish reasons, by the finish reasons of Chat Completions that differ."""
    protocols: Mapping[str, str | None] = {}
    """Its variant of a protocol, by the protocol in `routing.MODEL_PATHS`; None for no such API."""
    apis: tuple[ModelAPI, ...] = ()
    """The APIs for calls to its models, besides those in `routing.MODEL_PATHS`."""
    endpoints: tuple[OwnEndpoint, ...] = ()
    """Its other endpoints, besides those in `other_endpoints.ENDPOINTS`."""
    refusals: Mapping[str, Refusal] = {}
    """Its error responses, by kind of failure, besides those in `behaviour.refusals`."""
    reads_retry_after_ms: bool = False
    """True if its SDK reads the header `retry-after-ms` before `retry-after`."""
    stream_type: str = SERVER_SENT_EVENTS
    """The media type of its streams."""
    build_headers: HeaderBuilder | None = None
    """Returns additional headers of a response."""
    server: ServerAccess = ServerAccess()
    """The paths and variables through which other programs find the mock server."""

    @property
    def optional_keys(self) -> tuple[str, ...]:
        """Variables with keys that are replaced only if set: programs choose a provider by them."""
        names = self.server.optional_keys
        if self.shared_hosts:
            # The hosts use the same key for other content.
            return names
        return (f"{self.name.upper()}_API_KEY", *names)

    def get_finish_reason(self, reason: str) -> str:
        """Convert a finish reason of Chat Completions to this provider's."""
        return self.finish_reasons.get(reason, reason)

    def parse_finish_reason(self, reason: str) -> str | None:
        """Convert a finish reason of this provider to that of Chat Completions.

        Returns:
            The reason; None for the normal end of a reply, with or without tool calls.
        """
        names = (common for common, own in self.finish_reasons.items() if own == reason)
        reason = next(names, reason)
        return None if reason in ("stop", "tool_calls") else reason
