"""Settings of a mock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from llm_mock.support.strictness import Strictness

ACCEPT_EVERY_CALL = "mock_llm_responses.autospec(False)"
"""The statement with which a test lets registered models accept every call."""


class Settings(NamedTuple):
    """The settings of a project for all its mocks; the configuration of a test is a `Script`."""

    lazy: bool = False
    """Answer a call when its response is read, not in `prompt()`."""
    strict: Strictness | None = "warn"
    """The reaction to a call that no configured reply matches.

    None means `error` for calls over HTTP, and `warn` for models of `llm`, because the first
    specification promises a default reply for them.
    """
    schema_check: Strictness = "warn"
    """The reaction to a scripted reply that breaks the schema."""
    autospec: bool = False
    """Refuse the requests that the real models and their providers would refuse."""
    disabled_rules: frozenset[str] = frozenset()
    """The disabled rules of providers; see `boundaries/http/request_rules`."""
    known_models_only: bool = False
    """Refuse unknown models and the execution of real models.

    A model is known if a plugin registers it or a test configures it.
    """
    strict_setting: tuple[str, str] = ("llm_mock_strict", "error")
    """The ini key that sets `known_models_only`, and its value."""
    generate: bool = False
    """Generate an answer to a call with a schema if no configured reply matches."""
    raw_json: bool = False
    """Let `response.json()` return the provider's payload, as in production, not the data."""
    has_quoted_ini: bool = False
    """Whether the project's configuration file is TOML, where values need quotes."""
    prices: tuple[Any, ...] = ()
    """The prices of models that the project sets; see `llm_mock.cost`."""
    missing_reply_advice: str | None = None
    """The fix in the message about a call without a reply; None for the usual fix in a test."""
    method_place: str = ""
    """Where users call the methods of the mock that messages name; empty in a test."""
    unused_reply_advice: str = (
        "Remove the reply, correct its conditions, or pass optional=True if the reply may stay "
        "unused."
    )
    """The fix in the message about an unused reply."""

    def format_ini(self, key: str, value: str) -> str:
        """Return an ini key with its value in the syntax of the project's configuration file."""
        return format_ini(key, value, self.has_quoted_ini)


def format_ini(key: str, value: str, is_quoted: bool) -> str:
    """Return an ini key with its value; with quotes for TOML."""
    written = value
    if is_quoted:
        written = f'"{value}"'
    return f"{key} = {written}"
