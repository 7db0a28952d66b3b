"""The descriptor of a provider: all that tells its API from those of other providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.boundaries.http.error_formats import OPENAI, ErrorFormat
from llm_mock.boundaries.http.model_formats import OPENAI_MODELS, ModelFormat

if TYPE_CHECKING:
    from llm_mock.behaviour.refusals import Refusal

SERVER_SENT_EVENTS = "text/event-stream; charset=utf-8"
"""The media type of the streams of most providers."""
HeaderBuilder = Callable[[str, bool, int, int], dict[str, str]]
"""Returns headers for the API, whether it streams, and the tokens of request and answer."""


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
    """Those of `ProviderDescriptor.optional_keys` that are not named after the provider."""
    removed_keys: tuple[str, ...] = ()
    """Variables that SDKs prefer to those in `keys`."""


class ModelAPI(NamedTuple):
    """An API that calls a model, and that no other provider has."""

    name: str
    """Its name in `HTTPRequest.api`, and in cassettes."""
    path: str
    """A regular expression for the path of its requests."""
    protocol: str
    """Its module in `protocols`, which has the parser of its responses, too, as `READER`."""
    rules: str | None = None
    """The module in `request_rules` with the rules of the provider's own hosts."""
    is_local: bool = False
    """True for an API of programs on the application's machine, where its rules hold, too."""


class OwnEndpoint(NamedTuple):
    """An endpoint that does not generate text, and that no other provider has."""

    method: str
    path: str
    """A regular expression for the path of its requests."""
    handler: str
    """The function that answers it, as `module:function` of `protocols`."""
    calls_model: bool = True
    """False for an endpoint that only describes models."""


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
    models: ModelFormat | None = OPENAI_MODELS
    """The format of its models; None: they are not answered."""
    embedding_id: str | None = None
    """The id of its responses with embeddings, with the placeholder `{model}`; None for no id."""
    finish_reasons: Mapping[str, str] = {}
    """Its finish reasons by those of Chat Completions; others are the same."""
    protocols: Mapping[str, str | None] = {}
    """Its variant of a protocol, by the protocol of `routing.MODEL_PATHS`; None: it has none."""
    apis: tuple[ModelAPI, ...] = ()
    """The APIs that call its models, beside those of `routing.MODEL_PATHS`."""
    endpoints: tuple[OwnEndpoint, ...] = ()
    """Its other endpoints, beside those of `other_endpoints.ENDPOINTS`."""
    refusals: Mapping[str, Refusal] = {}
    """Its error responses by kind of failure, beside those of `behaviour.refusals`."""
    reads_retry_after_ms: bool = False
    """True if its SDK reads the header `retry-after-ms` before `retry-after`."""
    stream_type: str = SERVER_SENT_EVENTS
    """The media type of its streams."""
    build_headers: HeaderBuilder | None = None
    """Returns further headers of an answer."""
    server: ServerAccess = ServerAccess()
    """The way in which programs find the mock server."""

    @property
    def optional_keys(self) -> tuple[str, ...]:
        """Variables with keys that are only replaced if set: programs choose a provider by them."""
        names = self.server.optional_keys
        if self.shared_hosts:
            # The key is also that of the other things.
            return names
        return (f"{self.name.upper()}_API_KEY", *names)

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
