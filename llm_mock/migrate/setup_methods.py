"""Rewrite the `setUp` of a class, which patches for all of its tests, together with each test."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.body import Body, get_leading_lines
from llm_mock.migrate.class_patches import BASES
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import (
    collect_names,
    find_local_names,
    find_nodes,
    get_dotted_name,
    get_first_line,
    get_parameter_names,
    get_small_statement,
    get_statements,
    list_assignments,
    parse_statement,
    split_block,
    to_source,
)

_SETUPS = ("setUp", "asyncSetUp")
_TEARDOWNS = ("tearDown", "asyncTearDown")
# These statements separate the methods while they are one function. Both are calls, before which
# the rewriter configures the replies so far. The second one is of a builtin, because the
# application may not be called behind the end of a patch, which the test may have stopped.
_START = "_llm_mock_start()"
_END = "print(_llm_mock_end)"
_ATTRIBUTE = m.Attribute(m.Name("self"))
# Meanwhile `self.client` is the name `self·client`, which is one that no test has.
_DOT = "\N{MIDDLE DOT}"


class SplitTest(NamedTuple):
    """A rewritten test and the methods of its class that were rewritten with it.

    Attributes:
        test: the test.
        setup: the new `setUp`; None if nothing is left of it.
        teardown: the new `tearDown`; None without one, or if nothing is left of it.
    """

    test: cst.FunctionDef
    setup: cst.FunctionDef | None
    teardown: cst.FunctionDef | None

    @property
    def attributes(self) -> dict[str, list[str]]:
        """The values to which the new `setUp` sets each attribute."""
        if self.setup is None:
            return {}
        return _collect_assignments(self.setup)

    def has_methods_of(self, other: SplitTest) -> bool:
        """Return whether the other methods are the same for another test of the class."""
        is_same_setup = _get_source(self.setup) == _get_source(other.setup)
        is_same_teardown = _get_source(self.teardown) == _get_source(other.teardown)
        return is_same_setup and is_same_teardown


@dataclass(frozen=True)
class SetupMethods:
    """The methods of a class that patch for each of its tests.

    Attributes:
        setup: `setUp` or `asyncSetUp`.
        teardown: `tearDown` or `asyncTearDown`, if there is one.
    """

    setup: cst.FunctionDef
    teardown: cst.FunctionDef | None

    @property
    def nodes(self) -> list[cst.FunctionDef]:
        """The methods."""
        if self.teardown is None:
            return [self.setup]
        return [self.setup, self.teardown]

    def join(self, test: cst.FunctionDef) -> cst.FunctionDef:
        """Return a test with the statements of `setUp` before its own and of `tearDown` behind.

        The attributes that `setUp` sets become names of the function.

        Raises:
            CannotRewrite: a name means something else in the test than in `setUp`.
        """
        self._check_names(test)
        statements = []
        for _, statement in self._iterate_statements(test):
            statements.append(statement)
        body = cst.IndentedBlock(statements)
        joined = test.with_changes(body=body)
        attributes = _collect_assignments(self.setup)
        namer = _AttributeNamer(attributes)
        return cst.ensure_type(joined.visit(namer), cst.FunctionDef)

    def _check_names(self, test: cst.FunctionDef) -> None:
        """Refuse a method that uses a name of the file which `setUp` uses as its own."""
        local_names = find_local_names(self.setup)
        local_names.remove("self")
        for method in (test, *self.nodes[1:]):
            names = collect_names(method.body)
            others = names - find_local_names(method)
            for name in sorted(others & local_names):
                raise CannotRewrite(
                    f"{name} is a variable in {self.setup.name.value}, and a different variable "
                    "here",
                    "Rename one of them, then run the command again.",
                )

    def _iterate_statements(
        self,
        test: cst.FunctionDef,
    ) -> Iterator[tuple[cst.FunctionDef, cst.BaseStatement]]:
        """Yield the statements of a joined function, each with the method that it is of."""
        for statement in split_block(self.setup.body):
            yield self.setup, statement
        yield test, parse_statement(_START)
        for statement in split_block(test.body):
            yield test, statement
        yield test, parse_statement(_END)
        for method in self.nodes[1:]:
            for statement in split_block(method.body):
                yield method, statement

    def locate(
        self,
        problem: CannotRewrite,
        test: cst.FunctionDef,
        joined: cst.FunctionDef,
    ) -> tuple[cst.FunctionDef, CannotRewrite]:
        """Return the problem of a joined function as one of a method, and that method."""
        reason = _restore_attributes(problem.reason)
        advice = _restore_attributes(problem.advice)
        old = self._iterate_statements(test)
        new = split_block(joined.body)
        for (method, statement), node in zip(old, new, strict=True):
            if problem.node is not None and _contains(node, problem.node):
                located = CannotRewrite(
                    reason,
                    advice,
                    statement,
                )
                return method, located
        return test, CannotRewrite(reason, advice)

    def split(self, test: cst.FunctionDef, rewritten: cst.FunctionDef) -> SplitTest:
        """Return the methods of a function that was joined and then rewritten.

        Args:
            test: the old test.
            rewritten: the new function.
        """
        restorer = _AttributeRestorer()
        function = cst.ensure_type(rewritten.visit(restorer), cst.FunctionDef)
        body = split_block(function.body)
        footer = getattr(function.body, "footer", ())
        sources = list(map(get_first_line, body))
        start = sources.index(_START)
        end = sources.index(_END)
        # Comments of removed statements are above the next one, which is a separator.
        first = Body(
            body[:start],
            _get_comments(body[start]),
        )
        middle = Body(
            body[start + 1 : end],
            _get_comments(body[end]),
        )
        last = Body(
            body[end + 1 :],
            [*footer],
        )
        own_body = middle.replace(test.body)
        return SplitTest(
            function.with_changes(body=own_body),
            _replace_body(self.setup, first),
            _replace_body(self.teardown, last),
        )

    def select_clients(self, clients: Mapping[str, str]) -> dict[str, str]:
        """Return those of the clients of a joined function that `setUp` makes, by name."""
        selected = {}
        for attribute in _collect_assignments(self.setup):
            name = _name_attribute(attribute)
            if name in clients:
                selected[name] = clients[name]
        return selected

    def find_changed(self, split: SplitTest) -> set[str]:
        """Return the attributes that the new `setUp` sets to other values, or no longer sets."""
        changed = set()
        kept = split.attributes
        for attribute, values in _collect_assignments(self.setup).items():
            if values != kept.get(attribute):
                changed.add(attribute)
        return changed

    def find_problems(
        self,
        tests: Mapping[str, SplitTest],
        methods: Mapping[str, cst.FunctionDef],
    ) -> dict[str, CannotRewrite]:
        """Return the problems of the methods that need the old `setUp`, by name.

        Args:
            tests: the rewritten tests of the class.
            methods: the other methods of the class that have no problem so far, as they become.
        """
        problems: dict[str, CannotRewrite] = {}
        setup_name = self.setup.name.value
        first_name = next(iter(tests))
        first = tests[first_name]
        for name, split in tests.items():
            if split.has_methods_of(first):
                continue
            problems[name] = CannotRewrite(
                f"it needs a different {setup_name} than {first_name}",
                "Configure the replies in each test, then run the command again.",
            )
        changed = self.find_changed(first)
        removed = changed - first.attributes.keys()
        for name, method in methods.items():
            used = _collect_attributes(method)
            used -= _collect_assignments(method).keys()
            # A rewritten test may use what replaces a mock, such as a real client.
            unknown = removed if name in tests else changed
            for attribute in sorted(used & unknown):
                problems[name] = CannotRewrite(
                    f"it uses {attribute}, but the new {setup_name} does not create this mock",
                    "Configure the mock in the tests, then run the command again.",
                )
        return problems


def find_setup_methods(node: cst.ClassDef, scope: Scope) -> SetupMethods | None:
    """Return the `setUp` of a class and its `tearDown`, or None if they may not be all."""
    setups = _find_methods(node, _SETUPS)
    teardowns = _find_methods(node, _TEARDOWNS)
    if len(setups) != 1 or len(teardowns) > 1:
        return None
    bases = {scope.qualify(base.value) for base in node.bases}
    # Other classes may set up more, or have the same `setUp`.
    if not bases or bases.difference(BASES) or _is_base(node, scope):
        return None
    if not all(map(_is_plain, [*setups, *teardowns])):
        return None
    [setup] = setups
    teardown = None
    if teardowns:
        [teardown] = teardowns
    return SetupMethods(setup, teardown)


def _is_plain(method: cst.FunctionDef) -> bool:
    """Return whether a method has no decorator, and no parameter but `self`."""
    return not method.decorators and get_parameter_names(method) == ["self"]


def _find_methods(node: cst.ClassDef, names: Sequence[str]) -> list[cst.FunctionDef]:
    methods = []
    for statement in node.body.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value in names:
            methods.append(statement)
    return methods


def _is_base(node: cst.ClassDef, scope: Scope) -> bool:
    """Return whether another class of the file extends a class."""
    bases: set[str | None] = set()
    for other in scope.classes.values():
        for base in other.bases:
            name = get_dotted_name(base.value)
            bases.add(name)
    return node.name.value in bases


def _iterate_assignments(method: cst.FunctionDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield the attributes that a method sets, such as `self.client`, each with its value."""
    for target, value in list_assignments(method):
        if value is None:
            continue
        for attribute in _list_attributes(target):
            yield attribute, value


