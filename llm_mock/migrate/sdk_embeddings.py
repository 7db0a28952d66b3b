"""Convert the mocks of embeddings into the answer of the endpoint."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import PlainCode, SideEffectList, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import get_node
from llm_mock.migrate.sdk_parts import get_items, get_literal, read_fields
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import to_source
from llm_mock.migrate.value_types import is_data

SEE_EMBEDDINGS = (
    "Set the vector of each text: mock_llm_responses.set_embedding(model, text, vector)."
)
_RESPONSE_FIELDS = ("data", "usage", "model", "object")
_ITEM_FIELDS = ("embedding", "index", "object")
_USAGE_FIELDS = ("prompt_tokens", "total_tokens")


def convert_embeddings(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the endpoint's answer for the double of a response.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no vectors.
    """
    fields = read_fields(double, "response", _RESPONSE_FIELDS)
    data = fields.get("data")
    if data is None:
        return None
    items = get_items(data, "data")
    if not items:
        raise CannotRewrite(
            "the response has no embeddings",
            "The real SDK raises a ValueError for such a response. Test for this error, and "
            "remove the mock.",
            get_node(data),
        )
    vectors = [_convert_item(item, number, table) for number, item in enumerate(items)]
    parts = [f'"data": [{", ".join(vectors)}]']
    model = get_literal(fields.get("model"), "model")
    if model is not None:
        parts.append(f'"model": {to_source(model)}')
    parts += _format_usage(fields.get("usage"))
    return f"{{{', '.join(parts)}}}"


def _convert_item(item: Value, number: int, table: SymbolTable) -> str:
    fields = read_fields(item, "vector", _ITEM_FIELDS)
    vector = _format_vector(fields.get("embedding"), table)
    index = get_literal(fields.get("index"), "index")
    # The position, unless the old mock had another order.
    position = str(number) if index is None else to_source(index)
    return f'{{"index": {position}, "embedding": {vector}}}'


def _format_vector(value: Value | None, table: SymbolTable) -> str:
    """Return the source of a vector.

    Raises:
        CannotRewrite: it is not known to be a list of numbers.
    """
    if isinstance(value, SideEffectList):
        # `[0.1] * 3`, which was evaluated.
        numbers = [to_source(each.node) for each in value.values if isinstance(each, PlainCode)]
        if len(numbers) < len(value.values):
            raise CannotRewrite("the vector of an embedding contains a mock", SEE_EMBEDDINGS)
        return f"[{', '.join(numbers)}]"
    vector = get_literal(value, "embedding")
    if vector is None or not _is_vector(vector, table):
        source = "missing" if vector is None else to_source(vector)
        raise CannotRewrite(f"the vector of an embedding is {source}", SEE_EMBEDDINGS, vector)
    return to_source(vector)


def _is_vector(node: cst.BaseExpression, table: SymbolTable) -> bool:
    """Return whether an expression is a list for certain, such as `[0.1] * 256`."""
    if m.matches(node, m.BinaryOperation(operator=m.Multiply() | m.Add())):
        operation = cst.ensure_type(node, cst.BinaryOperation)
        return _is_vector(operation.left, table)
    return not isinstance(node, (cst.Dict, cst.DictComp)) and is_data(node, table)


def _format_usage(usage: Value | None) -> list[str]:
    """Return the item of the answer for its usage, if the test sets one."""
    fields = read_fields(usage, "usage", _USAGE_FIELDS)
    items = []
    for name in _USAGE_FIELDS:
        number = get_literal(fields.get(name), f"usage.{name}")
        if number is not None:
            items.append(f'"{name}": {to_source(number)}')
    if not items:
        return []
    return [f'"usage": {{{", ".join(items)}}}']
