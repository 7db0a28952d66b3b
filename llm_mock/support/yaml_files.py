"""Read YAML files with the line of each part, and write readable YAML files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
import yaml

from llm_mock.errors import InvalidFile
from llm_mock.support.files import LARGEST_FILE, read_file
from llm_mock.support.text import shorten
from llm_mock.support.validation import Location, Problem, list_problems

if TYPE_CHECKING:
    from yaml import CSafeDumper as SafeDumper
    from yaml import CSafeLoader as SafeLoader
else:
    # libyaml is ten times as fast, but not available everywhere.
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Hides all functions of this module, so that an invalid file is reported on the line that reads it.
__tracebackhide__ = True
WIDTH = 110
LARGEST = 200_000
"""The maximum number of nodes of a file after its references are expanded."""

MOST_PARTS = 100_000
"""The maximum number of keys and values of a hand-written file, because more take seconds."""

DEEPEST = 300
"""The maximum depth of nested parts; `libyaml` crashes if the depth is far greater."""
TOO_DEEP = "it is nested too deeply"
LARGEST_NUMBER = 10**4000
"""The limit from which Python refuses to convert a number to text."""
SHOWN_PROBLEMS = 50
MOST_PROBLEMS = 1_000
"""The maximum number of problems to describe; the first ones in the file are printed."""

Model = TypeVar("Model", bound=pydantic.BaseModel)
Owner = Callable[[Location], tuple[str, int]]

_TAB_INDENTED = re.compile(r" *\t")
_INDENTED = re.compile(r"^[ \-?:\t]{100}", re.MULTILINE)


@dataclass(eq=False, repr=False)
class Document:
    """The content of a YAML file with the location of each part."""

    path: Path
    data: Any
    _root: yaml.Node | None
    _parts: dict[yaml.Node, dict[str, tuple[yaml.Node, int]]] = field(default_factory=dict)
    """The value and the line of each key, cached for mappings."""

    def line_of(self, location: Iterable[str | int]) -> int:
        """Return the line, from 1, of the part at a location, or of the nearest part above it."""
        node = self._root
        line = 1
        for step in location:
            node, line = self._find_child(node, step, line)
        return line

    def _find_child(
        self,
        node: yaml.Node | None,
        step: str | int,
        line: int,
    ) -> tuple[yaml.Node | None, int]:
        """Return a part of a node with its line; None with the line of the node without one."""
        if isinstance(node, yaml.MappingNode):
            if node not in self._parts:
                self._parts[node] = _index_mapping(node)
            return self._parts[node].get(str(step), (None, line))
        if not isinstance(node, yaml.SequenceNode) or not isinstance(step, int):
            return None, line
        if step >= len(node.value):
            return None, line
        child = node.value[step]
        return child, child.start_mark.line + 1

    def error(self, problem: str, location: Iterable[str | int] = ()) -> InvalidFile:
        """Return the error for a problem at a location of the file."""
        line = self.line_of(location)
        return InvalidFile(f"{self.path}:{line}: {problem}")

    def as_model(self, model: type[Model], owner: Owner | None = None) -> Model:
        """Return the validated content.

        Args:
            model: the pydantic model.
            owner: returns the name of the part of the file that a location belongs to, such as a
                case, and the number of steps to it; by default, messages show the whole location.

        Raises:
            InvalidFile: it is invalid; the message has the line of each problem, and the nearest
                known key for an unknown key.
        """
        try:
            return model.model_validate(self.data)
        except pydantic.ValidationError as error:
            all_problems = list_problems(error, model.model_json_schema())
            problems = list(islice(all_problems, MOST_PROBLEMS))
            total = error.error_count()
        located = []
        for problem in problems:
            text = locate_problem(problem, owner)
            located.append((problem.location, text))
        # Outside of the `except` block, so that the traceback does not show the error of pydantic.
        raise self.errors(located, total) from None

    def errors(self, problems: Sequence[tuple[Location, str]], total: int = 0) -> InvalidFile:
        """Return one error for several problems, a line for each, in the order of the file.

        Args:
            problems: the location and the text of each.
            total: the total number of problems, if there are more than these.
        """
        located = [(self.line_of(location), text) for location, text in problems]
        # Sorted only by the line, so that problems on one line keep their order.
        located.sort(key=lambda problem: problem[0])
        lines = []
        for line, text in located[:SHOWN_PROBLEMS]:
            lines.append(f"{self.path}:{line}: {text}")
        left = max(total, len(located)) - len(lines)
        if left > 0:
            lines.append(f"{self.path}: … and {left} more problems")
        return InvalidFile("\n".join(lines))


def _index_mapping(node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, int]]:
    """Return the value and the line of each key."""
    index = {}
    # In reverse order, so that the first of several equal keys remains.
    for key, value in reversed(node.value):
        line = key.start_mark.line + 1
        index[key.value] = (value, line)
    return index


def locate_problem(problem: Problem, owner: Owner | None = None) -> str:
    """Return a problem with its location; for `owner` see `Document.as_model`."""
    name = ""
    steps = 0
    if owner:
        name, steps = owner(problem.location)
    place = ""
    if not problem.names_place:
        place = ".".join(map(str, problem.location[steps:]))
    parts = (name, place, problem.text)
    return ": ".join(filter(None, parts))


class _Loader(SafeLoader):
    """A loader that loads only plain data and refuses duplicate keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                name = (key.tag, key.value)
            else:
                name = None
            if name in seen and key.value != "<<":
                raise _create_error(f"duplicate key {key.value!r}", key)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: Any) -> int:
        try:
            value: int = super().construct_yaml_int(node)
        except ValueError:
            value = LARGEST_NUMBER
        if abs(value) >= LARGEST_NUMBER:
            raise _create_error("not a whole number, or too large", node)
        return value


