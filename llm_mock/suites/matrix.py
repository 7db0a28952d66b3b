"""The matrix of a suite: the models, system prompts, roles or targets that its cases are run with, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import Field, PrivateAttr

from llm_mock.suites.assertion_types.base import StrictModel, accept_text_items
from llm_mock.suites.target import Target
from llm_mock.support.text import shorten
from llm_mock.support.validation import Text

MOST_VARIANTS = 1_000
Problem = tuple[tuple[str | int, ...], str]


class _Entry(StrictModel):
    """One of the things that stand side by side."""

    alone: ClassVar[str] = "name"
    """The key of what a text alone stands for."""

    name: Text | None = None
    """What its variants are called; by default the text that says what it is."""
    _line: int | None = PrivateAttr(default=None)

    @property
    def called(self) -> str:
        """What its variants are called."""
        return self.name or str(getattr(self, self.alone))

    @property
    def line(self) -> int | None:
        """Where in the suite it stands, from 1; None for one that was made in Python."""
        return self._line


class _EntryOrText(_Entry):
    @pydantic.model_validator(mode="before")
    @classmethod
    def _text_alone(cls, data: Any) -> Any:
        return {cls.alone: data} if isinstance(data, str) else data


class MatrixModel(_EntryOrText):
    """A model in place of the role's; its id alone stands for one without options."""

    alone = "model"

    model: Text
    """Any model id or alias that `llm` knows."""
    options: Mapping[str, Any] = {}
    """Options of the model, before those of the role."""


class MatrixRole(_EntryOrText):
    """A role; the path of its file alone stands for one without a name."""

    alone = "role"

    role: Text
    """The file, from the folder of the suite."""
    _role: Any = PrivateAttr(default=None)
    """What the file says, once it is read: a `Role`."""


class MatrixPrompt(_Entry):
    """A system prompt in place of the role's."""

    name: Text
    text: str | None = None
    file: Text | None = None
    """Instead of `text`: a text file with it, beside the suite."""

    @pydantic.model_validator(mode="after")
    def _is_one(self) -> MatrixPrompt:
        if (self.text is None) == (self.file is None):
            raise ValueError("needs a 'text' or a 'file', and not both")
        return self


class MatrixTarget(Target, _Entry):
    """A target."""

    name: Text


class Matrix(StrictModel):
    """What the cases of a suite are run with: every combination of what stands in its lists."""

    roles: Annotated[tuple[MatrixRole, ...], Field(json_schema_extra=accept_text_items)] = ()
    """Instead of one that the run names."""
    targets: tuple[MatrixTarget, ...] = ()
    """Instead of `target` of the suite."""
    models: Annotated[tuple[MatrixModel, ...], Field(json_schema_extra=accept_text_items)] = ()
    system_prompts: tuple[MatrixPrompt, ...] = ()

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def _not_empty(cls, entries: Any) -> Any:
        if isinstance(entries, (list, tuple)) and not entries:
            raise ValueError("should not be empty")
        return entries

    @pydantic.model_validator(mode="after")
    def _has_axes(self) -> Matrix:
        if not self.axes:
            raise ValueError(f"is empty: list what stands side by side, as {', '.join(AXES)}")
        if self.targets and len(self.axes) > 1:
            other = next(name for name in self.axes if name != "targets")
            raise ValueError(f"'targets' and {other!r} exclude each other: a target asks models of its own")
        return self

    @property
    def axes(self) -> dict[str, Sequence[_Entry]]:
        """The lists that are there, by their names."""
        return {name: entries for name in AXES if (entries := getattr(self, name))}


AXES = {"roles": "role", "targets": "target", "models": "model", "system_prompts": "system_prompt"}
"""The lists of a matrix, and what one entry of each is called."""


def problems_with_matrix(matrix: Matrix, target: Target | None) -> Iterator[Problem]:
    """What is wrong with the matrix of a suite, beyond what its format says: where it stands, and what."""
    if target is not None:
        instead = "write it as one of the 'targets'" if matrix.targets else "leave one of them out"
        yield ("matrix",), f"'target' and 'matrix' exclude each other: {instead}"
    for axis, entries in matrix.axes.items():
        first: dict[str, _Entry] = {}
        for position, entry in enumerate(entries):
            if (other := first.setdefault(entry.called, entry)) is not entry:
                where = f" (line {other.line})" if other.line else ""
                text = f"the {AXES[axis].replace('_', ' ')} {shorten(entry.called, 60)} stands twice{where}"
                yield ("matrix", axis, position), f"{text}: leave it out, or give one of them another 'name'"
    number = math.prod(map(len, matrix.axes.values()))
    if number > MOST_VARIANTS:
        yield ("matrix",), f"gives {number:,} variants: at most {MOST_VARIANTS:,} can stand side by side"


def variant_name(parts: Mapping[str, str] | None) -> str:
    """What reports call a variant, by the names of its entries; empty where a suite is run in one way only."""
    return ", ".join((parts or {}).values())


def case_name(name: str, variant: str) -> str:
    """What reports and the ids of tests call a case of a variant."""
    return f"{name}[{variant}]" if variant else name
