"""What an agent is: a model, its tool servers, a skill and a prompt. Nothing is started or called here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, cast

from llm_mock.agents.servers import CLIServer, Configuration, MCPServer, Server, Variables
from llm_mock.agents.skill import Skill
from llm_mock.errors import InvalidAgent
from llm_mock.support.numbers import LONGEST, is_number, is_whole
from llm_mock.support.redaction import Redactor
from llm_mock.support.text import shorten, suggestion

__tracebackhide__ = True  # of the `__init__` that `dataclass` writes, too
RETRIES = 3
MAX_TURNS = 10


class Options(Variables):
    """Options of a model: an immutable mapping, whose values need not be texts."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(Redactor().clean(dict(self)))


@dataclass(frozen=True, repr=False)
class Provider:
    """Which model an agent asks, and how.

    Raises:
        InvalidAgent: a value makes no sense.
    """

    model: str
    """Any model id or alias that `llm` knows; under the mock any name at all."""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Options of the model, such as `{"temperature": 0}`."""
    key: str | None = None
    """The API key, or the name under which `llm` has it stored; None is the model's usual one. Not in the repr."""
    retries: int = RETRIES
    """How often a turn is asked for again after a rate limit (429), a connection error or a server error (5xx)."""
    temperature: float | None = None
    """The option `temperature`, for models that have it."""
    requests_per_minute: int | None = None
    """How often the model is asked in a minute, where it is live: every turn and every retry is a request."""
    tokens_per_minute: int | None = None
    """After how many tokens in a minute, input and output, a live model is asked no more until some time has passed."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise _bad_value("Provider", "model", self.model, "the id of a model")
        if not isinstance(self.options, Mapping):
            raise _bad_value("Provider", "options", self.options, "a mapping")
        _check_number("Provider", "retries", self.retries, 0)
        for limit in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, limit) is not None:
                _check_number("Provider", limit, getattr(self, limit), 1)
        object.__setattr__(self, "options", Options(self.options))
        if self.temperature is not None:
            if not is_number(self.temperature):
                raise _bad_value("Provider", "temperature", self.temperature, "a number from 0")
            if "temperature" in self.options:
                raise InvalidAgent("Provider(…) has temperature and options['temperature']: give one of the two.")

    @property
    def all_options(self) -> dict[str, Any]:
        """The options, `temperature` among them."""
        return {**self.options, **({} if self.temperature is None else {"temperature": self.temperature})}

    def __repr__(self) -> str:
        shown = f", options={self.options!r}" if self.options else ""
        shown += f", retries={self.retries}" if self.retries != RETRIES else ""
        for name in ("temperature", "requests_per_minute", "tokens_per_minute"):
            shown += f", {name}={value}" if (value := getattr(self, name)) is not None else ""
        return f"Provider({self.model!r}{shown})"

    llm_mock_id = property(attrgetter("model"), doc="How a parameter of a pytest test is named.")


@dataclass(frozen=True, repr=False)
class Agent(Configuration):
    """A model with tools and instructions. Equal by value; nothing runs before `aitest_run`.

    Raises:
        InvalidAgent: a value makes no sense.
    """

    provider: Provider | str
    """The model; a string is `Provider(model=…)`."""
    mcp_servers: Sequence[MCPServer] = ()
    cli_servers: Sequence[CLIServer] = ()
    skill: Skill | None = None
    """Put before the system prompt."""
    system_prompt: str | None = None
    max_turns: int = MAX_TURNS
    """How many answers the model may give in a run, from 1. One that still calls tools in its last fails the run."""
    name: str | None = None
    """What reports and the ids of tests call the agent; by default its model and skill."""
    timeout: float | None = None
    """Seconds that a run may take, the start of its servers not included; one that takes longer fails. An asynchronous
    model is interrupted; a synchronous one ends with the next part of its answer, or by the timeout of its library."""

    def __post_init__(self) -> None:
        if isinstance(self.provider, str):
            object.__setattr__(self, "provider", Provider(self.provider))
        if not isinstance(self.provider, Provider):
            raise _bad_value("Agent", "provider", self.provider, "a Provider or a model id")
        for name, kind in (("mcp_servers", MCPServer), ("cli_servers", CLIServer)):
            object.__setattr__(self, name, _all_of(kind, name, getattr(self, name)))
        if not isinstance(self.skill, (Skill, type(None))):
            raise _bad_value("Agent", "skill", self.skill, "a Skill (Skill.from_path(…))")
        if not isinstance(self.system_prompt, (str, type(None))):
            raise _bad_value("Agent", "system_prompt", self.system_prompt, "a text")
        _check_number("Agent", "max_turns", self.max_turns, 1)
        if self.timeout is not None and not (is_number(self.timeout, most=LONGEST) and self.timeout):
            raise _bad_value("Agent", "timeout", self.timeout, "a number of seconds above 0")

    def with_changes(self, **changes: Any) -> Agent:
        """A copy of the agent, in which some fields of it or of its provider have other values.

        Args:
            changes: the values, such as `model="gpt-5"`, `temperature=0` or `skill=None`.

        Raises:
            InvalidAgent: there is no such field, or a value makes no sense.
        """
        __tracebackhide__ = True
        own, of_provider = ({each.name for each in fields(kind)} for kind in (Agent, Provider))
        if unknown := [name for name in changes if name not in own | of_provider]:
            known = suggestion(unknown[0], sorted(own | of_provider))
            raise InvalidAgent(f"Neither an Agent nor a Provider has a field {unknown[0]!r}{known}")
        provider = changes.pop("provider", self.provider)
        asked = Provider(provider) if isinstance(provider, str) else provider
        if asks := {name: changes.pop(name) for name in of_provider & changes.keys()}:
            asked = replace(asked, **asks)
        return replace(self, provider=asked, **changes)

    @property
    def label(self) -> str:
        """What reports call the agent."""
        skill = f"+{self.skill.name}" if self.skill else ""
        return self.name or f"{self.asks.model}{skill}"

    llm_mock_id = label

    @property
    def parts(self) -> dict[str, str]:
        """What tells the agent from others in a comparison, besides its model: texts by the names of its parts."""
        options = self.asks.all_options
        parts = {
            "options": ", ".join(f"{name} {shorten(value)}" for name, value in options.items()),
            "prompt": self.system_prompt,
            **(self.skill.parts if self.skill else {}),
            "servers": ", ".join(server.label for server in self.servers),
            "max_turns": str(self.max_turns),
            "configuration": ", ".join(map(repr, self.servers)),
        }
        return {name: text for name, text in parts.items() if text}

    @property
    def asks(self) -> Provider:
        """The provider, which may have been given as a string."""
        return cast("Provider", self.provider)

    @property
    def servers(self) -> list[Server]:
        """All servers, in order."""
        return [*self.mcp_servers, *self.cli_servers]

    @property
    def system(self) -> str | None:
        """What the model is told first: the skill, then the system prompt."""
        parts = (self.skill.content if self.skill else None, self.system_prompt)
        return "\n\n".join(filter(None, parts)) or None


def _all_of(kind: type, name: str, given: Any) -> tuple[Any, ...]:
    listed = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    for server in (given,) if listed is None else listed:
        if listed is None or not isinstance(server, kind):
            raise _bad_value("Agent", name, server, f"a list of {kind.__name__}")
    return listed or ()


def _check_number(owner: str, name: str, value: Any, least: int) -> None:
    if not is_whole(value, least):
        raise _bad_value(owner, name, value, f"a whole number from {least}")


def _bad_value(owner: str, name: str, value: Any, wanted: str) -> InvalidAgent:
    shown = shorten(value) if isinstance(value, (str, int, float, list, dict)) else f"of type {type(value).__name__}"
    return InvalidAgent(f"{name} of {owner}(…) is {shown}; give {wanted}.")
