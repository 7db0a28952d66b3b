"""Values of the names in a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.syntax import to_source

if TYPE_CHECKING:
    import libcst as cst

# `Mock()` is synchronous, but these attributes of it are called by `async for` and `async with`.
_ASYNC_METHODS = ("__aiter__", "__aenter__", "__aexit__")


@dataclass(frozen=True)
class PlainCode:
    """An expression without mocks, which stays as it is written."""

    node: cst.BaseExpression


@dataclass(frozen=True)
class Argument:
    """A value that the application passes, which is unknown here."""

    name: str


@dataclass(frozen=True)
class SideEffectList:
    """A list or tuple that has mocks in it."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class ReturnByName:
    """Mocks by model name: a dict, or a function that chooses by its argument.

    The name `"*"` is the default.
    """

    values: tuple[tuple[str, Value], ...]


# Compared by identity: two mocks that are configured alike are different models.
@dataclass(eq=False)
class TestDouble:
    """A mock, or an object that a test uses as one.

    Attributes:
        is_async: whether a call of it must be awaited.
        has_any_attribute: whether it makes attributes on access, as a `Mock` does.
        attributes: its attributes that were set or read.
        return_value: the result of a call.
        side_effect: its `side_effect`, or what it raises.
        problem: why its behaviour is unknown.
        methods: for an object of a class, its methods, which were evaluated already.
        responses: for a function, the doubles made before that a call of it may return.
        logs: for a function, those in which it keeps the arguments of its calls.
        library: for the double of a whole library, the path at which it is patched.
    """

    __test__ = False  # the name begins as a test class does

    is_async: bool = False
    has_any_attribute: bool = True
    attributes: dict[str, Value] = field(default_factory=dict)
    return_value: Value | None = None
    side_effect: Value | None = None
    # Raised only if the application depends on the double.
    problem: CannotRewrite | None = None
    methods: Set[str] | None = None
    responses: list[TestDouble] = field(default_factory=list)
    logs: list[ArgumentLog] = field(default_factory=list)
    library: str = ""

    def get_attribute(self, name: str) -> Value:
        """Return an attribute; a mock makes the ones it does not have."""
        if name == "return_value":
            return self.get_return_value()
        if name not in self.attributes:
            if self.library:
                raise CannotRewrite(
                    f"{self.library}.{name} is mocked, but the command can rewrite only mocks of "
                    "model calls",
                    f'Patch it separately with patch("{self.library}.{name}"), then run the '
                    "command again.",
                )
            if not self.has_any_attribute:
                raise CannotRewrite(f"the fake has no attribute {name}")
            is_async = self.is_async or name in _ASYNC_METHODS
            # An AsyncMock still has a synchronous __iter__.
            self.attributes[name] = TestDouble(is_async=is_async and name != "__iter__")
        return self.attributes[name]

    def get_return_value(self) -> Value:
        """Return the result of a call; a mock makes another mock."""
        if self.return_value is None:
            self.return_value = TestDouble(is_async=self.is_async)
        return self.return_value

    def set_attribute(self, name: str, value: Value) -> None:
        """Set an attribute as an assignment in the test does."""
        if self.library and isinstance(self.attributes.get(name), TestDouble):
            raise CannotRewrite(
                f"the test replaces {self.library}.{name} after it patches {self.library}",
                f'Patch it separately with patch("{self.library}.{name}", …), then run the '
                "command again.",
            )
        if name == "return_value":
            self.return_value = value
        elif name == "side_effect":
            # Assigning None removes the side effect.
            is_none = isinstance(value, PlainCode) and to_source(value.node) == "None"
            self.side_effect = None if is_none else value
        else:
            if self.methods is not None and name not in self.methods:
                self.problem = CannotRewrite(
                    f"the test changes the attribute {name} of a fake after it creates the fake",
                    "Configure the replies instead: mock_llm_responses.set(model, reply).",
                )
            self.attributes[name] = value

    @property
    def is_unconfigured(self) -> bool:
        """Return whether it has no result, no side effect and no problem."""
        return self.return_value is None and self.side_effect is None and self.problem is None


