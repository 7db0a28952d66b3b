"""Keep the names that the old test assigns to a call or to its arguments."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.call_values import EXTRA_BODY, CallValue, KeywordArguments, SingleCall
from llm_mock.migrate.marked_names import mark_name
from llm_mock.migrate.sdk_clients import GOOGLE
from llm_mock.migrate.syntax import to_source

_FEWEST_READS = 2


def keep_name(
    name: str,
    value: CallValue,
    function: cst.FunctionDef,
) -> tuple[CallValue, str] | None:
    """Return the value of a name that the new test keeps, and the expression for it.

    Args:
        name: the name.
        value: the value that the old test reads.
        function: the old test.

    Returns:
        None if the new test has no such value, or would read the name only once.
    """
    if _count_reads(name, function) < _FEWEST_READS:
        return None
    marked = mark_name(name)
    if isinstance(value, SingleCall):
        is_record = not value.is_of_getter and not value.is_legacy
        kept_call = replace(
            value,
            source=marked,
            origin=value.source,
        )
        return (kept_call, value.source) if is_record else None
    # A part of the arguments has another class.
    if type(value) is not KeywordArguments:
        return None
    if not _is_body(value, function):
        return None
    kept_arguments = replace(value, name=marked)
    return kept_arguments, value.body


def _is_body(keywords: KeywordArguments, function: cst.FunctionDef) -> bool:
    """Return whether all that a test reads of the arguments is in the body of the request."""
    sdk = keywords.call.sdk
    if keywords.calls or sdk in ("", GOOGLE):
        return False
    source = to_source(function)
    return EXTRA_BODY not in source


def _count_reads(name: str, function: cst.FunctionDef) -> int:
    """Return how often a function reads an item or an attribute of a name, or searches it."""
    variable = m.Name(name)
    item = m.Subscript(variable)
    attribute = m.Attribute(variable)
    membership = m.In() | m.NotIn()
    searched = m.ComparisonTarget(membership, variable)
    reads = m.findall(function, item | attribute | searched)
    return len(reads)
