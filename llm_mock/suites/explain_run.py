"""The wording of every message about roles and about running a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import dollars, nearest, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.suites.schema import TestCase


# --- Role files -----------------------------------------------------------------------------------------------------


def no_role(data: Any) -> str:
    """The file holds something else than keys and values."""
    held = "is empty" if data is None else f"holds a {'list' if isinstance(data, list) else 'single value'}"
    return f"the file {held}; a role has the keys apiVersion, kind, metadata and spec"


def other_kind(kind: Any) -> str:
    """The file is of another kind."""
    if kind == "TestSuite":
        return "this is a suite (kind: TestSuite), not a role (kind: Agent)"
    return f"kind is {shorten(kind)}; a role has kind: Agent"


def missing_key(key: str, owner: str, near: str | None, line: int) -> str:
    """A key that a role must have."""
    where = f" in {owner}" if owner else ""
    return f"{key!r} is missing{where}" + (f"; did you mean it by {shorten(near)} (line {line})?" if near else "")


def ignored_key(owner: str, key: str, line: int, known: Iterable[str]) -> str:
    """A key that has no effect here, and where it is."""
    near = nearest(key, [name for name in known if name != key])
    return f"{owner}{'.' if owner else ''}{shorten_name(key)} (line {line}{near})"


def ignored_tool(owner: str, kind: str, line: int) -> str:
    """A tool of a type that is not run here."""
    return f"{owner} of type {shorten_name(kind)} (line {line})"


def ignored_keys(path: object, keys: Sequence[str]) -> str:
    """The warning that names all of them."""
    return f"{path}: ignored, as this has no effect here: {', '.join(keys)}."


def option_unknown(name: str, model: str) -> str:
    """An option that the model of a role does not have."""
    return f"spec.model.{name} (the model {shorten_name(model)} has no such option)"


def no_model_shape() -> str:
    """The model of a role is neither a text nor a mapping."""
    return "give the id of a model, or a mapping with provider and name"


def no_tool_shape() -> str:
    """A tool of a role is no mapping."""
    return "a tool is a mapping that has a type"


def transport_unsupported(transport: str) -> str:
    """An MCP transport that is not spoken."""
    instead = "write transport: streamable-http" if transport == "sse" else "write stdio or streamable-http"
    return f"the transport {shorten(transport)} is not supported; {instead}"


def needs_command() -> str:
    """A stdio server without a command."""
    return "a tool of type mcp needs a 'command' (or transport: streamable-http and a 'url')"


def needs_url() -> str:
    """A server over HTTP without an address."""
    return "a tool of type mcp with transport: streamable-http needs a 'url'"


def needs_name_and_command() -> str:
    """A command-line tool without its name or its command."""
    return "a tool of type cli needs a 'name' and a 'command'"


def exclusion_unsupported() -> str:
    """Tools that the role must not have would be offered."""
    return "tool_exclude is not supported, and without it the tools would be offered; name the others in tool_filter"


def no_skill(path: object) -> str:
    """The skill of a role is not there."""
    return f"there is no skill at {str(path)!r}: give the folder of one, or its SKILL.md, relative to the role"


def unknown_model(tried: Sequence[str], near: Sequence[str], plugin: str | None) -> str:
    """`llm` has none of the models that a role can mean."""
    asked = " or ".join(map(shorten, tried))
    names = f". Near are: {', '.join(map(shorten_name, near))}" if near else ". `llm models` lists those that it knows"
    install = f". The plugin for it is installed by: llm install {plugin}" if plugin else ""
    return f"llm knows no model {asked}{names}{install}"


# --- Runs -----------------------------------------------------------------------------------------------------------


def bad_number(name: str, value: Any, wanted: str) -> str:
    """An argument that makes no sense."""
    return f"{name} is {shorten(value)}; give {wanted}."


def unknown_to_llm(message: str) -> str:
    """The model of an agent is unknown."""
    return f"{message}. `llm models` lists those that llm knows; `llm install` adds the models of a plugin."


def limit_without_price(model: str) -> str:
    """A limit that cannot be checked."""
    return (
        f"max_cost cannot be checked: the price of the model {shorten_name(model)!r} is not known. "
        "Leave the limit out, or choose a model whose price is known."
    )


def stopped_at_cost(cost: Decimal, limit: Decimal) -> str:
    """No further case is run."""
    return f"the cases cost {dollars(cost)}, and max_cost is {dollars(limit)}"


def stopped_without_price(case: TestCase) -> str:
    """No further case is run."""
    return f"what the case {shorten(case.name)} cost is not known, so max_cost cannot be checked"
