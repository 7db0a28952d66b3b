"""Resolve a patched path to `get_model` or `get_async_model` of `llm`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from llm_mock.migrate.manual_changes import CannotRewrite

GETTERS = {"get_model": False, "get_async_model": True}
"""The patched functions of `llm`, and whether they return async models."""
LIBRARY = "llm"
LISTINGS = (
    "get_models",
    "get_async_models",
    "get_models_with_aliases",
)
"""The functions of `llm` that list models; `llm_mock` finds models without them."""
# Bounds modules that import a name from each other.
MAX_MODULES = 5
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMES = (ast.Name, ast.Attribute)


def resolve_target(path: str, test_file: Path) -> tuple[str, str] | None:
    """Return the part of `llm` that a dotted path names, or None if it names something else.

    Returns:
        `("llm", "get_model")`, or `("llm", "")` for the whole library.

    Raises:
        CannotRewrite: the module is not found, so the path is unknown.
    """
    if path.startswith("."):
        raise CannotRewrite(
            f"the module of the relative path {path} is unknown",
            'Patch it by its full name, such as "app.get_model".',
        )
    target = _split_qualified_name(path)
    owner, _, name = path.rpartition(".")
    if target is not None or not owner:
        return target
    qualified_name = resolve_name(owner, name, test_file)
    if qualified_name is not None:
        return _split_qualified_name(qualified_name)
    if name in GETTERS and _is_library(owner, test_file):
        return LIBRARY, name  # app.llm.get_model
    may_be_llm = name in GETTERS or name == LIBRARY
    if not may_be_llm or find_source(owner, test_file):
        return None
    raise CannotRewrite(
        f"the module {owner} was not found near the test, so the command cannot tell whether "
        f"{path} belongs to llm",
        "If it does, remove the patch and write mock_llm_responses.set(model, reply).",
    )


def _split_qualified_name(qualified_name: str) -> tuple[str, str] | None:
    if qualified_name == LIBRARY:
        return LIBRARY, ""
    owner, _, name = qualified_name.rpartition(".")
    if owner == LIBRARY and name in GETTERS:
        return (LIBRARY, name)
    return None


def _is_library(path: str, test_file: Path) -> bool:
    module, _, name = path.rpartition(".")
    return bool(module) and resolve_name(module, name, test_file) == LIBRARY


def resolve_name(module: str, name: str, test_file: Path, depth: int = 0) -> str | None:
    """Follow the imports of a name in a module to its qualified name, or None."""
    source = find_source(module, test_file)
    if source is None or depth > MAX_MODULES:
        return None
    imported = _collect_imports(source).get(name)
    if imported is None:
        return None
    if imported.startswith("."):
        imported = _make_absolute(imported, module, source)
    if imported == LIBRARY or imported.startswith(f"{LIBRARY}."):
        return imported
    owner, _, last = imported.rpartition(".")
    if not owner:
        return imported
    return resolve_name(owner, last, test_file, depth + 1) or imported


def _make_absolute(name: str, module: str, source: Path) -> str:
    relative_name = name.lstrip(".")
    level = len(name) - len(relative_name)
    package = module.split(".")
    # The first dot is the package: the module itself in __init__.py, else its parent.
    if source.name != "__init__.py":
        package.pop()
    depth = len(package) - level + 1
    parts = package[:depth]
    parts.append(relative_name)
    return ".".join(parts)


# Cached: every patch in a file asks for the same few modules.
@functools.cache
def _parse_module(source: Path) -> ast.Module:
    """Parse a module of the application; return an empty module for invalid Python."""
    try:
        return ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@functools.cache
def _collect_imports(source: Path) -> dict[str, str]:
    tree = _parse_module(source)
    imports: dict[str, str] = {}
    # Imports in functions count: the application may import llm when it needs it.
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports |= _qualify_import(node)
    for statement in tree.body:
        # A definition in the module hides an import of the same name.
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            imports.pop(statement.name, None)
    return imports


def resolve_class(module: str, name: str, test_file: Path) -> str | None:
    """Return the qualified name of the class of which a module makes an object, or None.

    Args:
        module: the module, which has `client = openai.OpenAI()`.
        name: the name of the object.
        test_file: the test, near which the module is.
    """
    source = find_source(module, test_file)
    if source is None:
        return None
    class_name = _collect_objects(source).get(name)
    if class_name is None:
        return None
    first, dot, rest = class_name.partition(".")
    imports = _collect_imports(source)
    owner = imports.get(first)
    return f"{owner}{dot}{rest}"


def resolve_type(name: str, test_file: Path, depth: int = 0) -> str:
    """Return the class that a class of the application is another name of, or extends.

    Args:
        name: the qualified name of the class.
        test_file: the test, near which the application is.
        depth: the number of classes that led here.

    Returns:
        The qualified name of a class that is not of the application, or the name itself.
    """
    owner, _, last = name.rpartition(".")
    source = find_source(owner, test_file) if owner else None
    if source is None or depth > MAX_MODULES:
        return name
    imported = resolve_name(owner, last, test_file)
    if imported is not None:
        return resolve_type(imported, test_file, depth + 1)
    base = _collect_bases(source).get(last)
    if base is None:
        return name
    first, dot, rest = base.partition(".")
    # A name that is not imported is one of the module.
    start = _collect_imports(source).get(first, f"{owner}.{first}")
    if start.startswith("."):
        start = _make_absolute(start, owner, source)
    return resolve_type(f"{start}{dot}{rest}", test_file, depth + 1)


@functools.cache
def _collect_bases(source: Path) -> dict[str, str]:
    """Return the other names and the first bases of the classes of a module, as written."""
    bases: dict[str, str] = {}
    for statement in _parse_module(source).body:
        if isinstance(statement, ast.ClassDef) and statement.bases:
            methods = [part for part in statement.body if isinstance(part, _FUNCTIONS)]
            # They may add more to its objects than their arguments.
            if not methods:
                first = statement.bases[0]
                bases[statement.name] = ast.unparse(first)
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, _NAMES):
            source_name = ast.unparse(statement.value)
            for target in statement.targets:
                name = ast.unparse(target)
                bases[name] = source_name
    return bases


@functools.cache
def _collect_objects(source: Path) -> dict[str, str]:
    """Return the callables whose results a module binds to names, as they are written."""
    objects: dict[str, str] = {}
    for name, value in _list_assignments(source):
        if isinstance(value, ast.Call):
            objects[name] = ast.unparse(value.func)
    return objects


def _list_assignments(source: Path) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each name that a module binds, with the expression."""
    for statement in _parse_module(source).body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets += statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets.append(statement.target)
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, getattr(statement, "value", None)


