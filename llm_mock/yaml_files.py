"""YAML files: read with the line of everything, written so that people can read them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
import yaml

from llm_mock.errors import InvalidFile

if TYPE_CHECKING:
    from yaml import CSafeDumper as SafeDumper
    from yaml import CSafeLoader as SafeLoader
else:  # libyaml is ten times as fast, and not everywhere
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

WIDTH = 110
LARGEST = 1_000_000
"""How many nodes a file with references may have when each reference is written out."""

Model = TypeVar("Model", bound=pydantic.BaseModel)


class Document:
    """The content of a YAML file, and where each part of it stands.

    Args:
        path: the file.
        data: its content.
        root: the syntax tree that it was made of; None for an empty file.
    """

    def __init__(self, path: Path, data: Any, root: yaml.Node | None) -> None:
        self.path = path
        self.data = data
        self._root = root

    def line_of(self, location: Iterable[str | int]) -> int:
        """The line, from 1, of the part that keys and positions lead to; as far as they lead anywhere."""
        node, line = self._root, 1
        for step in location:
            node, line = _child(node, step, line)
        return line

    def error(self, problem: str, location: Iterable[str | int] = ()) -> InvalidFile:
        """The error to raise for a problem at a place of the file."""
        return InvalidFile(f"{self.path}:{self.line_of(location)}: {problem}")

    def as_model(self, model: type[Model]) -> Model:
        """The content, validated.

        Raises:
            InvalidFile: it does not fit; the message names the line of each problem, and of an unknown key the nearest
                known one.
        """
        try:
            return model.model_validate(self.data)
        except pydantic.ValidationError as error:
            problems = [self._problem(model, problem) for problem in error.errors(include_url=False)]
        raise InvalidFile("\n".join(problems)) from None

    def _problem(self, model: type[pydantic.BaseModel], problem: Any) -> str:
        location = [step for step in problem["loc"] if isinstance(step, (str, int))]
        where = f"{self.path}:{self.line_of(location)}: "
        if problem["type"] == "extra_forbidden":
            suggestion = _suggestion(str(location[-1]), _known_keys(model, location[:-1]))
            return f"{where}unknown key {location[-1]!r}{suggestion}"
        if problem["type"] == "missing":
            return f"{where}{location[-1]!r} is missing"
        shown = ".".join(map(str, location))
        message = problem["msg"][:1].lower() + problem["msg"][1:]
        return f"{where}{shown}: {message}" if shown else f"{where}{message}"


def _child(node: yaml.Node | None, step: str | int, line: int) -> tuple[yaml.Node | None, int]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child, child.start_mark.line + 1
    return None, line


def _known_keys(model: Any, location: Sequence[str | int]) -> list[str]:
    schema: Any = model.model_json_schema()
    definitions = schema.get("$defs", {})
    for step in location:
        branches = [_resolved(branch, definitions) for branch in schema.get("anyOf", [schema])]
        schema = next(
            (found for branch in branches if (found := _inside(branch, step)) is not None),
            {},
        )
        schema = _resolved(schema, definitions)
    branches = [_resolved(branch, definitions) for branch in schema.get("anyOf", [schema])]
    return [name for branch in branches for name in branch.get("properties", {})]


def _inside(schema: Any, step: str | int) -> Any:
    return schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)


def _resolved(schema: Any, definitions: Any) -> Any:
    return definitions[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema


def _suggestion(unknown: str, known: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(unknown, known, n=1)
    if nearest:
        return f"; did you mean {nearest[0]!r}?"
    return f"; known are {', '.join(known)}" if known else ""


class _Loader(SafeLoader):
    """Loads plain data only, and refuses a key that stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
            if name in seen and key.value != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


def read(path: Path) -> str:
    """Read a text file.

    Raises:
        InvalidFile: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from None


def load(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        InvalidFile: it cannot be read, or is not YAML; the message names the line.
    """
    return parse(path, read(path))


def parse(path: Path, text: str) -> Document:
    """Read YAML from a text: that of a file, or how it begins.

    Raises:
        InvalidFile: it is not YAML; the message names the line.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if "&" in text:
                _check_aliases(root)
            data = None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidFile(f"{path}:{line}: is not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidFile(f"{path}:{line}: is not valid YAML: {error.reason}") from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # a value that is not of the type that its tag says; the constructors of PyYAML do not look first
        raise InvalidFile(f"{path}: is not valid YAML: {error}") from None
    return Document(path, data, root)


def _check_aliases(root: yaml.Node | None) -> None:
    """Refuse a file that contains itself, or that is small only because it repeats by reference what is large."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = LARGEST  # until it is known: what contains itself is as large as can be
            sizes[id(node)] = 1 + sum(map(size, _children(node)))
        if sizes[id(node)] >= LARGEST:
            problem = "the references in it contain themselves, or expand to too much"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return sizes[id(node)]

    size(root)


def _children(node: yaml.Node | None) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


class Inline(list[Any]):
    """A list that is written on one line."""


class _Dumper(SafeDumper):
    """Writes texts of several lines as blocks, and nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)  # type: ignore[no-any-return]


def _represent_inline(dumper: Any, items: Inline) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)  # type: ignore[no-any-return]


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(Inline, _represent_inline)


def dump(data: Any) -> str:
    """Data as YAML, in the order that it has."""
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=False, width=WIDTH)
