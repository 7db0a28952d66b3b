"""Find the lines that patch with `monkeypatch`, which does not keep the lines itself."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable, Iterator

from llm_mock.core.source_location import format_location


def find_setattr(test: Callable[..., object], name: str) -> str:
    """Return the line that patches something in the file of a test; empty if that is unclear.

    Args:
        test: the function of the test.
        name: the patched attribute with its owner, such as `Completions.create`.
    """
    # Some plugins collect other callables.
    code = getattr(inspect.unwrap(test), "__code__", None)
    if code is None:
        return ""
    file = code.co_filename
    lines = [*_find_lines(file, name)]
    first_line = code.co_firstlineno
    last_line = max(number or 0 for _, _, number in code.co_lines())
    # Another test may make the same patch.
    own = [line for line in lines if first_line <= line <= last_line]
    found = own or lines
    if len(found) != 1:
        return ""
    return format_location((file, found[0]))


def _find_lines(file: str, name: str) -> Iterator[int]:
    """Yield each line of a file that calls `setattr` of an object for an attribute."""
    owner, _, attribute = name.rpartition(".")
    # Written as a text, `"app.OpenAI"`, or as two arguments, `app, "OpenAI"`. The owner is a class,
    # but the line may patch an instance, which often has the name of its class.
    pattern = re.compile(rf"\b{re.escape(owner)}\W+{re.escape(attribute)}\b", re.IGNORECASE)
    source = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        target = " ".join(map(ast.unparse, node.args[:2]))
        if called.endswith(".setattr") and pattern.search(target):
            yield node.lineno
