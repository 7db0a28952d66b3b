"""Schema of the matrix of a suite: models, system prompts, roles or targets to compare."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import Field, PrivateAttr

from llm_mock.checks.base import StrictModel, accept_text_items
from llm_mock.suites.target import Target
from llm_mock.support.text import shorten
from llm_mock.support.validation import Text

MAX_VARIANTS = 1_000
SuiteProblem = tuple[tuple[str | int, ...], str]
"""The place of a problem in a suite, and its message."""


class _Entry(StrictModel):
    """An entry in a list of the matrix."""

    main_key: ClassVar[str] = "name"
    """The key that a plain text sets."""

    name: Text | None = None
    """The name of its variants; by default the value of the main key."""
    # Private attributes stay out of the file format; the loader sets them.
    _line: int | None = PrivateAttr(default=None)

    @property
    def display_name(self) -> str:
        """Return the name of its variants."""
        if self.name:
            return self.name
        return str(getattr(self, self.main_key))

    @property
    def line(self) -> int | None:
        """Return its line in the suite, from 1; None for an entry made in Python."""
        return self._line


class _EntryOrText(_Entry):
    @pydantic.model_validator(mode="before")
    @classmethod
    def _expand_text(cls, data: object) -> Any:
        if isinstance(data, str):
            return {cls.main_key: data}
        return data


class MatrixModel(_EntryOrText):
    """A model that replaces the role's; a plain id is a model without options."""

    main_key = "model"

    model: Text
    """A model id or alias of `llm`."""
    options: Mapping[str, Any] = {}
    """The options of the model; they override those of the role."""


class MatrixRole(_EntryOrText):
    """A role; a plain path is a role without a name."""

    main_key = "role"

    role: Text
    """The path of its file, relative to the folder of the suite."""
    # A `Role`, once the file is loaded. Its type would need an upward import.
    _role: Any = PrivateAttr(default=None)


class MatrixPrompt(_Entry):
    """A system prompt that replaces the role's."""

    name: Text
    text: str | None = None
    file: Text | None = None
    """A text file beside the suite, in place of `text`."""

    @pydantic.model_validator(mode="after")
    def _require_one(self) -> MatrixPrompt:
        if (self.text is None) == (self.file is None):
            raise ValueError("needs either a 'text' or a 'file'")
        return self


class MatrixTarget(Target, _Entry):
    """An application under test."""

    name: Text


class Matrix(StrictModel):
    """The variants that the cases of a suite run with: every combination of its lists."""

    roles: Annotated[tuple[MatrixRole, ...], Field(json_schema_extra=accept_text_items)] = ()
    """Roles, in place of the one that the run names."""
    targets: tuple[MatrixTarget, ...] = ()
    """Targets, in place of `target` of the suite."""
    models: Annotated[tuple[MatrixModel, ...], Field(json_schema_extra=accept_text_items)] = ()
    system_prompts: tuple[MatrixPrompt, ...] = ()

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def _reject_empty(cls, entries: object) -> Any:
        # Only lists that are given are validated; the defaults may be empty.
        if isinstance(entries, (list, tuple)) and not entries:
            raise ValueError("should not be empty")
        return entries

    @pydantic.model_validator(mode="after")
    def _validate_axes(self) -> Matrix:
        axes = list(self.axes)
        if not axes:
            raise ValueError(f"is empty: add lists to compare, such as {', '.join(AXES)}")
        if self.targets and len(axes) > 1:
            axes.remove("targets")
            other = axes[0]
            reason = "a target calls its own models"
            raise ValueError(f"'targets' and {other!r} cannot be combined: {reason}")
        return self

    @property
    def axes(self) -> dict[str, Sequence[_Entry]]:
        """Return the lists that are not empty, by their names."""
        axes = {}
        for name in AXES:
            entries = getattr(self, name)
            if entries:
                axes[name] = entries
        return axes


# In the order of the entries in the name of a variant.
AXES = {
    "roles": "role",
    "targets": "target",
    "models": "model",
    "system_prompts": "system_prompt",
}
"""The lists of a matrix, each with the word for one entry."""


def find_matrix_problems(matrix: Matrix, target: Target | None) -> Iterator[SuiteProblem]:
    """Yield the problems with a matrix that its schema does not find."""
    if target is not None:
        fix = "add the target to 'targets'" if matrix.targets else "remove one of them"
        yield ("matrix",), f"'target' and 'matrix' cannot be combined: {fix}"
    for axis, entries in matrix.axes.items():
        yield from _find_duplicates(axis, entries)
    # All combinations of the entries.
    sizes = map(len, matrix.axes.values())
    number = math.prod(sizes)
    if number > MAX_VARIANTS:
        problem = f"the matrix has {number:,} variants, more than {MAX_VARIANTS:,}"
        yield ("matrix",), f"{problem}: remove some entries"


def _find_duplicates(axis: str, entries: Sequence[_Entry]) -> Iterator[SuiteProblem]:
    """Yield a problem for each entry whose name is already taken."""
    word = AXES[axis].replace("_", " ")
    first: dict[str, _Entry] = {}
    for position, entry in enumerate(entries):
        other = first.setdefault(entry.display_name, entry)
        if other is entry:
            continue
        if other.line:
            place = f" (line {other.line})"
        else:
            place = ""
        name = shorten(entry.display_name)
        yield (
            ("matrix", axis, position),
            f"duplicate {word} {name}{place}: remove it, or set another 'name'",
        )


def format_variant_name(parts: Mapping[str, str] | None) -> str:
    """Return the name of a variant in reports; empty without a matrix.

    Args:
        parts: the names of its entries by axis.
    """
    return ", ".join((parts or {}).values())


def format_case_name(name: str, variant: str) -> str:
    """Return the name of a case of a variant, as in reports and in ids of tests."""
    return f"{name}[{variant}]" if variant else name