def _create_error(problem: str, part: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=part.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)


def read(path: Path, largest: int = LARGEST_FILE) -> str:
    """Return the text of a file.

    Raises:
        InvalidFile: it cannot be read, is larger, or is not UTF-8.
    """
    try:
        return read_file(path, largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidFile(
            f"{path}:{line}: is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise InvalidFile(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None


CHECK_INDENTATION = "check the indentation"
HINTS = {
    "mapping values are not allowed in this context": (
        "check the indentation of this line; if it is a text that contains ': ', put it in quotes"
    ),
    "did not find expected key": CHECK_INDENTATION,
    "did not find expected '-' indicator": CHECK_INDENTATION,
    "found a tab character that violates indentation": "indent with spaces",
}
"""The fixes of frequent problems, by the message of the parser in C."""


def load(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        InvalidFile: it is not valid; the message names the line.
    """
    return parse(path, read(path), MOST_PARTS)


def parse(path: Path, text: str, most_parts: int | None = None) -> Document:
    """Parse the text of a YAML file, or the start of it.

    Args:
        path: the file.
        text: its text.
        most_parts: the maximum number of keys and values; None for any.

    Raises:
        InvalidFile: it is not valid; the message names the line.
    """
    try:
        _check_nesting(text)
        if most_parts is not None:
            _check_number_of_parts(text, most_parts)
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if "&" in text:
                _check_aliases(root)
            if root is None:
                data = None
            else:
                data = _construct(loader, root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = error.problem or error.context or ""
        hint = _find_hint(problem, text, line)
        raise InvalidFile(f"{path}:{line}: is not valid YAML: {problem}{hint}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidFile(f"{path}:{line}: is not valid YAML: {error.reason}") from None
    return Document(path, data, root)


def _find_hint(problem: str, text: str, line: int) -> str:
    """Return the fix of a frequent problem, to append to it; empty without one."""
    if problem in HINTS:
        return f"; {HINTS[problem]}"
    # The parser reports a tab like any other unexpected character.
    is_unexpected = problem == "found character that cannot start any token"
    if is_unexpected and _TAB_INDENTED.match(text.splitlines()[line - 1]):
        return "; the line is indented with a tab; indent with spaces"
    return ""


PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
NOT_CONSTRUCTED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The exceptions that PyYAML raises for a value that does not match its tag."""


def _construct(loader: _Loader, root: yaml.Node) -> Any:
    try:
        return loader.construct_document(root)
    except NOT_CONSTRUCTED:
        # PyYAML does not name the part, so each part is tried separately.
        wrong_parts = filter(_is_wrong, _list_tagged(root))
        part = next(wrong_parts, root)
    value = shorten(part.value, 60) if isinstance(part, yaml.ScalarNode) else "this"
    type_name = part.tag.rpartition(":")[2]
    raise _create_error(f"{value} is not a valid {type_name}", part)


def _list_tagged(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the parts of a document that may not match their tag: all except plain containers."""
    if node.tag not in PLAIN_TAGS or isinstance(node, yaml.ScalarNode):
        yield node
    for child in _list_children(node):
        yield from _list_tagged(child)


def _is_wrong(part: yaml.Node) -> bool:
    """Return whether a part cannot be constructed on its own."""
    try:
        _Loader("").construct_document(part)
    except NOT_CONSTRUCTED:
        return True
    return False


def _check_nesting(text: str) -> None:
    """Refuse a text that is nested too deeply, before `libyaml` creates a tree of it."""
    # Most files skip the parsing of events, without deep indentation and many brackets.
    if not _INDENTED.search(text) and _count_open_brackets(text) < 100:
        return
    depth = 0
    for event in yaml.parse(text, Loader=SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise _create_error(TOO_DEEP, event)


def _check_number_of_parts(text: str, most: int) -> None:
    """Refuse a file with too many parts."""
    # Parts are counted only if the text has enough separators for too many parts.
    separators = sum(map(text.count, (":", "-", ",", "[", "{", "?")))
    if separators < most // 2:
        return
    events = yaml.parse(text, Loader=SafeLoader)
    for number, event in enumerate(events):
        if number > most:
            problem = f"it has more than {most:,} keys and values; split it into several files"
            raise _create_error(problem, event)


def _count_open_brackets(text: str) -> int:
    """Return the maximum number of open brackets; brackets in texts count, too."""
    most = 0
    opened = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        if bracket in "[{":
            opened += 1
            most = max(most, opened)
        else:
            opened = max(0, opened - 1)
    return most


def _check_aliases(root: yaml.Node | None) -> None:
    """Refuse circular references, and references that repeat large parts many times."""
    measured: dict[int, tuple[int, int]] = {}

    def measure(node: yaml.Node | None) -> tuple[int, int]:
        """Return the number of nodes and the depth of a part."""
        key = id(node)
        if key not in measured:
            # Until its size is known. A part that contains itself is found with this size.
            measured[key] = (LARGEST, 0)
            size = 1
            depth = 0
            for child in _list_children(node):
                child_size, child_depth = measure(child)
                size += child_size
                depth = max(depth, child_depth)
            measured[key] = (size, depth + 1)
        size, depth = measured[key]
        if size >= LARGEST:
            problem = "its references are circular, or too large when expanded"
            raise _create_error(problem, node)
        if depth > DEEPEST:
            raise _create_error(TOO_DEEP, node)
        return size, depth

    measure(root)


def _list_children(node: yaml.Node | None) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return chain.from_iterable(node.value)
    if isinstance(node, yaml.SequenceNode):
        items: list[yaml.Node] = node.value
        return items
    return ()


class Inline(list[Any]):
    """A list for one line of YAML."""


class InlineFields(dict[str, Any]):
    """A mapping for one line of YAML."""


class _Dumper(SafeDumper):
    """A dumper that writes multi-line texts as blocks and never uses references."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_STR, _SEQ, _MAP = "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(_STR, text, "|" if "\n" in text else None)
)
_Dumper.add_representer(
    Inline, lambda dumper, items: dumper.represent_sequence(_SEQ, items, flow_style=True)
)
_Dumper.add_representer(
    InlineFields, lambda dumper, items: dumper.represent_mapping(_MAP, items, flow_style=True)
)


def dump(data: object) -> str:
    """Return data as YAML, in its order."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=WIDTH,
    )
    # `libyaml` ends the document explicitly after texts such as "a\n\n".
    if text.endswith("\n...\n"):
        return text.removesuffix("...\n")
    return text
