"""What the names of a test stand for, as far as they are mocks, or are known from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.syntax import code

if TYPE_CHECKING:
    import libcst as cst


@dataclass(frozen=True)
class PlainCode:
    """An expression that is no mock, and stays as it is written."""

    node: cst.BaseExpression


@dataclass(frozen=True)
class Argument:
    """What the application passes; a reply that depends on it is not known."""

    name: str


@dataclass(frozen=True)
class SideEffectList:
    """A list or a tuple in which there are mocks."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class ReturnByName:
    """Mocks by name: a dict, or a function that chooses by its argument; `"*"` is any other."""

    values: tuple[tuple[str, Value], ...]


@dataclass(eq=False)
class TestDouble:
    """A mock, or an object that a test put in its place.

    Attributes:
        is_async: whether it has to be awaited when it is called.
        grows: whether it has every attribute, as a `Mock` has.
        result: what a call of it gives.
        effect: its `side_effect`, or what it raises.
        unknown: why what it does is not known.
    """

    is_async: bool = False
    grows: bool = True
    attributes: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    effect: Value | None = None
    unknown: CannotRewrite | None = None

    def attribute(self, name: str) -> Value:
        """What an attribute is; a mock has every one."""
        if name == "return_value":
            return self.returned()
        if name not in self.attributes:
            if not self.grows:
                raise CannotRewrite(f"the fake has no attribute {name}")
            is_async = self.is_async or name in ("__aiter__", "__aenter__", "__aexit__")
            self.attributes[name] = TestDouble(is_async=is_async and name != "__iter__")
        return self.attributes[name]

    def returned(self) -> Value:
        """What a call gives; a mock gives another."""
        if self.result is None:
            self.result = TestDouble(is_async=self.is_async)
        return self.result

    def assign(self, name: str, value: Value) -> None:
        """Set an attribute, as a test does."""
        if name == "return_value":
            self.result = value
        elif name == "side_effect":
            self.effect = None if isinstance(value, PlainCode) and code(value.node) == "None" else value
        else:
            self.attributes[name] = value

    @property
    def is_blank(self) -> bool:
        """Whether nothing was said about it."""
        return self.result is None and self.effect is None and self.unknown is None


@dataclass(eq=False)
class LegacyMock(TestDouble):
    """What `create_mock_get_model` of the first specification gives: it has replies and calls of its own.

    Attributes:
        statements: what it was told when it was made.
    """

    statements: tuple[str, ...] = ()


@dataclass(eq=False)
class PatchedGetter:
    """A patch of `llm.get_model` or `llm.get_async_model`.

    Attributes:
        target: what was patched, such as `app.get_model`.
        double: what it was replaced by.
        of_async_models: whether it is `get_async_model`.
        ids: the names that are known to be asked for, in order.
    """

    target: str
    double: TestDouble
    of_async_models: bool = False
    ids: tuple[str, ...] = ()


Value: TypeAlias = PlainCode | Argument | SideEffectList | ReturnByName | TestDouble
