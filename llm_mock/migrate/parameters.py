"""Add fixtures to the parameters of a function, in its layout."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

_NO_SPACE = cst.SimpleWhitespace("")


def insert_fixtures(parameters: Sequence[cst.Param], names: Sequence[str]) -> list[cst.Param]:
    """Return parameters and the fixtures among some names that they lack."""
    result = list(parameters)
    known = [parameter.name.value for parameter in parameters]
    # One with a default value comes behind all others.
    position = len([parameter for parameter in parameters if parameter.default is None])
    for name in reversed(names):
        if name not in known:
            result.insert(position, cst.Param(cst.Name(name)))
    return result


def arrange_parameters(
    parameters: Sequence[cst.Param],
    function: cst.FunctionDef,
) -> list[cst.Param]:
    """Return parameters with commas and whitespace as a function has them.

    Args:
        parameters: the parameters that it keeps and new ones.
        function: the function as it was.
    """
    if not parameters:
        return []
    *others, last = parameters
    before = function.params
    separator = _find_separator(function)
    has_star = before.star_arg is not cst.MaybeSentinel.DEFAULT
    if not has_star and not before.kwonly_params:
        last = _end_as(last, others, before.params, separator)
    before_others = before.params[:-1]
    separated = []
    for parameter in others:
        if any(parameter is other for other in before_others):
            separated.append(parameter)
        else:
            inner = parameter.with_changes(
                whitespace_after_param=_NO_SPACE,
                comma=_add_comment(separator, _get_end(parameter)),
            )
            separated.append(inner)
    return [*separated, last]


def _end_as(
    last: cst.Param,
    others: Sequence[cst.Param],
    before: Sequence[cst.Param],
    separator: cst.Comma | cst.MaybeSentinel,
) -> cst.Param:
    """Return the last parameter with what stood behind the one that was the last before.

    Args:
        last: the parameter that is the last now.
        others: the parameters in front of it.
        before: the parameters of the old test.
        separator: the comma between two parameters.
    """
    if not before:
        return last.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    # Such as the magic trailing comma, or its absence.
    end = before[-1]
    is_kept = any(end is other for other in others)
    space, comma = end.whitespace_after_param, end.comma
    # The comment on a parameter that stays is beside it, and not on its successor.
    if is_kept and _has_lines(separator):
        space = _drop_comment(space)
        if isinstance(comma, cst.Comma):
            comma = comma.with_changes(whitespace_after=_drop_comment(comma.whitespace_after))
    return last.with_changes(
        comma=comma,
        whitespace_after_param=space,
    )


def _get_end(parameter: cst.Param) -> cst.BaseParenthesizableWhitespace:
    """Return the space behind a parameter and its comma."""
    comma = parameter.comma
    if isinstance(comma, cst.Comma):
        return comma.whitespace_after
    return parameter.whitespace_after_param


def _has_lines(separator: cst.Comma | cst.MaybeSentinel) -> bool:
    """Return whether each parameter is on a separate line."""
    if not isinstance(separator, cst.Comma):
        return False
    return isinstance(separator.whitespace_after, cst.ParenthesizedWhitespace)


def _add_comment(
    separator: cst.Comma | cst.MaybeSentinel,
    end: cst.BaseParenthesizableWhitespace,
) -> cst.Comma | cst.MaybeSentinel:
    """Return a comma between two parameters with the comment on the first of them."""
    if not isinstance(end, cst.ParenthesizedWhitespace) or not _has_lines(separator):
        return separator
    comma = cst.ensure_type(separator, cst.Comma)
    space = comma.whitespace_after.with_changes(first_line=end.first_line)
    return comma.with_changes(whitespace_after=space)


def _drop_comment(
    space: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    """Return the space behind a parameter without the comment on its line."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(first_line=cst.TrailingWhitespace())


def _find_separator(function: cst.FunctionDef) -> cst.Comma | cst.MaybeSentinel:
    """Return the comma between two parameters, in the layout of the function."""
    parameters = function.params.params
    if not parameters:
        return cst.MaybeSentinel.DEFAULT
    comma = parameters[0].comma
    if not isinstance(comma, cst.Comma):
        return cst.MaybeSentinel.DEFAULT
    if len(parameters) > 1:
        whitespace = comma.whitespace_after
    else:
        # Behind the only one stands the parenthesis.
        whitespace = function.whitespace_before_params
    # Not the comments on a parameter.
    whitespace = _drop_comment(whitespace)
    if isinstance(whitespace, cst.ParenthesizedWhitespace):
        whitespace = whitespace.with_changes(empty_lines=[])
    if whitespace.empty:
        return cst.MaybeSentinel.DEFAULT
    return cst.Comma(whitespace_after=whitespace)
