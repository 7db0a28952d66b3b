"""Finds out whether what a test replaces is `get_model` or `get_async_model` of `llm`."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from llm_mock.migrate.manual_changes import CannotRewrite

GETTERS = {"get_model": False, "get_async_model": True}
"""The functions of `llm`, and whether they give async models."""
LIBRARY = "llm"
DEEPEST = 5
"""Over how many modules an imported name is followed."""


def resolve_target(path: str, test_file: Path) -> tuple[str, str] | None:
    """What of `llm` a dotted path names: `("llm", "get_model")`, or `("llm", "")` for the whole library.

    None where it is something else.

    Raises:
        CannotRewrite: nothing shows what it is.
    """
    if path.startswith("."):
        raise CannotRewrite(
            f"{path} is relative, so it is not known which module it is",
            'Patch it by its full name, such as "app.get_model".',
        )
    owner, _, name = path.rpartition(".")
    if path in (LIBRARY, *(f"{LIBRARY}.{getter}" for getter in GETTERS)):
        return LIBRARY, name if owner else ""
    if not owner:
        return None
    maybe = name in GETTERS or name == LIBRARY
    found = _meaning(owner, name, test_file)
    if found is not None:
        meant_owner, _, meant = found.rpartition(".")
        if found == LIBRARY:
            return LIBRARY, ""
        return (LIBRARY, meant) if meant_owner == LIBRARY and meant in GETTERS else None
    library, _, last = owner.rpartition(".")
    if name in GETTERS and library and _meaning(library, last, test_file) == LIBRARY:
        return LIBRARY, name  # app.llm.get_model
    if not maybe or _source_of(owner, test_file):
        return None
    raise CannotRewrite(
        f"the module {owner} was not found near the test, so it is not known whether {path} is llm's",
        "If it is, take out the patch and write mock_llm_responses.set(model, reply).",
    )


def _meaning(module: str, name: str, test_file: Path, depth: int = 0) -> str | None:
    """The full name of what a name of a module stands for, as its imports say; None where they don't."""
    source = _source_of(module, test_file)
    if source is None or depth > DEEPEST:
        return None
    found = _imports_of(source).get(name)
    if found is None:
        return None
    if found.startswith("."):
        found = _absolute(found, module, source)
    if found == LIBRARY or found.startswith(f"{LIBRARY}."):
        return found
    owner, _, last = found.rpartition(".")
    return (_meaning(owner, last, test_file, depth + 1) if owner else None) or found


def _absolute(name: str, module: str, source: Path) -> str:
    level = len(name) - len(name.lstrip("."))
    parts = module.split(".") if source.name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*parts[: len(parts) - level + 1], name.lstrip(".")])


@functools.cache
def _imports_of(source: Path) -> dict[str, str]:
    try:
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or name] = name
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (f"{node.module}." if node.module else "")
            found.update({alias.asname or alias.name: start + alias.name for alias in node.names})
    for node in tree.body:  # what the module defines itself hides what it imports
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.pop(node.name, None)
    return found


@functools.cache
def _source_of(module: str, test_file: Path) -> Path | None:
    """The file of a module, looked for in the folders above the test, and in `src` there."""
    parts = module.split(".")
    for folder in test_file.parents:
        for start in (folder, folder / "src"):
            for path in (start.joinpath(*parts).with_suffix(".py"), start.joinpath(*parts, "__init__.py")):
                if path.is_file():
                    return path
    return None
