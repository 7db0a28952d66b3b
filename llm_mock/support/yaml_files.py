"""Read YAML files with the line of each part, and write readable ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice
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
else:  # libyaml is ten times as fast, and not everywhere
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

WIDTH = 110
LARGEST = 200_000
"""How many nodes a file with references may have when each reference is written out."""

MOST_PARTS = 100_000
"""How many keys and values a file that people write may have: to read more takes seconds."""

DEEPEST = 300
"""How deep the parts of a file may be nested. `libyaml` crashes where they are far deeper."""
TOO_DEEP = "it is nested too deep"
LARGEST_NUMBER = 10**4000
"""Python does not write larger ones as text."""
SHOWN_PROBLEMS = 50
MOST_PROBLEMS = 1_000
"""How many problems are put into words, of which the first in the file are shown."""

Model = TypeVar("Model", bound=pydantic.BaseModel)
Owner = Callable[[Location], tuple[str, int]]

_INDENTED = re.compile(r"^[ \-?:\t]{100}", re.MULTILINE)
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(eq=False, repr=False)
class Document:
    """The content of a YAML file with the location of each part."""

    path: Path
    data: Any
    _root: yaml.Node | None
    _parts: dict[yaml.Node, dict[str, tuple[yaml.Node, int]]] = field(default_factory=dict)
    """Of mappings that were asked for: each key with its value and its line. To search them each
    time takes long."""

    def line_of(self, location: Iterable[str | int]) -> int:
        """Return the line, from 1, of the part at a location, or of the nearest part above it."""
        node, line = self._root, 1
        for step in location:
            node, line = self._child(node, step, line)
        return line

    def _child(
        self, node: yaml.Node | None, step: str | int, line: int
    ) -> tuple[yaml.Node | None, int]:
        if isinstance(node, yaml.MappingNode):
            if node not in self._parts:
                self._parts[node] = {
                    key.value: (value, key.start_mark.line + 1) for key, value in node.value[::-1]
                }
            return self._parts[node].get(str(step), (None, line))
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            child = node.value[step]
            return child, child.start_mark.line + 1
        return None, line

    def error(self, problem: str, location: Iterable[str | int] = ()) -> InvalidFile:
        """Return the error for a problem at a location of the file."""
        return InvalidFile(f"{self.path}:{self.line_of(location)}: {problem}")

    def as_model(self, model: type[Model], owner: Owner | None = None) -> Model:
        """Return the validated content.

        The error names the line of each problem, and the nearest known key for an unknown one.

        `owner` names the part of the file that a location belongs to, such as a case, and says how
        many steps lead to it; by default the location is shown as a whole.
        """
        try:
            return model.model_validate(self.data)
        except pydantic.ValidationError as error:
            found = list(islice(list_problems(error, model.model_json_schema()), MOST_PROBLEMS))
            total = error.error_count()
        raise self.errors(
            [(problem.location, locate_problem(problem, owner)) for problem in found], total
        ) from None

    def errors(self, problems: Sequence[tuple[Location, str]], total: int = 0) -> InvalidFile:
        """Return one error for several problems, a line for each, in the order of the file.

        `total` says how many there are, where these are not all.
        """
        found = sorted(
            ((self.line_of(location), text) for location, text in problems),
            key=lambda problem: problem[0],
        )
        lines = [f"{self.path}:{line}: {text}" for line, text in found[:SHOWN_PROBLEMS]]
        if (left := max(total, len(found)) - len(lines)) > 0:
            lines.append(f"{self.path}: … and {left} more problems")
        return InvalidFile("\n".join(lines))


def locate_problem(problem: Problem, owner: Owner | None = None) -> str:
    """Return a problem with its location; for `owner` see `Document.as_model`."""
    if owner:
        name, steps = owner(problem.location)
    else:
        name, steps = ("", 0)
    if problem.names_place:
        place = ""
    else:
        place = ".".join(map(str, problem.location[steps:]))
    return ": ".join(filter(None, (name, place, problem.text)))


class _Loader(SafeLoader):
    """Loads plain data only, and refuses a key that stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                name = (key.tag, key.value)
            else:
                name = None
            if name in seen and key.value != "<<":
                raise _refusal(f"the key {key.value!r} stands twice", key)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: Any) -> int:
        try:
            value: int = super().construct_yaml_int(node)
        except ValueError:
            value = LARGEST_NUMBER
        if abs(value) >= LARGEST_NUMBER:
            raise _refusal("this is no whole number, or too large a one", node)
        return value


