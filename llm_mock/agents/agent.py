"""Define agents: a model, tool servers, a skill and a prompt. Nothing runs here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, cast

from llm_mock.agents.servers import CLIServer, Configuration, MCPServer, RedactedMapping, Server
from llm_mock.agents.skill import Skill
from llm_mock.errors import InvalidAgent
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import LONGEST, is_number, is_whole
from llm_mock.support.redaction import Redactor
from llm_mock.support.text import shorten, shorten_name, suggest_name

# Hides this module in pytest's tracebacks. At module level, as `dataclass` writes `__init__`.
__tracebackhide__ = True
RETRIES = 3
MAX_TURNS = 10
SHOWN_CHANGE = 30
"""The maximum length of a changed value in a test id."""


class ModelOptions(RedactedMapping):
    """The options of a model: an immutable mapping whose values may have any type."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(Redactor().clean(dict(self)))


@dataclass(frozen=True, repr=False)
class Provider:
    """The model of an agent, with options, retries and rate limits.

    Raises:
        InvalidAgent: a value is invalid.
    """

    model: str
    """A model id or alias that `llm` knows. With the mock, any name works."""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Options of the model, such as `{"temperature": 0}`."""
    key: str | None = None
    """The API key, or the name under which `llm` stores it. None uses the model's usual key.

    The repr does not show it."""
    retries: int = RETRIES
    """The maximum number of retries per turn.

    A turn is retried after a rate limit (429), a connection error or a server error (5xx)."""
    temperature: float | None = None
    """The `temperature` option, for models that support it."""
    requests_per_minute: int | None = None
    """The maximum number of requests per minute to a live model. Retries count too."""
    tokens_per_minute: int | None = None
    """The maximum number of input and output tokens per minute.

    A request to a live model waits while the limit is reached."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise _new_bad_value("Provider", "model", self.model, "a model id")
        if not isinstance(self.options, Mapping):
            raise _new_bad_value("Provider", "options", self.options, "a mapping")
        _check_number("Provider", "retries", self.retries, 0)
        for name in ("requests_per_minute", "tokens_per_minute"):
            limit = getattr(self, name)
            if limit is not None:
                _check_number("Provider", name, limit, 1)
        # A frozen dataclass refuses plain assignments.
        object.__setattr__(self, "options", ModelOptions(self.options))
        if self.temperature is None:
            return
        if not is_number(self.temperature):
            raise _new_bad_value("Provider", "temperature", self.temperature, "a number from 0")
        if "temperature" in self.options:
            raise InvalidAgent(
                "Provider(…) has both temperature and options['temperature']. Pass only one."
            )

    @property
    def has_rate_limits(self) -> bool:
        """True if requests or tokens per minute are limited."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None

    @cached_property
    def all_options(self) -> JSONObject:
        """The options, including `temperature`."""
        options = dict(self.options)
        if self.temperature is not None:
            options["temperature"] = self.temperature
        return options

    def __repr__(self) -> str:
        arguments = [repr(self.model)]
        if self.options:
            arguments.append(f"options={self.options!r}")
        if self.retries != RETRIES:
            arguments.append(f"retries={self.retries}")
        for name in ("temperature", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None:
                arguments.append(f"{name}={value}")
        return f"Provider({', '.join(arguments)})"

    llm_mock_id = property(attrgetter("model"), doc="The id of a pytest parameter.")


@dataclass(frozen=True, repr=False)
class Agent(Configuration):
    """A model with tools and instructions, for `aitest_run`.

    Agents with equal fields are equal.

    Raises:
        InvalidAgent: a value is invalid.
    """

    provider: Provider | str
    """The model. A string is short for `Provider(model=…)`."""
    mcp_servers: Sequence[MCPServer] = ()
    cli_servers: Sequence[CLIServer] = ()
    skill: Skill | None = None
    """The skill. Its instructions are put before the system prompt."""
    system_prompt: str | None = None
    max_turns: int = MAX_TURNS
    """The maximum number of model responses in a run, at least 1.

    The run fails if the last response still calls tools."""
    name: str | None = None
    """The name in reports and test ids. The default is made of the model and the skill."""
    timeout: float | None = None
    """The maximum duration of a run in seconds. A longer run fails.

    The start of the servers does not count. An asynchronous model is interrupted. A synchronous
    model stops at the next chunk of its response, or when its own library times out."""
    # Not a field, so that it does not affect equality.
    _changes: ClassVar[Mapping[str, object]] = {}
    """The differences from the original agent, set by `with_changes`."""

    def __post_init__(self) -> None:
        if isinstance(self.provider, str):
            object.__setattr__(self, "provider", Provider(self.provider))
        if not isinstance(self.provider, Provider):
            raise _new_bad_value("Agent", "provider", self.provider, "a Provider or a model id")
        for name, server_type, example in (
            ("mcp_servers", MCPServer, 'MCPServer("python server.py")'),
            ("cli_servers", CLIServer, 'CLIServer("git", command="git")'),
        ):
            servers = _convert_servers(server_type, example, name, getattr(self, name))
            object.__setattr__(self, name, servers)
        if not isinstance(self.skill, (Skill, type(None))):
            raise _new_bad_value("Agent", "skill", self.skill, "a Skill (Skill.from_path(…))")
        if not isinstance(self.system_prompt, (str, type(None))):
            raise _new_bad_value("Agent", "system_prompt", self.system_prompt, "a string")
        _check_number("Agent", "max_turns", self.max_turns, 1)
        if self.timeout is None:
            return
        if not is_number(self.timeout, most=LONGEST) or not self.timeout:
            raise _new_bad_value("Agent", "timeout", self.timeout, "a number of seconds above 0")

    def with_changes(self, **changes: Any) -> Agent:
        """Return a copy of the agent with changed fields of the agent or of its provider.

        Args:
            changes: the new values, such as `model="gpt-5"`, `temperature=0` or `skill=None`.

        Raises:
            InvalidAgent: a field does not exist, or a value is invalid.
        """
        __tracebackhide__ = True
        agent_fields = {each.name for each in fields(Agent)}
        provider_fields = {each.name for each in fields(Provider)}
        for name in changes:
            if name not in agent_fields | provider_fields:
                hint = suggest_name(name, sorted(agent_fields | provider_fields))
                raise InvalidAgent(f"Neither an Agent nor a Provider has a field {name!r}{hint}")
        # A new name replaces the changes in test ids.
        known_changes = {} if "name" in changes else {**self._changes, **changes}
        provider = changes.pop("provider", self.provider)
        provider_changes = {name: changes.pop(name) for name in provider_fields & changes.keys()}
        if provider_changes:
            if isinstance(provider, str):
                provider = Provider(provider)
            provider = replace(provider, **provider_changes)
        changed = replace(self, provider=provider, **changes)
        vars(changed)["_changes"] = known_changes
        return changed

    # The properties below are cached, because each run reads them and an agent is immutable.
    @cached_property
    def label(self) -> str:
        """The name in reports."""
        if self.name:
            return self.name
        model = self.asks.model
        if self.skill:
            return f"{model}+{self.skill.name}"
        return model

    @property
    def llm_mock_id(self) -> str:
        """The id of a pytest parameter: the label and the changes made by `with_changes`."""
        texts = [self.label]
        for name, value in self._changes.items():
            is_in_label = not self.name and name in ("provider", "model", "skill")
            if not is_in_label and name != "key":
                texts.append(f"{name}={_describe_change(value)}")
        return ", ".join(texts)

    @cached_property
    def parts(self) -> dict[str, str]:
        """The configuration except the model, as strings by name, to compare agents."""
        options = []
        for name, value in self.asks.all_options.items():
            options.append(f"{name} {shorten(value)}")
        parts = {
            "options": ", ".join(options),
            "prompt": self.system_prompt,
        }
        if self.skill:
            parts |= self.skill.parts
        parts["servers"] = ", ".join(server.label for server in self.servers)
        parts["max_turns"] = str(self.max_turns)
        parts["configuration"] = ", ".join(map(repr, self.servers))
        return {name: text for name, text in parts.items() if text}

    @cached_property
    def asks(self) -> Provider:
        """The provider as an object, even if it was passed as a string."""
        return cast("Provider", self.provider)

    @cached_property
    def servers(self) -> tuple[Server, ...]:
        """All servers, in order."""
        return (*self.mcp_servers, *self.cli_servers)

    @cached_property
    def system(self) -> str | None:
        """The whole system prompt: the skill, then the agent's own."""
        parts = [self.skill.content if self.skill else None, self.system_prompt]
        return "\n\n".join(filter(None, parts)) or None


def _describe_change(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        # Options may hold a secret.
        return repr(ModelOptions(value))
    if isinstance(value, (list, tuple)):
        return "+".join(map(_describe_change, value)) or "none"
    name = getattr(value, "llm_mock_id", None) or getattr(value, "label", None)
    return shorten_name(str(name or value), SHOWN_CHANGE)


def _convert_servers(server_type: type, example: str, name: str, given: object) -> tuple[Any, ...]:
    expected = f"a list of {server_type.__name__}, such as [{example}]"
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise _new_bad_value("Agent", name, given, expected)
    servers = tuple(given)
    for server in servers:
        if not isinstance(server, server_type):
            raise _new_bad_value("Agent", name, server, expected)
    return servers


def _check_number(owner: str, name: str, value: object, least: int) -> None:
    if not is_whole(value, least):
        raise _new_bad_value(owner, name, value, f"a whole number from {least}")


def _new_bad_value(owner: str, name: str, value: object, expected: str) -> InvalidAgent:
    # The repr of other objects may be long or contain secrets.
    if isinstance(value, (str, int, float, list, dict)):
        given = shorten(value)
    else:
        given = f"of type {type(value).__name__}"
    return InvalidAgent(f"{name} of {owner}(…) is {given}; pass {expected}.")