@dataclass
class Record:
    """A form in which one fake keeps each call.

    Attributes:
        double: the double for the fake.
        kind: `append` to a list, `assign` in place of the last one, `merge` into a dict, or
            `items` of a dict.
        values: what is kept, by the keys of `items`; others have the key `""`.
        first: the name of its first parameter.
    """

    double: TestDouble
    kind: str
    values: dict[str, cst.BaseExpression]
    first: str

    def describe(self) -> tuple[object, ...]:
        """Return a value that is equal for records of one form."""
        sources = {}
        for key, value in self.values.items():
            sources[key] = to_source(value)
        return self.kind, sources, self.first


@dataclass(eq=False)
class ArgumentLog(TestDouble):
    """A list, a dict or an attribute in which fakes keep the arguments of their calls.

    Attributes:
        records: what each fake keeps in it.
        has_conflict: whether a fake keeps several values at one place.
    """

    has_any_attribute: bool = False
    records: list[Record] = field(default_factory=list)
    has_conflict: bool = False

    @property
    def is_mixed(self) -> bool:
        """Return whether fakes keep their calls in several ways."""
        if self.has_conflict:
            return True
        first, *others = [record.describe() for record in self.records]
        return any(form != first for form in others)

    def keeps_calls_of(self, double: TestDouble) -> bool:
        """Return whether a double, or the function that it calls, is one of the fakes."""
        for record in self.records:
            if record.double is double or record.double is double.side_effect:
                return True
        return False

    def note(self, new: Record) -> None:
        """Add what a fake keeps of each call to what it keeps otherwise."""
        for record in self.records:
            if record.double is not new.double:
                continue
            is_kept_twice = not record.values.keys().isdisjoint(new.values)
            if record.kind != new.kind or is_kept_twice:
                self.has_conflict = True
            record.values |= new.values
            return
        self.records.append(new)
        new.double.logs.append(self)


@dataclass(eq=False)
class LegacyMock(TestDouble):
    """The result of a project's own `create_mock_get_model`, with its own replies and calls.

    Attributes:
        statements: the new statements for the replies given when it was made.
    """

    statements: tuple[str, ...] = ()


@dataclass(eq=False)
class PatchedGetter:
    """A patch of `llm.get_model` or `llm.get_async_model`.

    Attributes:
        target: the patched path, such as `app.get_model`.
        double: the replacement.
        returns_async_models: whether it is `get_async_model`.
        requested_models: the model names that the test is known to request, in order.
    """

    target: str
    double: TestDouble
    returns_async_models: bool = False
    requested_models: tuple[str, ...] = ()

    @property
    def only_model(self) -> str | None:
        """The requested model if there is exactly one."""
        if len(set(self.requested_models)) == 1:
            return self.requested_models[0]
        return None


Value: TypeAlias = PlainCode | Argument | SideEffectList | ReturnByName | TestDouble


def iterate_doubles(values: Iterable[Value | None]) -> Iterator[TestDouble]:
    """Yield the doubles among some values, and all doubles reachable from them, each once."""
    for value in _iterate_values(values):
        if isinstance(value, TestDouble):
            yield value


def iterate_code(value: Value) -> Iterator[cst.BaseExpression]:
    """Yield the expressions without mocks in a value, and in the doubles that it leads to."""
    for part in _iterate_values([value]):
        if isinstance(part, PlainCode):
            yield part.node


def _iterate_values(values: Iterable[Value | None]) -> Iterator[TestDouble | PlainCode]:
    pending: list[Value | None] = [*values]
    visited: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, SideEffectList):
            pending += value.values
        elif isinstance(value, ReturnByName):
            pending += dict(value.values).values()
        elif isinstance(value, PlainCode):
            yield value
        elif isinstance(value, TestDouble) and id(value) not in visited:
            visited.add(id(value))
            yield value
            pending += [*value.attributes.values(), value.return_value, value.side_effect]
            pending += value.responses
            pending += value.logs