def find_text(name: str, test_file: Path) -> str | None:
    """Return the string that a constant of the application has, by its qualified name, or None."""
    module, _, constant = name.rpartition(".")
    source = find_source(module, test_file)
    if source is None:
        return None
    return _collect_texts(source).get(constant)


@functools.cache
def _collect_texts(source: Path) -> dict[str, str]:
    """Return the strings that a module assigns to names, as far as they are literal."""
    texts: dict[str, str] = {}
    for name, value in _list_assignments(source):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            texts[name] = value.value
    return texts


def _qualify_import(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return the qualified name behind each name that an import binds."""
    names = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            # `import a.b` binds `a`.
            package = alias.name.partition(".")[0]
            bound_name = alias.asname or package
            if alias.asname:
                names[bound_name] = alias.name
            else:
                names[bound_name] = package
        return names
    prefix = "." * node.level
    if node.module:
        prefix += f"{node.module}."
    for alias in node.names:
        names[alias.asname or alias.name] = prefix + alias.name
    return names


@functools.cache
def find_source(module: str, test_file: Path) -> Path | None:
    """Find the file of a module in the folders above the test, and in their `src`."""
    for path in _list_candidate_files(module.split("."), test_file):
        if path.is_file():
            return path
    return None


def _list_candidate_files(parts: list[str], test_file: Path) -> Iterator[Path]:
    for folder in test_file.parents:
        for root in (folder, folder / "src"):
            yield root.joinpath(*parts).with_suffix(".py")
            yield root.joinpath(*parts, "__init__.py")
