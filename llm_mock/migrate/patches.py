"""Recognize the patches of `llm` that a test makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from llm_mock.migrate.doubles import (
    PatchedGetter,
    PlainCode,
    SideEffectList,
    TestDouble,
    Value,
    iterate_doubles,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import PROMPT_METHODS, UNKNOWN_MODEL
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_clients import (
    CLIENTS,
    METHODS,
    ClientMember,
    PatchedClient,
    find_client_class,
    is_async_function,
    new_patched_function,
    new_patched_member,
    resolve_client,
    resolve_client_member,
    resolve_function,
)
from llm_mock.migrate.sdk_modules import find_module_entry, parse_sdk_modules
from llm_mock.migrate.symbol_table import SymbolTable, configure, evaluate_replacement
from llm_mock.migrate.syntax import (
    get_arguments,
    get_dotted_name,
    get_index,
    get_string,
    parse_expression,
    to_source,
)
from llm_mock.migrate.targets import GETTERS, LIBRARY, LISTINGS, resolve_target
from llm_mock.migrate.value_types import makes_object

# Other parts of `llm` through which a test may replace a model.
_MODEL_PARTS = re.compile(
    r"Model|Response|Conversation|\.get_(?!default)\w*model\w*$|\.execute$|\.prompt$"
)
# `mp` is the usual name in `with MonkeyPatch.context() as mp`.
_METHODS = {
    "monkeypatch.setattr": "setattr",
    "mp.setattr": "setattr",
    "monkeypatch.setitem": "setitem",
    "mp.setitem": "setitem",
}


_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


@dataclass(frozen=True)
class Patch:
    """A patch of `llm`.

    Attributes:
        value: the replacement, which the test is given.
        getters: the functions of `llm` that it replaces.
    """

    value: TestDouble
    getters: tuple[PatchedGetter, ...]

    @property
    def checked_class(self) -> PatchedClient | None:
        """The patched class of a client, if the patch may stay and wrap it."""
        last = self.getters[-1] if self.getters else None
        return last if isinstance(last, PatchedClient) and last.wrapped else None


class CannotRewritePatch(CannotRewrite):
    """A patch that replaces `llm`, or may replace it, cannot be rewritten."""


def parse_patch(node: cst.BaseExpression, table: SymbolTable, path: Path) -> Patch | None:
    """Parse `patch(…)`, `patch.object(…)`, `mocker.patch(…)` or `monkeypatch.setattr(…)`.

    Returns:
        The patch, or None if the expression is no patch of `llm`.

    Raises:
        CannotRewritePatch: the command does not understand the patch.
    """
    if not isinstance(node, cst.Call):
        return None
    kind = _METHODS.get(table.scope.qualify(node.func)) or table.scope.get_patcher(node.func)
    arguments = get_arguments(node)
    if kind is None or arguments is None or not arguments[0]:
        return None
    call = _PatchCall(node, kind, arguments[0], arguments[1], table)
    if kind == "patch.multiple":
        call.refuse_getters()
    elif kind in ("patch.dict", "setitem"):
        return call.parse_module()
    else:
        return call.parse(path)
    return None


def ends_with_test(call: cst.Call) -> bool:
    """Return whether a patch is one of a fixture, which needs no start and stop."""
    function = get_dotted_name(call.func) or ""
    return function.startswith(("mocker.", "monkeypatch.", "mp."))


def wrap_class(node: cst.BaseExpression, wrapped: str) -> cst.Call:
    """Return a patch whose mock records how a class is called, and makes its real instances.

    Args:
        node: the patch of the class.
        wrapped: the class.
    """
    call = cst.ensure_type(node, cst.Call)
    arguments = [argument for argument in call.args if argument.keyword is None]
    new = cst.ensure_type(parse_expression(f"patch(wraps={wrapped})"), cst.Call)
    last = arguments[-1]
    [wraps] = new.args
    # Keep a parenthesis on a separate line.
    end = call.args[-1]
    wraps = wraps.with_changes(
        comma=end.comma,
        whitespace_after_arg=end.whitespace_after_arg,
    )
    comma = _COMMA
    whitespace = call.whitespace_before_args
    if isinstance(whitespace, cst.ParenthesizedWhitespace):
        comma = cst.Comma(whitespace_after=whitespace)
    last = last.with_changes(
        comma=comma,
        whitespace_after_arg=cst.SimpleWhitespace(""),
    )
    return call.with_changes(args=[*arguments[:-1], last, wraps])


def new_library_patch(target: str, double: TestDouble) -> Patch:
    """Return the patch of the whole of `llm`; from now on its double has only the real parts."""
    getters = []
    for name, returns_async_models in GETTERS.items():
        part = double.get_attribute(name)
        assert isinstance(part, TestDouble)
        getter = PatchedGetter(
            f"{target}.{name}",
            part,
            returns_async_models,
        )
        getters.append(getter)
    double.has_any_attribute = False
    double.library = target
    return Patch(double, tuple(getters))


def _has_only_models(library: TestDouble) -> bool:
    """Return whether all that a mock of `llm` has is in the real one, or configured by replies."""
    if not library.has_any_attribute:
        return False
    models: list[Value | None] = []
    for name in GETTERS:
        getter = library.get_attribute(name)
        if not isinstance(getter, TestDouble):
            return False
        models.append(getter.return_value)
    for name, value in library.attributes.items():
        if name in GETTERS:
            continue
        if isinstance(value, PlainCode):
            # An error of the name that llm has becomes the real one.
            is_known = name == UNKNOWN_MODEL and to_source(value.node).endswith(name)
        else:
            is_known = name in LISTINGS and _lists_models(value, models)
        if not is_known:
            return False
    return True


def _lists_models(listing: Value, models: Sequence[Value | None]) -> bool:
    """Return whether a function of a mock returns a list of models, and no others."""
    if not isinstance(listing, TestDouble) or listing.side_effect is not None:
        return False
    listed = listing.return_value
    if not isinstance(listed, SideEffectList):
        return False
    return all(any(value is model for model in models) for value in listed.values)


def replies_to_prompts(value: Value) -> bool:
    """Return whether a mock, or one that it leads to, has a method that sends a prompt."""
    methods = {*PROMPT_METHODS, "conversation"}
    doubles = iterate_doubles([value])
    return any(methods & double.attributes.keys() for double in doubles)


def gives_argument(node: cst.BaseExpression, scope: Scope) -> bool:
    """Return whether a decorator passes a mock to the test."""
    if not isinstance(node, cst.Call):
        return False
    patcher = scope.get_patcher(node.func)
    arguments = get_arguments(node)
    if patcher is None or arguments is None:
        return False
    positional, keywords = arguments
    # One more argument is the replacement.
    most = {"patch": 1, "patch.object": 2}.get(patcher, 0)
    return "new" not in keywords and len(positional) <= most


class _PatchCall:
    """The call of a patcher.

    Args:
        node: the call.
        kind: the patcher, such as `patch` or `setattr`.
        positional: its positional arguments.
        keywords: its keyword arguments.
        table: the values of the names around it.
    """

    def __init__(
        self,
        node: cst.Call,
        kind: str,
        positional: list[cst.BaseExpression],
        keywords: dict[str, cst.BaseExpression],
        table: SymbolTable,
    ) -> None:
        self.node = node
        self.kind = kind
        self.positional = positional
        self.keywords = keywords
        self.table = table
        self.is_of_object = False
        """Whether it replaces an attribute of an object other than a module, so not of `llm`."""

    def refuse_getters(self) -> None:
        """Refuse `patch.multiple` of a function of `llm`."""
        getters = sorted(self.keywords.keys() & GETTERS.keys())
        if getters:
            raise CannotRewritePatch(f"patch.multiple replaces {getters[0]}", node=self.node)

    def parse_module(self) -> Patch | None:
        """Return the patch of entries of `sys.modules` that replace `llm` or an SDK, or None."""
        entries = self._list_entries()
        # None makes the import fail, and mocks nothing.
        mocks = {}
        for name, mocked in entries.items():
            if to_source(mocked) != "None":
                mocks[name] = mocked
        if LIBRARY in mocks:
            return self._parse_library(mocks[LIBRARY], is_only=len(entries) == 1)
        try:
            modules = parse_sdk_modules(mocks, self.table)
        except CannotRewrite as error:
            node = error.node or self.node
            raise CannotRewritePatch(error.reason, error.advice, node) from None
        if modules is None:
            return None
        doubles, clients = modules
        if len(mocks) < len(entries) or self._replaces_all():
            raise CannotRewritePatch(
                f"the patch of {min(doubles)} also removes other modules",
                "Remove them in a separate patch, then run the command again.",
                self.node,
            )
        value = TestDouble(has_any_attribute=False, attributes={**doubles})
        return Patch(value, tuple(clients))

    def _parse_library(self, node: cst.BaseExpression, is_only: bool) -> Patch:
        """Return the patch of the entry of `llm`."""
        double = None
        if is_only and not self._replaces_all():
            double = self._evaluate_module(node)
        if double is None:
            raise CannotRewritePatch(
                f"the test replaces the whole module {LIBRARY}",
                "Remove the replacement, so that the application imports the real module, and "
                "configure a reply: mock_llm_responses.set(model, reply).",
                self.node,
            )
        return new_library_patch(LIBRARY, double)

    def _replaces_all(self) -> bool:
        """Return whether `patch.dict(…, clear=True)` removes all other entries."""
        clear = self.keywords.get("clear")
        return clear is not None and to_source(clear) != "False"

    def _evaluate_module(self, node: cst.BaseExpression) -> TestDouble | None:
        """Return the mock that replaces the module of `llm`, if it only has models."""
        try:
            double = self.table.evaluate(node)
        except CannotRewrite:
            return None
        if isinstance(double, TestDouble) and _has_only_models(double):
            return double
        return None

    def _list_entries(self) -> dict[str, cst.BaseExpression]:
        """Return the values that `patch.dict` or `setitem` puts into `sys.modules`, by name."""
        first, *given = self.positional
        mapping = get_string(first) or self.table.scope.qualify(first)
        if mapping != "sys.modules":
            return {}
        if self.kind == "setitem":
            pairs = [given] if len(given) == 2 else []
            keywords = {}
        else:
            pairs = _list_items(given)
            keywords = self.keywords
        entries = {}
        for key, value in pairs:
            name = evaluate_string(key, self.table) or f"<{to_source(key)}>"
            entries[name] = value
        for name, value in keywords.items():
            if name not in ("clear", "values"):
                entries[name] = value
        return entries

    def parse(self, path: Path) -> Patch | None:
        target = self._take_target()
        if target is None or self._wraps_class():
            return None
        try:
            resolved = self._resolve(target, path)
            if resolved is not None:
                return self._new_patch(target, resolved[1])
            client = resolve_client(target, path)
            if client is not None:
                return self._new_sdk_patch(target, *client)
            function = resolve_function(target, path)
            if function is not None:
                return self._new_function_patch(target, function)
            member = resolve_client_member(target, path)
            if member is not None:
                return self._new_member_patch(target, member)
            method = self._find_live_method(target)
            if method is not None:
                return self._new_live_patch(target, method)
            self._refuse_other_parts(target)
        except CannotRewrite as error:
            node = error.node or self.node
            raise CannotRewritePatch(error.reason, error.advice, node) from None
        return None

    def _resolve(self, target: str, path: Path) -> tuple[str, str] | None:
        """Return the part of `llm` that the patch replaces, or None if it replaces none."""
        if self.is_of_object:
            return None
        return resolve_target(target, path)

    def _take_target(self) -> str | None:
        """Remove the target from the arguments and return its dotted path."""
        first = self.positional.pop(0)
        if self.kind == "patch":
            return evaluate_string(first, self.table)
        # setattr("app.get_model", new), as opposed to setattr(app, "get_model", new).
        has_only_value = len(self.positional) == 1 and "value" not in self.keywords
        if self.kind == "setattr" and has_only_value:
            return evaluate_string(first, self.table)
        if not self.positional:
            return None
        owner = self.table.scope.qualify(first)
        second = self.positional.pop(0)
        name = evaluate_string(second, self.table)
        if not owner or not name:
            return None
        self.is_of_object = self._is_object(first)
        return f"{owner}.{name}"

    def _is_object(self, owner: cst.BaseExpression) -> bool:
        """Return whether an expression certainly names an object of a class, and no module."""
        if not isinstance(owner, cst.Name):
            return False
        if owner.value in self.table.objects:
            return True
        values = self.table.plain.get(owner.value, ())
        return len(values) == 1 and makes_object(values[0])

    def _is_listing(self, target: str) -> bool:
        """Return whether a patch returns a list of models without any replies."""
        owner, _, name = target.rpartition(".")
        if owner != LIBRARY or name not in LISTINGS:
            return False
        # Without a list, the test may add models that reply later.
        if not self.positional and not self.keywords:
            return False
        new = self._take_replacement()
        double = self._new_double(
            target,
            new,
        )
        return not replies_to_prompts(double)

    def _refuse_other_parts(self, target: str) -> None:
        if self._is_listing(target):
            return
        if target.startswith(f"{LIBRARY}.") and _MODEL_PARTS.search(target):
            raise CannotRewrite(
                f"{target} is patched; only get_model and get_async_model can be rewritten",
                "Remove the patch and configure the reply: mock_llm_responses.set(model, reply).",
                self.node,
            )

    def _new_sdk_patch(self, target: str, library: str, client: str) -> Patch:
        new = self._take_replacement()
        double = self._new_double(target, new)
        if client:
            wrapped = ""
            if self._may_wrap(new):
                wrapped = f"{library}.{client}"
            patched = PatchedClient(
                target,
                double,
                client.startswith("Async"),
                library=library,
                wrapped=wrapped,
            )
            return Patch(double, (patched,))
        self._check_library(target, new, double)
        double.has_any_attribute = False
        double.library = target
        clients = []
        for name in CLIENTS[library]:
            part = TestDouble()
            double.attributes[name] = part
            path = f"{target}.{name}"
            is_async = name.startswith("Async")
            clients.append(PatchedClient(path, part, is_async, library=library, module=double))
        return Patch(double, tuple(clients))

    def _wraps_class(self) -> bool:
        """Return whether the patch lets the application make real clients."""
        wrapped = self.keywords.get("wraps")
        if wrapped is None:
            return False
        library, _, client = self.table.scope.qualify(wrapped).rpartition(".")
        return client in CLIENTS.get(library, ())

    def _may_wrap(self, new: cst.BaseExpression | None) -> bool:
        """Return whether the patch could make a mock that wraps what it replaces."""
        is_patch = self.kind in ("patch", "patch.object") and not ends_with_test(self.node)
        return is_patch and new is None and self.keywords.keys() <= {"return_value"}

    def _new_function_patch(self, target: str, function: str) -> Patch:
        # patch() makes an AsyncMock for a function that is awaited.
        makes_async = self._pop_async_factory() or is_async_function(function)
        new = self._take_replacement()
        double = self._new_double(target, new, makes_async)
        patched = new_patched_function(target, double, function)
        return Patch(double, (patched,))

    def _new_member_patch(self, target: str, member: ClientMember) -> Patch:
        makes_async = self._pop_async_factory()
        new = self._take_replacement()
        double = self._new_double(target, new, makes_async)
        patched = new_patched_member(target, double, member)
        return Patch(double, (patched,))

    def _find_live_method(self, target: str) -> str | None:
        """Return the path of a method of a client that is made in the test or the application."""
        if self.kind == "patch":
            return None
        # The longest one first, as others are the end of it.
        for path in sorted(METHODS, key=len, reverse=True):
            owner = target.removesuffix(f".{path}")
            if owner == target or owner.endswith(".beta"):
                continue
            if METHODS[path] in self.table.sdks and not self._is_mock(owner):
                return path
        return None

    def _is_mock(self, owner: str) -> bool:
        """Return whether a path leads to a mock, or to what is unknown of one."""
        root, *names = owner.split(".")
        value = self.table.values.get(root)
        if root in self.table.unrelated:
            value = self._evaluate_object(root)
            if value is None:
                return True
        for name in names:
            # An object of a class of the file has what its class assigns, such as a real client.
            if isinstance(value, TestDouble):
                value = value.attributes.get(name, value)
        return value is not None and not isinstance(value, PlainCode)

    def _evaluate_object(self, name: str) -> Value | None:
        """Return the object of a class of the file that a name has; None if it has another."""
        values = self.table.plain.get(name, ())
        if len(values) != 1 or not isinstance(values[0], cst.Call):
            return None
        class_name = self.table.scope.qualify(values[0].func)
        if class_name not in self.table.scope.classes:
            return None
        return self.table.evaluate(values[0])

    def _new_live_patch(self, target: str, path: str) -> Patch:
        makes_async = self._pop_async_factory()
        new = self._take_replacement()
        double = self._new_double(
            target,
            new,
            makes_async,
        )
        client_class = find_client_class(path, double)
        member = ClientMember(client_class, path)
        patched = new_patched_member(
            target,
            double,
            member,
        )
        return Patch(double, (patched,))

    def _pop_async_factory(self) -> bool:
        """Remove `new_callable=AsyncMock` from the arguments; return whether it was there."""
        factory = self.keywords.get("new_callable")
        if factory is None or self.table.scope.get_mock_class(factory) != "AsyncMock":
            return False
        del self.keywords["new_callable"]
        return True

    def _check_library(
        self,
        target: str,
        new: cst.BaseExpression | None,
        double: TestDouble,
    ) -> None:
        """Refuse a configured double of a whole library."""
        if double.attributes or not double.is_unconfigured:
            source = to_source(new or self.node)
            raise CannotRewrite(
                f"the whole library {target} is replaced by {source}",
                node=self.node,
            )

    def _new_double(
        self,
        target: str,
        new: cst.BaseExpression | None,
        is_async: bool = False,
    ) -> TestDouble:
        if new is None:
            double = TestDouble(is_async=is_async)
        else:
            double = self._evaluate_replacement(target, new)
        configure(double, self.keywords, self.table)
        return double

    def _new_patch(self, target: str, name: str) -> Patch:
        new = self._take_replacement()
        double = self._new_double(target, new)
        if name:
            return Patch(double, (PatchedGetter(target, double, GETTERS[name]),))
        self._check_library(target, new, double)
        return new_library_patch(target, double)

    def _take_replacement(self) -> cst.BaseExpression | None:
        """Remove the replacement from the arguments and return it; None is a new mock."""
        self.keywords.pop("raising", None)
        factory = self.keywords.get("new_callable", cst.Name("None"))
        # Much like the default of patch(); configure() refuses any other factory.
        if self.table.scope.get_mock_class(factory) in ("Mock", "MagicMock"):
            del self.keywords["new_callable"]
        if self.positional:
            return self.positional[0]
        keyword = "value" if self.kind == "setattr" else "new"
        return self.keywords.pop(keyword, None)

    def _evaluate_replacement(self, target: str, node: cst.BaseExpression) -> TestDouble:
        value = evaluate_replacement(node, self.table)
        if isinstance(value, TestDouble):
            return value
        raise CannotRewrite(
            f"{target} is replaced by {to_source(node)}, whose value is unknown",
            node=self.node,
        )


def parse_assigned_module(node: cst.Assign, table: SymbolTable) -> Patch | None:
    """Parse `sys.modules["openai"] = mock`, or return None for another assignment."""
    target = node.targets[0].target
    if len(node.targets) > 1:
        return None
    if find_module_entry(target, table.scope) is None:
        return None
    entry = cst.ensure_type(target, cst.Subscript)
    name = get_index(entry)
    assert name is not None
    arguments = [entry.value, name, node.value]
    # The same as `monkeypatch.setitem`.
    args = [cst.Arg(argument) for argument in arguments]
    call = cst.Call(cst.Name("setitem"), args)
    try:
        return _PatchCall(call, "setitem", arguments, {}, table).parse_module()
    except CannotRewrite:
        # Such as the module that was there before.
        return None


def _list_items(given: Sequence[cst.BaseExpression]) -> list[list[cst.BaseExpression]]:
    """Return the items of a dict that is the first argument, if it is literal."""
    items: list[list[cst.BaseExpression]] = []
    if not given or not isinstance(given[0], cst.Dict):
        return items
    for element in given[0].elements:
        if isinstance(element, cst.DictElement):
            items.append([element.key, element.value])
    return items


def evaluate_string(node: cst.BaseExpression, table: SymbolTable) -> str | None:
    """Return the value of a string that is literal or made of constants of the file."""
    if isinstance(node, cst.Name):
        return get_string(table.scope.constants.get(node.value))
    if isinstance(node, cst.FormattedString):
        parts = [_evaluate_string_part(part, table) for part in node.parts]
        return _join(parts)
    if isinstance(node, cst.BinaryOperation):
        if not isinstance(node.operator, cst.Add):
            return None
        left = evaluate_string(node.left, table)
        right = evaluate_string(node.right, table)
        return _join([left, right])
    return get_string(node)


def _evaluate_string_part(
    part: cst.BaseFormattedStringContent,
    table: SymbolTable,
) -> str | None:
    if isinstance(part, cst.FormattedStringText):
        return part.value
    inserted = cst.ensure_type(part, cst.FormattedStringExpression)
    return evaluate_string(inserted.expression, table)


def _join(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return "".join(known)
