"""Rewrite assertions of `unittest.mock` into assertions on recorded calls."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.recorded_calls import (
    ADDED_ARGUMENT,
    GOOGLE_ARGUMENTS,
    REQUESTS,
    SEE_CALLS,
    SEE_REQUESTS,
    UNSUPPORTED_KEYWORDS,
    CallReader,
    MockRole,
    format_history,
    format_system,
    get_schema_name,
    new_google_problem,
    new_litellm_problem,
    new_no_equivalent,
    refuse_client_option,
)
from llm_mock.migrate.sdk_clients import EMBEDDINGS, GOOGLE, LITELLM, MISTRAL
from llm_mock.migrate.syntax import Arguments, get_arguments, get_string, to_source
from llm_mock.migrate.targets import LIBRARY

ASSERTIONS = (
    "assert_called",
    "assert_called_once",
    "assert_not_called",
    "assert_called_with",
    "assert_called_once_with",
    "assert_any_call",
    "assert_has_calls",
)
_ADDED = {EMBEDDINGS: (ADDED_ARGUMENT, '"base64"'), MISTRAL: ("stream", "False")}
"""The argument that an SDK itself adds to a request, and the source of its value."""


def get_assertion_name(node: cst.BaseExpression) -> str | None:
    """Return the name of the mock assertion that an expression calls, or None.

    Assertions on awaits count as those on calls.
    """
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    name = node.func.attr.value
    name = name.replace("awaited", "called").replace("any_await", "any_call")
    name = name.replace("assert_has_awaits", "assert_has_calls")
    return name if name in ASSERTIONS else None


def convert_assertion(node: cst.Call, reader: CallReader) -> list[str]:
    """Return the statements that assert the same as a mock assertion.

    Raises:
        CannotRewrite: llm_mock does not replace the object.
    """
    name = get_assertion_name(node) or ""
    if isinstance(node.func, cst.Attribute):
        owner = node.func.value
    else:
        owner = node.func
    double = reader.table.evaluate(owner)
    role = reader.find_role(double)
    if role is None:
        reader.table.check_class(double)
        advice = "Assert on the result of the application, or on mock_llm_calls.calls."
        raise CannotRewrite(
            f"{to_source(node)} asserts on an object that llm_mock does not replace",
            reader.get_advice(double, advice),
            node,
        )
    reader.add_assertion(name, double, node)
    if role.is_getter:
        reader.check_only_getter(role, node)
        return [_convert_getter_assertion(name, node, role, reader)]
    call_owner = reader.find_call_owner(role)
    without_arguments = {
        "assert_called": f"assert {format_history(call_owner)}",
        "assert_called_once": f"{call_owner}.assert_called_once()",
        "assert_not_called": f"{call_owner}.assert_not_called()",
    }
    if name in without_arguments:
        return [without_arguments[name]]
    if role.sdk == LITELLM:
        raise new_litellm_problem(node)
    if role.sdk:
        statements = _convert_sdk_assertion(
            name,
            node,
            call_owner,
            reader,
            role.sdk,
        )
    else:
        statements = _convert_call_assertion(name, node, call_owner, reader)
    if name == "assert_called_once_with":
        statements.insert(0, without_arguments["assert_called_once"])
    return statements


def _convert_getter_assertion(
    name: str,
    node: cst.Call,
    role: MockRole,
    reader: CallReader,
) -> str:
    without_arguments = {
        "assert_called": f"assert {REQUESTS}",
        "assert_called_once": f"assert len({REQUESTS}) == 1",
        "assert_not_called": f"assert not {REQUESTS}",
    }
    if name in without_arguments:
        return without_arguments[name]
    arguments = get_arguments(node)
    if arguments is None or name == "assert_has_calls":
        raise new_no_equivalent(node, SEE_REQUESTS)
    positional, keywords = arguments
    if len(positional) > 1 or keywords:
        raise new_no_equivalent(node, SEE_REQUESTS)
    model = _format_model(positional, node, reader)
    if name == "assert_any_call":
        return f"assert {model} in {REQUESTS}"
    if name == "assert_called_with":
        return f"assert {REQUESTS}[-1:] == [{model}]"
    # The other assertions say nothing about further models.
    model_name = get_string(positional[0]) if positional else None
    if model_name is not None:
        asserted = reader.asserted_models.setdefault(role.getter.target, [])
        asserted.append(model_name)
    return f"assert {REQUESTS} == [{model}]"


def _format_model(
    positional: Sequence[cst.BaseExpression],
    node: cst.Call,
    reader: CallReader,
) -> str:
    """Return the source of the model name that an assertion on `get_model` has."""
    if positional:
        return to_source(positional[0])
    # llm looks up its default model if the application passes no name.
    library = reader.table.scope.name_library(LIBRARY, node)
    return f"{library}.get_default_model()"


def _convert_sdk_assertion(
    name: str,
    node: cst.Call,
    owner: str,
    reader: CallReader,
    sdk: str,
) -> list[str]:
    """Return the statements that assert the whole body of a request."""
    if sdk == GOOGLE:
        return _convert_google_assertion(name, node, owner, reader)
    arguments = get_arguments(node)
    if arguments is None or arguments[0] or name == "assert_has_calls":
        raise new_no_equivalent(node)
    _refuse_mocks(arguments, node, reader)
    items = []
    for keyword, value in arguments[1].items():
        refuse_client_option(keyword, node)
        items.append(f'"{keyword}": {to_source(value)}')
    added, constant = _ADDED.get(sdk, ("", ""))
    if added and added not in arguments[1]:
        items.append(f'"{added}": {constant}')
    body = _format_dict(items, node)
    if name == "assert_any_call":
        return [f"assert {body} in [call.request.body for call in {format_history(owner)}]"]
    return [f"assert {owner}.last_call.request.body == {body}"]


def _format_dict(items: Sequence[str], node: cst.Call) -> str:
    """Return the source of a dict, with a line for each item if the old assertion has several."""
    source = to_source(node)
    if "\n" not in source:
        joined = ", ".join(items)
        return f"{{{joined}}}"
    lines = [f"    {item}," for item in items]
    body = "\n".join(lines)
    return f"{{\n{body}\n}}"


def _convert_google_assertion(
    name: str,
    node: cst.Call,
    owner: str,
    reader: CallReader,
) -> list[str]:
    """Return the statements that assert the model and the prompt of a request."""
    arguments = get_arguments(node)
    if arguments is None or arguments[0] or name in ("assert_any_call", "assert_has_calls"):
        raise new_no_equivalent(node)
    _refuse_mocks(arguments, node, reader)
    statements = []
    for keyword, value in arguments[1].items():
        if keyword not in GOOGLE_ARGUMENTS:
            raise new_google_problem(keyword, node)
        source = to_source(value)
        statements.append(f"assert {owner}.last_call.{GOOGLE_ARGUMENTS[keyword]} == {source}")
    return statements


def _convert_call_assertion(
    name: str,
    node: cst.Call,
    owner: str,
    reader: CallReader,
) -> list[str]:
    arguments = get_arguments(node)
    # Without a prompt, a call that has one would pass.
    if arguments is None or len(arguments[0]) + ("prompt" in arguments[1]) != 1:
        raise new_no_equivalent(node)
    if name not in ("assert_called_with", "assert_called_once_with"):
        raise new_no_equivalent(node)
    return _convert_arguments(node, arguments, f"{owner}.last_call", reader)


def _convert_arguments(
    node: cst.Call,
    arguments: Arguments,
    call: str,
    reader: CallReader,
) -> list[str]:
    """Return assertions that a call had these arguments and no others."""
    _check_arguments(node, arguments, reader)
    positional, options = arguments
    prompt = positional[0] if positional else options.pop("prompt")
    system = _pop_given(options, "system")
    schema = _pop_given(options, "schema")
    is_unstreamed = options.pop("stream", None) is not None
    kwargs = f'{call}["kwargs"]'
    statements = []
    if not _is_any(prompt, reader):
        text = to_source(prompt)
        statements.append(f'assert {call}["prompt"] == {text}')
    if system is not None:
        # `ANY` stays: it equals any text, and the call must have one.
        text = format_system(system, reader.table)
        statements.append(f'assert {kwargs}["system"] == {text}')
    if schema is None:
        # A record always has a schema, if only None.
        statements.append(f'assert {kwargs}["schema"] is None')
    elif _is_any(schema, reader):
        statements.append(f'assert {kwargs}["schema"] is not None')
    else:
        name = to_source(get_schema_name(schema))
        statements.append(f'assert {kwargs}["schema"] == {name}')
    # A record has the other keys only if the call had them.
    absent = ['"attachments"', '"tools"']
    if system is None:
        absent.insert(1, '"system"')
    absent_keys = ", ".join(absent)
    statements.append(f"assert not {{{absent_keys}}} & {kwargs}.keys()")
    if is_unstreamed:
        statements.append(f"assert {call}.stream is False")
    items = []
    for name, value in options.items():
        text = to_source(value)
        items.append(f'"{name}": {text}')
    checked_options = ", ".join(items)
    statements.append(f'assert {call}["options"] == {{{checked_options}}}')
    return statements


def _pop_given(
    options: dict[str, cst.BaseExpression],
    name: str,
) -> cst.BaseExpression | None:
    """Remove an argument and return its value; None if it is missing or None."""
    value = options.pop(name, None)
    if value is not None and to_source(value) == "None":
        return None
    return value


def _is_any(node: cst.BaseExpression, reader: CallReader) -> bool:
    name = reader.table.scope.qualify(node)
    return name in ("unittest.mock.ANY", "mock.ANY", "mocker.ANY")


def _refuse_mocks(arguments: Arguments, node: cst.Call, reader: CallReader) -> None:
    """Refuse arguments of an assertion that read a mock, which the new test does not have."""
    positional, keywords = arguments
    for value in [*positional, *keywords.values()]:
        if reader.find_reads(value):
            raise CannotRewrite(f"{to_source(node)} has a mock as an argument", SEE_CALLS, node)


def _check_arguments(node: cst.Call, arguments: Arguments, reader: CallReader) -> None:
    _refuse_mocks(arguments, node, reader)
    for name, value in arguments[1].items():
        # A record has no `stream=True`, which is the default of `llm`.
        is_recorded = name == "stream" and to_source(value) == "False"
        if name in UNSUPPORTED_KEYWORDS and not is_recorded:
            raise CannotRewrite(
                f"{to_source(node)} checks {name}, which has no equivalent assertion",
                SEE_CALLS,
                node,
            )