def _refusal(problem: str, part: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=part.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)


def read(path: Path, largest: int = LARGEST_FILE) -> str:
    """Read a text file of at most so many bytes, or raise an InvalidFile."""
    try:
        return read_file(path, largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidFile(
            f"{path}:{line}: is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise InvalidFile(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None


def load(path: Path) -> Document:
    """Read a YAML file, or raise an InvalidFile with its line."""
    return parse(path, read(path), MOST_PARTS)


def parse(path: Path, text: str, most_parts: int | None = None) -> Document:
    """Read YAML from the text of a file, or from how it begins.

    Args:
        path: the file.
        text: its text.
        most_parts: how many keys and values it may have; None for any number.

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
                data = _constructed(loader, root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidFile(
            f"{path}:{line}: is not valid YAML: {error.problem or error.context}"
        ) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidFile(f"{path}:{line}: is not valid YAML: {error.reason}") from None
    return Document(path, data, root)


PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
NOT_CONSTRUCTED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What the constructors of PyYAML raise for a value that is not what its tag says: they do not
look first."""


def _constructed(loader: _Loader, root: yaml.Node) -> Any:
    try:
        return loader.construct_document(root)
    except NOT_CONSTRUCTED:
        part = next(filter(_is_wrong, _every_tagged(root)), root)
    raise _refusal(f"{_shown(part)} is no {part.tag.rpartition(':')[2]}", part)


def _shown(part: yaml.Node) -> str:
    if isinstance(part, yaml.ScalarNode):
        return shorten(part.value, 60)
    return "this"


def _every_tagged(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the parts of a document that may not fit their tag: all but plain containers."""
    if node.tag not in PLAIN_TAGS or isinstance(node, yaml.ScalarNode):
        yield node
    for child in _children(node):
        yield from _every_tagged(child)


def _is_wrong(part: yaml.Node) -> bool:
    """Return whether a part cannot be constructed on its own."""
    try:
        _Loader("").construct_document(part)
    except NOT_CONSTRUCTED:
        return True
    return False


def _check_nesting(text: str) -> None:
    """Refuse what is nested too deep, before `libyaml` makes a tree of it."""
    if not _INDENTED.search(text) and _open_brackets(text) < 100:
        return
    depth = 0
    for event in yaml.parse(text, Loader=SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise _refusal(TOO_DEEP, event)


def _check_number_of_parts(text: str, most: int) -> None:
    """Refuse a file of very many parts, which are counted only if the text has as many characters
    between them."""
    if sum(map(text.count, (":", "-", ",", "[", "{", "?"))) < most // 2:
        return
    events = enumerate(yaml.parse(text, Loader=SafeLoader))
    for number, event in events:
        if number > most:
            raise _refusal(
                f"it has more than {most:,} keys and values; split it into several files", event
            )


def _open_brackets(text: str) -> int:
    """Return the maximum number of open brackets; those in texts count too."""
    steps = (_BRACKETS[bracket] for bracket in re.findall(r"[\[\]{}]", text))
    return max(accumulate(steps, lambda opened, step: max(0, opened + step), initial=0))


def _check_aliases(root: yaml.Node | None) -> None:
    """Refuse a file that contains itself, or that is small only because it repeats by reference
    what is large."""
    measured: dict[int, tuple[int, int]] = {}

    def measure(node: Any) -> tuple[int, int]:
        """Return the number of nodes and the depth of a part."""
        if id(node) not in measured:
            measured[id(node)] = (
                LARGEST,
                0,
            )  # until it is known: what contains itself is as large as can be
            sizes, depths = zip((0, 0), *map(measure, _children(node)), strict=True)
            measured[id(node)] = 1 + sum(sizes), 1 + max(depths)
        size, depth = measured[id(node)]
        if size >= LARGEST:
            raise _refusal("the references in it contain themselves, or expand to too much", node)
        if depth > DEEPEST:
            raise _refusal(TOO_DEEP, node)
        return size, depth

    measure(root)


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


class Inline(list[Any]):
    """A list for one line of YAML."""


class InlineFields(dict[str, Any]):
    """A mapping for one line of YAML."""


class _Dumper(SafeDumper):
    """Writes texts of several lines as blocks, and nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
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


def dump(data: Any) -> str:
    """Return data as YAML, in its order."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=WIDTH,
    )
    return (
        text[: -len("...\n")] if text.endswith("\n...\n") else text
    )  # `libyaml` adds it after texts such as "a\n\n"
