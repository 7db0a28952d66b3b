"""Recognises the patches of `llm` that a test makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from llm_mock.migrate.doubles import Argument, PatchedGetter, TestDouble, Value
from llm_mock.migrate.manual_changes import BY_HAND, CannotRewrite
from llm_mock.migrate.symbol_table import SymbolTable, configure
from llm_mock.migrate.syntax import code, get_arguments, get_string
from llm_mock.migrate.targets import GETTERS, LIBRARY, resolve_target


@dataclass(frozen=True)
class Patch:
    """One patch: what it gives the test, and which functions of `llm` it replaces."""

    value: TestDouble
    getters: tuple[PatchedGetter, ...]
    gives_argument: bool
    """Whether a decorator hands the mock to the test."""


_OF_MODELS = re.compile(r"Model|Response|Conversation|\.get_\w+$|\.execute$|\.prompt$")
_METHODS = {
    "monkeypatch.setattr": "setattr",
    "mp.setattr": "setattr",
    "monkeypatch.setitem": "setitem",
    "mp.setitem": "setitem",
}


class CannotRewritePatch(CannotRewrite):
    """A patch that is one of `llm`, or may be."""


def parse_patch(node: cst.BaseExpression, frame: SymbolTable, path: Path) -> Patch | None:
    """What `patch(…)`, `patch.object(…)`, `mocker.patch(…)` or `monkeypatch.setattr(…)` does to `llm`.

    None where an expression is something else, or patches something else.

    Raises:
        CannotRewritePatch: it is not known.
    """
    if not isinstance(node, cst.Call):
        return None
    kind = frame.scope.patcher(node.func)
    if (method := _METHODS.get(frame.scope.meaning(node.func))) is not None:
        kind = method
    given = get_arguments(node)
    if kind is None or given is None or not given[0]:
        return None
    positional, named = list(given[0]), dict(given[1])
    if kind not in ("patch", "patch.object", "setattr"):
        _refuse_many(kind, node, positional, named, frame)
        return None
    target = _patched(kind, positional, named, frame)
    try:
        found = None if target is None else resolve_target(target, path)
        if found is None:
            _refuse_other_parts(target, node)
            return None
        return _patch(node, target or "", found[1], kind, positional, named, frame)
    except CannotRewrite as unsure:
        raise CannotRewritePatch(unsure.why, unsure.instead, unsure.node or node) from None


def _refuse_many(
    kind: str,
    node: cst.Call,
    positional: list[cst.BaseExpression],
    named: dict[str, cst.BaseExpression],
    frame: SymbolTable,
) -> None:
    """What replaces a whole module, or several names at once, is left to a person, if `llm` is among them."""
    if kind == "patch.multiple":
        if found := sorted(named.keys() & GETTERS.keys()):
            raise CannotRewritePatch(f"patch.multiple replaces {found[0]}", BY_HAND, node)
        return
    if (get_string(positional[0]) or frame.scope.meaning(positional[0])) != "sys.modules" or len(positional) < 2:
        return
    names = [get_string(positional[1])]
    if isinstance(positional[1], cst.Dict):
        names = [get_string(part.key) for part in positional[1].elements if isinstance(part, cst.DictElement)]
    if LIBRARY in names:
        raise CannotRewritePatch(
            f"the module {LIBRARY} is replaced as a whole",
            "Take that out: the application imports the real one, and mock_llm_responses.set(model, reply) answers.",
            node,
        )


def _patched(
    kind: str, positional: list[cst.BaseExpression], named: dict[str, cst.BaseExpression], frame: SymbolTable
) -> str | None:
    """The dotted path of what is patched; what is left of the arguments says by what."""
    first = positional.pop(0)
    if kind == "patch" or (kind == "setattr" and len(positional) == 1 and "value" not in named):
        return _text(first, frame)
    name = _text(positional.pop(0), frame) if positional else None
    owner = frame.scope.meaning(first)
    return f"{owner}.{name}" if owner and name else None


def _text(node: cst.BaseExpression, frame: SymbolTable) -> str | None:
    """A text that is written out, or made of constants of the file."""
    if isinstance(node, cst.Name):
        constant = frame.scope.constant(node.value)
        return None if constant is None else get_string(constant)
    if isinstance(node, cst.FormattedString):
        parts = [
            part.value if isinstance(part, cst.FormattedStringText) else _text(part.expression, frame)
            for part in node.parts
            if isinstance(part, (cst.FormattedStringText, cst.FormattedStringExpression))
        ]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        left, right = _text(node.left, frame), _text(node.right, frame)
        return None if left is None or right is None else left + right
    return get_string(node)


def _refuse_other_parts(target: str | None, node: cst.Call) -> None:
    """A patch of something else in `llm` is one to be looked at by a person."""
    if target is not None and target.startswith(f"{LIBRARY}.") and _OF_MODELS.search(target):
        raise CannotRewrite(
            f"{target} is patched, and only get_model and get_async_model are rewritten",
            "Take out the patch and say what the model answers: mock_llm_responses.set(model, reply).",
            node,
        )


def _patch(
    node: cst.Call,
    target: str,
    name: str,
    kind: str,
    positional: list[cst.BaseExpression],
    named: dict[str, cst.BaseExpression],
    frame: SymbolTable,
) -> Patch:
    named.pop("raising", None)
    if (maker := named.get("new_callable")) is not None and frame.scope.mock_class(maker) in ("Mock", "MagicMock"):
        del named["new_callable"]
    new = positional[0] if positional else named.pop("value" if kind == "setattr" else "new", None)
    double = TestDouble()
    if new is not None:
        value = _replacement(new, frame)
        if not isinstance(value, TestDouble):
            raise CannotRewrite(f"{target} is replaced by {code(new)}, and what that is is not known", node=node)
        double = value
    configure(double, named, frame)
    if name:
        getters: tuple[PatchedGetter, ...] = (PatchedGetter(target, double, GETTERS[name]),)
    else:
        parts = {getter: TestDouble() for getter in GETTERS}
        if double.attributes or not double.is_blank:
            raise CannotRewrite(f"{target}, the whole library, is replaced by {code(new or node)}", node=node)
        double.grows = False
        double.attributes.update(parts)
        getters = tuple(PatchedGetter(f"{target}.{part}", each, GETTERS[part]) for part, each in parts.items())
    return Patch(double, getters, new is None)


def _replacement(node: cst.BaseExpression, frame: SymbolTable) -> Value:
    """What stands in the place of `get_model`: a mock, a function, or a class whose objects are models."""
    if isinstance(node, cst.Name) and node.value in frame.scope.classes and node.value not in frame.names:
        name = "model_name"
        inner = SymbolTable(frame.scope, {**frame.names, name: Argument(name)}, frame.depth + 1)
        return TestDouble(grows=False, result=inner.value(cst.Call(node, [cst.Arg(cst.Name(name))])))
    return frame.value(node)
