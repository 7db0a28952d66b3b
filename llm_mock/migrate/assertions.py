"""Rewrites the assertions of `unittest.mock` to assertions on the calls that `llm_mock` recorded."""

from __future__ import annotations

import libcst as cst

from llm_mock.migrate.doubles import PatchedGetter
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.recorded_calls import (
    ALL,
    ALL_MODELS,
    LAST_CALL,
    RECORDED,
    UNKNOWN_KEYWORDS,
    CallReader,
    get_schema_name,
)
from llm_mock.migrate.replies import model_argument
from llm_mock.migrate.syntax import code, get_arguments, get_string

NEVER = "assert_not_called"
KNOWN = (
    "assert_called",
    "assert_called_once",
    NEVER,
    "assert_called_with",
    "assert_called_once_with",
    "assert_any_call",
    "assert_has_calls",
)


def assertion_name(node: cst.BaseExpression) -> str | None:
    """The name of the assertion of a mock that an expression makes; awaits count as calls."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value.replace("awaited", "called").replace("any_await", "any_call")
        name = name.replace("assert_has_awaits", "assert_has_calls")
        return name if name in KNOWN else None
    return None


def assertions(node: cst.Call, reader: CallReader) -> list[str]:
    """The statements that say what an assertion of a mock says.

    Raises:
        CannotRewrite: there are none.
    """
    name = assertion_name(node) or ""
    owner = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    role = reader.role(reader.frame.value(owner))
    if role is None:
        raise CannotRewrite(
            f"{code(node)} asserts on something that llm_mock does not replace",
            "Assert on what the application made of the answer, or on mock_llm_calls.calls.",
            node,
        )
    kind, getter, model = role
    reader.counted = True
    if kind == "getter":
        return _of_getter(name, node, getter, reader)
    return _of_calls(name, node, reader.owner_of(getter, model), reader)


def _of_getter(name: str, node: cst.Call, getter: PatchedGetter, reader: CallReader) -> list[str]:
    plain = {
        "assert_called": f"assert {ALL_MODELS}",
        "assert_called_once": f"assert len({ALL_MODELS}) == 1",
        NEVER: f"assert not {ALL_MODELS}",
    }
    if name in plain:
        return [plain[name]]
    given = get_arguments(node)
    if given is None or len(given[0]) != 1 or given[1] or name == "assert_has_calls":
        raise CannotRewrite(
            f"{code(node)} has no counterpart of the same form",
            f"{ALL_MODELS} has the models that were asked for, {ALL}.calls every call of one.",
            node,
        )
    [argument] = given[0]
    named = get_string(argument)
    model = code(argument) if named is None else model_argument(reader.known(named, argument))
    if name == "assert_called_once_with":
        return [f"assert list({ALL_MODELS}) == [{model}]"]
    if name == "assert_any_call":
        return [f"assert {model} in {ALL_MODELS}"]
    return [f'assert {LAST_CALL}["model_id"] == {model}']


def _of_calls(name: str, node: cst.Call, owner: str, reader: CallReader) -> list[str]:
    plain = {
        "assert_called": f"assert {owner}.{'calls' if owner == ALL else 'call_history'}",
        "assert_called_once": f"{owner}.assert_called_once()",
        NEVER: f"{owner}.assert_not_called()",
    }
    if name in plain:
        return [plain[name]]
    given = get_arguments(node)
    if given is None or len(given[0]) > 1 or name not in ("assert_called_with", "assert_called_once_with"):
        raise CannotRewrite(f"{code(node)} has no counterpart of the same form", RECORDED, node)
    once = [plain["assert_called_once"]] if name == "assert_called_once_with" else []
    return once + _arguments(node, given[0], given[1], f"{owner}.last_call", reader)


def _arguments(
    node: cst.Call,
    positional: list[cst.BaseExpression],
    named: dict[str, cst.BaseExpression],
    call: str,
    reader: CallReader,
) -> list[str]:
    """Assertions that a call was given this and nothing else."""
    for value in [*positional, *named.values()]:
        if reader.left(value):
            raise CannotRewrite(f"{code(node)} names a mock", RECORDED, node)
    if unknown := [name for name in named if name in UNKNOWN_KEYWORDS]:
        raise CannotRewrite(f"{code(node)} names {unknown[0]}", RECORDED, node)
    prompt = named.pop("prompt", None) if not positional else positional[0]
    system, schema = named.pop("system", None), named.pop("schema", None)
    lines = []
    if prompt is not None and not _is_any(prompt, reader):
        lines.append(f'assert {call}["prompt"] == {code(prompt)}')
    absent = ["attachments", "tools"]
    if system is None:
        absent.append("system")
    elif not _is_any(system, reader):
        lines.append(f'assert {call}["kwargs"]["system"] == {code(system)}')
    if schema is None:
        lines.append(f'assert {call}["kwargs"]["schema"] is None')
    elif not _is_any(schema, reader):
        lines.append(f'assert {call}["kwargs"]["schema"] == {code(get_schema_name(schema))}')
    names = ", ".join(f'"{name}"' for name in sorted(absent))
    lines.append(f'assert not {{{names}}} & {call}["kwargs"].keys()')
    options = ", ".join(f'"{name}": {code(value)}' for name, value in named.items())
    lines.append(f'assert {call}["options"] == {{{options}}}')
    return lines


def _is_any(node: cst.BaseExpression, reader: CallReader) -> bool:
    return reader.frame.scope.meaning(node) in ("unittest.mock.ANY", "mock.ANY")
