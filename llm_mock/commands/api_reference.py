"""The reference of the Python API as Markdown, read from the sources.

Nothing is imported, so the reference is the same whichever libraries are installed.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import re
import textwrap
from ast import (
    AnnAssign,
    Assign,
    AsyncFunctionDef,
    ClassDef,
    Constant,
    Expr,
    FunctionDef,
    ImportFrom,
    Module,
)
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import llm_mock

SIGNATURE_WIDTH = 90
"""The longest line of a signature, in characters."""
MOST_PARTS = 3
"""The number of parts of the longest name to import, such as `llm_mock.checks.contains`."""
EMPTY_MAPPINGS = ("dict", "RedactedMapping")
"""The default factories that are shown as `{}`."""
# A line in docstrings that only pytest needs.
_PYTEST_LINE = "PYTEST_DONT_REWRITE"
_ANNOTATED = re.compile(r"^Annotated\[(.+?), [A-Z]\w+\(.*")
_HEADING = re.compile(r"^(###?) (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^::: ([\w.]+)\n((?: {4}.*\n)*)", re.MULTILINE)

_Function = FunctionDef | AsyncFunctionDef
_Defined = ClassDef | FunctionDef | AsyncFunctionDef
_Documented = Module | ClassDef | FunctionDef | AsyncFunctionDef


class Definition(NamedTuple):
    """A class or function of the package."""

    module: str
    """The module that defines it."""
    node: _Defined


class Member(NamedTuple):
    """A method or an attribute of a class."""

    name: str
    signature: str
    """The name with its parameters, or with the type of the attribute."""
    documentation: str


def describe_objects(page: str) -> str:
    """Replace the blocks of mkdocstrings on a page by the signatures and docstrings they name.

    The page of the API is long, so it gets a table of contents before its first section.
    """
    described = _BLOCK.sub(lambda match: _describe_block(match[1], match[2]), page)
    if described == page:
        return page
    introduction, heading, sections = described.partition("## ")
    contents = _list_contents(heading + sections)
    return f"{introduction}{contents}\n{heading}{sections}"


def _list_contents(sections: str) -> str:
    """Return the names that the sections of a page describe, as a list of the sections."""
    names: dict[str, list[str]] = {}
    title = ""
    for level, heading in _HEADING.findall(sections):
        if level == "##":
            title = heading
            names[title] = []
        else:
            name = heading.removeprefix("llm_mock.")
            names[title].append(name)
    lines = ["To find an entry, search for its heading, such as `### llm_mock.Reply`.", ""]
    for section, entries in names.items():
        text = f"- {section}: {', '.join(entries)}"
        wrapped = textwrap.fill(
            text,
            SIGNATURE_WIDTH,
            subsequent_indent="  ",
        )
        lines.append(wrapped)
    return "\n".join(lines) + "\n"


def _describe_block(name: str, block: str) -> str:
    settings = yaml.safe_load(block) or {}
    module, _, short_name = name.rpartition(".")
    definition = _find_definition(module, short_name)
    if definition is None:
        return _describe_module(name)
    is_public = len(name.split(".")) <= MOST_PARTS
    if not is_public:
        name = short_name
    options = settings.get("options", {})
    return _describe_definition(name, definition, options)


def _describe_module(name: str) -> str:
    tree = _parse_module(name)
    documentation = _read_docstring(tree)
    sections = [f"### {name}\n\n{documentation}\n"]
    for node in tree.body:
        if isinstance(node, _Defined) and not node.name.startswith("_"):
            title = f"{name}.{node.name}"
            definition = Definition(name, node)
            section = _describe_definition(title, definition, {})
            sections.append(section)
    return "\n".join(sections)


def _describe_definition(title: str, definition: Definition, options: Mapping[str, Any]) -> str:
    node = definition.node
    documentation = _read_docstring(node)
    parts = [f"### {title}"]
    if isinstance(node, ClassDef):
        classes = list(_iterate_classes(definition.module, node))
        constructor = _describe_constructor(classes)
        # Only the package itself creates the objects of the other classes.
        if options.get("merge_init_into_class", True):
            parts.append(constructor.signature)
            documentation = f"{documentation}\n\n{constructor.documentation}".rstrip()
        parts.append(documentation)
        for member in _list_members(classes, options):
            parts.append(f"#### {node.name}.{member.name}")
            parts.append(member.signature)
            parts.append(member.documentation)
    else:
        parts.append(_format_function(node, node.args))
        parts.append(documentation)
    return "\n\n".join(filter(None, parts)) + "\n"


def _describe_constructor(classes: Sequence[ClassDef]) -> Member:
    """Return the parameters of a class, empty if no class of the package has a constructor."""
    name = classes[0].name
    for each in classes:
        for node in each.body:
            if not isinstance(node, FunctionDef) or node.name != "__init__":
                continue
            others = _drop_first(node.args)
            parameters = _format_parameters(others)
            signature = _wrap(f"{name}({parameters})")
            documentation = _read_docstring(node)
            return Member(name, signature, documentation)
    if not any(_is_record(each) for each in classes):
        return Member(name, "", "")
    fields: dict[str, str] = {}
    # The fields of a base class come first.
    for each in reversed(classes):
        fields |= _list_fields(each)
    parameters = ", ".join(fields.values())
    signature = _wrap(f"{name}({parameters})")
    return Member(name, signature, "")


def _is_record(node: ClassDef) -> bool:
    """Return whether a class gets its constructor from its fields."""
    return any(ast.unparse(decorator).startswith("dataclass") for decorator in node.decorator_list)


def _list_fields(node: ClassDef) -> dict[str, str]:
    """Return the fields of a class by name, as they stand in a signature."""
    fields = {}
    for statement in node.body:
        if not isinstance(statement, AnnAssign):
            continue
        name = ast.unparse(statement.target)
        if name.startswith("_"):
            continue
        fields[name] = name
        default = _find_default(statement.value)
        if default is not None:
            fields[name] += f"={default}"
    return fields


def _find_default(value: ast.expr | None) -> str | None:
    """Return the default of a field of a dataclass as source; None if the field has none."""
    if value is None:
        return None
    source = ast.unparse(value)
    if not isinstance(value, ast.Call) or not source.startswith("field("):
        return source
    for each in value.keywords:
        source = ast.unparse(each.value)
        if each.arg == "default":
            return source
        if each.arg == "default_factory":
            return "{}" if source in EMPTY_MAPPINGS else "..."
    return None


def _list_members(classes: Sequence[ClassDef], options: Mapping[str, Any]) -> Iterator[Member]:
    """Return the members that an `options` block shows: those it lists, by default all own."""
    listed = options.get("members")
    if listed is False:
        return
    if isinstance(listed, list):
        found: dict[str, Member] = {}
        # A class overrides the members of its base classes.
        for each in reversed(classes):
            for member in _iterate_members(each.body):
                found[member.name] = member
        for name in listed:
            yield found[name]
        return
    filters = options.get("filters", ["!^_"])
    patterns = [each.removeprefix("!") for each in filters]
    hidden = re.compile("|".join(patterns))
    for member in _iterate_members(classes[0].body):
        if not hidden.search(member.name):
            yield member


def _iterate_members(body: Sequence[ast.stmt]) -> Iterator[Member]:
    """Return the documented methods and attributes that the body of a class defines."""
    pairs = itertools.zip_longest(body, body[1:])
    for statement, following in pairs:
        if isinstance(statement, _Function):
            documentation = _read_docstring(statement)
            signature = _format_method(statement)
            name = statement.name
        elif isinstance(statement, AnnAssign):
            documentation = _read_text(following)
            name = ast.unparse(statement.target).removeprefix("self.")
            signature = _format_attribute(name, statement.annotation)
        else:
            continue
        if documentation:
            yield Member(name, signature, documentation)
        if isinstance(statement, FunctionDef) and name == "__init__":
            # The constructor documents the attributes that it assigns.
            yield from _iterate_members(statement.body)


def _format_method(node: _Function) -> str:
    for each in node.decorator_list:
        decorator = ast.unparse(each)
        if decorator.endswith("property") and node.returns:
            return _format_attribute(node.name, node.returns)
    others = _drop_first(node.args)
    return _format_function(node, others)


def _format_attribute(name: str, annotation: ast.expr) -> str:
    source = ast.unparse(annotation)
    # Users need the type without its validators.
    bare = _ANNOTATED.sub(r"\1", source)
    return _wrap(f"{name}: {bare}")


def _format_function(node: _Function, arguments: ast.arguments) -> str:
    prefix = "async " if isinstance(node, AsyncFunctionDef) else ""
    parameters = _format_parameters(arguments)
    return _wrap(f"{prefix}{node.name}({parameters})")


def _drop_first(arguments: ast.arguments) -> ast.arguments:
    """Return the parameters of a method without `self`."""
    others = copy.deepcopy(arguments)
    positional = others.posonlyargs or others.args
    positional.pop(0)
    return others


def _format_parameters(arguments: ast.arguments) -> str:
    """Return the parameters and their defaults; the docstring describes their types."""
    bare = copy.deepcopy(arguments)
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
    source = ast.unparse(bare)
    # The name of a private object, or of a public constant without a plain value.
    return re.sub(r"=(_\w+|[A-Z_]{3,}\b)", "=...", source)


def _wrap(signature: str) -> str:
    return textwrap.fill(
        signature,
        SIGNATURE_WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
    )


def _read_docstring(node: _Documented) -> str:
    documentation = ast.get_docstring(node) or ""
    return documentation.removesuffix(_PYTEST_LINE).rstrip()


def _read_text(statement: ast.stmt | None) -> str:
    """Return the docstring below an attribute, empty if there is none."""
    if isinstance(statement, Expr) and isinstance(statement.value, Constant):
        text = str(statement.value.value)
        return inspect.cleandoc(text)
    return ""


def _find_definition(module: str, name: str) -> Definition | None:
    """Return a class or function of the package; None if the module has no such name."""
    if not module.startswith("llm_mock"):
        return None
    tree = _parse_module(module)
    for node in _iterate_statements(tree):
        if isinstance(node, _Defined) and node.name == name:
            return Definition(module, node)
        if not isinstance(node, ImportFrom):
            continue
        imported = [each.name for each in node.names]
        if name in imported:
            return _find_definition(str(node.module), name)
    return None


def _iterate_statements(tree: Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        yield statement
        # Names that are imported late stand below `if TYPE_CHECKING:`.
        if isinstance(statement, ast.If):
            yield from statement.body


def _iterate_classes(module: str, node: ClassDef) -> Iterator[ClassDef]:
    """Return a class and those of its base classes that the package defines."""
    yield node
    for base in node.bases:
        name = ast.unparse(base)
        found = _find_definition(module, name)
        if found is not None and isinstance(found.node, ClassDef):
            yield from _iterate_classes(found.module, found.node)


@functools.cache
def _parse_module(name: str) -> Module:
    parts = name.split(".")[1:]
    folder = Path(llm_mock.__file__).parent
    path = folder.joinpath(*parts)
    source = path.with_suffix(".py")
    if path.is_dir():
        source = path / "__init__.py"
    text = source.read_text(encoding="utf-8")
    tree = ast.parse(text)
    _replace_constants(tree)
    return tree


def _replace_constants(tree: Module) -> None:
    """Replace the constants that are defaults of parameters and fields by their values."""
    values: dict[str, Constant] = {}
    for node in tree.body:
        if isinstance(node, Assign) and isinstance(node.value, Constant):
            name = ast.unparse(node.targets[0])
            values[name] = node.value
    for each in ast.walk(tree):
        if isinstance(each, ast.arguments):
            defaults = []
            for default in each.defaults:
                source = ast.unparse(default)
                value = values.get(source, default)
                defaults.append(value)
            each.defaults = defaults
        elif isinstance(each, AnnAssign) and each.value is not None:
            source = ast.unparse(each.value)
            each.value = values.get(source, each.value)