def _list_attributes(target: cst.BaseExpression) -> list[str]:
    """Return the attributes that an assignment to a target sets."""
    targets = [target]
    if isinstance(target, cst.Tuple):
        targets = [element.value for element in target.elements]
    attributes = []
    for part in targets:
        if m.matches(part, _ATTRIBUTE):
            attributes.append(to_source(part))
    return attributes


def _collect_assignments(method: cst.FunctionDef) -> dict[str, list[str]]:
    """Return the sources of the values to which a method sets each attribute."""
    found: dict[str, list[str]] = {}
    for attribute, value in _iterate_assignments(method):
        sources = found.setdefault(attribute, [])
        sources.append(to_source(value))
    return found


def collect_mocks(method: cst.FunctionDef, scope: Scope) -> set[str]:
    """Return the attributes that a method sets to new mocks, as in `self.client = Mock()`."""
    found = set()
    for attribute, value in _iterate_assignments(method):
        if isinstance(value, cst.Call) and scope.get_mock_class(value.func) is not None:
            found.add(attribute)
    return found


def _collect_attributes(method: cst.FunctionDef) -> set[str]:
    """Return the attributes of `self` that a method uses, such as `self.client`."""
    found = set()
    for attribute in find_nodes(method, cst.Attribute):
        if m.matches(attribute, _ATTRIBUTE):
            found.add(to_source(attribute))
    return found


