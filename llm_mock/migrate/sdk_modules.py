"""Recognize mocks of whole SDKs in `sys.modules`."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from llm_mock.migrate.doubles import PlainCode, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_clients import (
    CLIENTS,
    LITELLM,
    PatchedClient,
    find_changed_attribute,
    list_parts,
    new_patched_function,
)
from llm_mock.migrate.symbol_table import SymbolTable, evaluate_replacement
from llm_mock.migrate.syntax import find_nodes, get_index, get_string, to_source

SDKS = (*CLIENTS, LITELLM)


def parse_sdk_modules(
    entries: Mapping[str, cst.BaseExpression],
    table: SymbolTable,
) -> tuple[dict[str, TestDouble], list[PatchedClient]] | None:
    """Return the mocks of modules of SDKs by their names, and the clients that they have.

    Args:
        entries: the values that a test puts into `sys.modules`, by the names of the modules.
        table: the values of the test's names.

    Returns:
        None if no module is one of an SDK whose calls the test mocks.

    Raises:
        CannotRewrite: a module of an SDK is replaced by something unknown.
    """
    if not any(map(_find_sdk, entries)):
        return None
    values = {}
    sdks = []
    for name, node in entries.items():
        values[name] = _evaluate_module(name, node, table)
        if _mocks_sdk(name, values[name], table):
            sdks.append(name)
    if not sdks:
        return None
    doubles: dict[str, TestDouble] = {}
    for name, value in values.items():
        if not isinstance(value, TestDouble):
            raise _new_problem(name, sdks[0], value)
        doubles[name] = value
    clients = []
    for name, double in doubles.items():
        clients += _list_clients(name, double, table)
    return doubles, clients


def find_module_entry(node: cst.BaseExpression, scope: Scope) -> str | None:
    """Return the name of the module of `sys.modules["openai"]`, or None for another expression."""
    if not isinstance(node, cst.Subscript):
        return None
    if scope.qualify(node.value) != "sys.modules":
        return None
    index = get_index(node)
    return None if index is None else get_string(index)


def find_replaced_sdks(module: cst.Module, scope: Scope) -> frozenset[str]:
    """Return the SDKs that a file replaces when it is imported, for all of its tests."""
    found = set()
    for statement in module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            continue
        for target in find_nodes(statement, cst.AssignTarget):
            found.add(find_module_entry(target.target, scope))
        for call in find_nodes(statement, cst.Call):
            if scope.qualify(call.func) == "sys.modules.setdefault" and call.args:
                found.add(get_string(call.args[0].value))
    return frozenset(name for name in found if name in SDKS)


def _find_sdk(name: str) -> str | None:
    """Return the SDK that a module is, is a part of, or has; None for another module."""
    for sdk in SDKS:
        if f"{name}.".startswith(f"{sdk}.") or sdk.startswith(f"{name}."):
            return sdk
    return None


def _evaluate_module(
    name: str,
    node: cst.BaseExpression,
    table: SymbolTable,
) -> TestDouble | cst.BaseExpression | None:
    """Return the mock that replaces a module, its expression if unknown; None for another one."""
    if _find_sdk(name) is None:
        return None
    try:
        value = _evaluate_submodule(name, node, table) or table.evaluate(node)
    except CannotRewrite:
        # Ignore a package of other libraries.
        if name in SDKS:
            raise
        return node
    return value if isinstance(value, TestDouble) else node


def _evaluate_submodule(
    name: str,
    node: cst.BaseExpression,
    table: SymbolTable,
) -> Value | None:
    """Return the mock of `openai.types` that is an attribute of one of `openai`, or None."""
    if not isinstance(node, cst.Attribute):
        return None
    owner = table.evaluate(node.value)
    attribute = node.attr.value
    # After its patch a mock has no other attributes.
    if not isinstance(owner, TestDouble):
        return None
    if name != f"{owner.library}.{attribute}":
        return None
    return owner.attributes.setdefault(attribute, TestDouble())


def _mocks_sdk(
    name: str,
    value: TestDouble | cst.BaseExpression | None,
    table: SymbolTable,
) -> bool:
    """Return whether a module belongs to an SDK whose calls the test may mock."""
    sdk = _find_sdk(name)
    if sdk is None:
        return False
    if not isinstance(value, TestDouble):
        return name == sdk
    if name == sdk:
        parts = list_parts(sdk)
        has_part = not value.attributes.keys().isdisjoint(parts)
        return has_part or value.has_any_attribute
    # `google` is a package of many libraries, and `openai.types` has no client.
    child = sdk.removeprefix(f"{name}.")
    return child in value.attributes or sdk in table.texts


def _new_problem(name: str, sdk: str, value: cst.BaseExpression | None) -> CannotRewrite:
    if value is None:
        return CannotRewrite(
            f"the same patch replaces the modules {name} and {sdk}",
            "Replace each module in a separate patch, then run the command again.",
        )
    source = to_source(value)
    return CannotRewrite(f"the module {name} is replaced by {source}, whose value is unknown")


def _list_clients(name: str, double: TestDouble, table: SymbolTable) -> list[PatchedClient]:
    """Return the patches of clients that are equivalent to the mock of a module.

    From now on the mock has only the parts that the test configures.
    """
    if double.library:
        # Another statement has put it into `sys.modules`, too.
        return []
    clients = []
    if name in SDKS:
        clients = _list_sdk_clients(name, double, table)
    else:
        sdk = _find_sdk(name)
        assert sdk is not None
        child = sdk.removeprefix(f"{name}.")
        _check_module(name, double, child, table)
        part = double.attributes.get(child)
        if isinstance(part, TestDouble):
            clients = _list_clients(sdk, part, table)
    double.has_any_attribute = False
    double.library = name
    return clients


def _list_sdk_clients(
    library: str,
    double: TestDouble,
    table: SymbolTable,
) -> list[PatchedClient]:
    clients = []
    for name in list_parts(library):
        if name not in double.attributes and not double.has_any_attribute:
            continue
        part = double.get_attribute(name)
        if isinstance(part, PlainCode):
            # The name of a class, which is not a mock itself.
            part = evaluate_replacement(part.node, table)
        if isinstance(part, PlainCode):
            source = to_source(part.node)
            raise CannotRewrite(f"{library}.{name} is replaced by {source}, whose value is unknown")
        if not isinstance(part, TestDouble):
            raise CannotRewrite(f"{library}.{name} is replaced by several mocks")
        clients.append(_new_client(library, name, part, double))
    return clients


def _new_client(
    library: str,
    name: str,
    part: TestDouble,
    module: TestDouble,
) -> PatchedClient:
    target = f"{library}.{name}"
    if library == LITELLM:
        patched = new_patched_function(target, part, target)
        patched.module = module
        return patched
    is_async = name.startswith("Async")
    return PatchedClient(
        target,
        part,
        is_async,
        library=library,
        module=module,
    )


def _check_module(name: str, double: TestDouble, child: str, table: SymbolTable) -> None:
    """Refuse the mock of a package or a part of an SDK that has more than the real one."""
    changed = find_changed_attribute(double, name, (child,), table)
    if changed is not None:
        raise CannotRewrite(
            f"the mock of {name} has the attribute {changed[0]}",
            "Remove it, because the new test uses the real SDK.",
        )