class _AttributeNamer(cst.CSTTransformer):
    """Replaces attributes of `self` by names, which the rewriter follows."""

    def __init__(self, attributes: Container[str]) -> None:
        self.attributes = attributes

    def leave_Attribute(
        self,
        original_node: cst.Attribute,
        updated_node: cst.Attribute,
    ) -> cst.BaseExpression:
        source = to_source(original_node)
        if source not in self.attributes:
            return updated_node
        return cst.Name(_name_attribute(source))


class _AttributeRestorer(cst.CSTTransformer):
    """Replaces these names with the attributes that they refer to."""

    def leave_Name(
        self,
        original_node: cst.Name,
        updated_node: cst.Name,
    ) -> cst.BaseExpression:
        owner, dot, name = updated_node.value.partition(_DOT)
        if not dot:
            return updated_node
        return cst.Attribute(cst.Name(owner), cst.Name(name))

    def leave_Comment(
        self,
        original_node: cst.Comment,
        updated_node: cst.Comment,
    ) -> cst.Comment:
        """Restore the attributes of an assertion that became a comment."""
        return cst.Comment(_restore_attributes(updated_node.value))


def _name_attribute(attribute: str) -> str:
    return attribute.replace(".", _DOT)


def _restore_attributes(text: str) -> str:
    return text.replace(f"self{_DOT}", "self.")


def _contains(node: cst.CSTNode, inner: cst.CSTNode) -> bool:
    parts = find_nodes(node, type(inner))
    return any(part is inner for part in parts)


def _get_comments(node: cst.BaseStatement) -> list[cst.EmptyLine]:
    lines = get_leading_lines(node)
    return [line for line in lines if line.comment is not None]


def _get_source(method: cst.FunctionDef | None) -> str:
    """Return the source code of a method, or an empty string if no statements remain."""
    if method is None:
        return ""
    return to_source(method)


def _replace_body(method: cst.FunctionDef | None, body: Body) -> cst.FunctionDef | None:
    """Return a method with another body, or None if the body does nothing."""
    if method is None:
        return None
    new_body = body.replace(method.body)
    new = method.with_changes(body=new_body)
    for statement in get_statements(new):
        if not isinstance(get_small_statement(statement), cst.Pass):
            return new
    return None
