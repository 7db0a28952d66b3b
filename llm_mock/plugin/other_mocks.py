"""Detection of other libraries' mocks, which take precedence over configured replies."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from types import FunctionType

import pytest

from llm_mock.core.source_location import SourceLocation, format_origin
from llm_mock.plugin.failures import linked_errors, list_frames
from llm_mock.plugin.mock_messages import is_of_project
from llm_mock.support.exceptions import get_module_name

OTHER_MOCKS = {
    "pytest_httpx": ("pytest-httpx", "should_mock of its marker httpx_mock"),
    "requests_mock": ("requests-mock", "real_http=True"),
    "responses": ("responses", 'responses.add_passthru("https://api.openai.com")'),
    "respx": ("respx", 'respx.route(host="api.openai.com").pass_through()'),
    "vcr": ("VCR", ""),
}
"""The mocks by their package: the name, and how to let a request pass on to this package's mock.

VCR can ignore a host, but then connects itself to those that requests and urllib3 call.
"""
TEST_MODELS = {
    "dspy": ("DummyLM",),
    "langchain_core": (
        "FakeChatModel",
        "FakeListChatModel",
        "FakeListLLM",
        "FakeMessagesListChatModel",
        "FakeStreamingListLLM",
        "GenericFakeChatModel",
        "ParrotFakeChatModel",
    ),
    "llama_index": ("MockLLM",),
    "pydantic_ai": ("FunctionModel", "TestModel"),
}
"""The models that frameworks offer for tests, by package."""


MODEL_METHODS = ("iter", "override", "run", "run_stream", "run_stream_events", "run_sync")
"""The methods of an agent of pydantic-ai that take a model."""


def explain_test_model(item: pytest.Item) -> str:
    """Name the test model of a framework that a test uses; empty without one.

    Args:
        item: the test.
    """
    for function in _list_functions(item):
        for call, number in _iter_calls(function):
            name = _name_test_model(call, function)
            if name:
                return _format_test_model(name, (function.__code__.co_filename, number))
        for value in _list_globals(function).values():
            name = _name_model_of(value)
            if name:
                return _format_test_model(name)
    return ""


def _format_test_model(name: str, location: SourceLocation | None = None) -> str:
    return (
        f"{name}{format_origin(location)} answers instead of the provider's model, so its calls do "
        "not reach the mock. Remove it or the replies."
    )


def _list_functions(item: pytest.Item) -> list[FunctionType]:
    """Return a test, its fixtures in the project, and the functions of their files they use."""
    found: list[FunctionType] = []
    for candidate in [getattr(item, "function", None), *_list_fixtures(item)]:
        # A fixture of a class is a bound method.
        function = getattr(candidate, "__func__", candidate)
        if callable(function):
            function = inspect.unwrap(function)
        if not inspect.isfunction(function):
            continue
        file = function.__code__.co_filename
        if is_of_project(file, item):
            found.append(function)
    files = {function.__code__.co_filename for function in found}
    # The list grows during the loop, by the functions that its functions use.
    for function in found:
        for used in _list_helpers(function, files):
            if used not in found:
                found.append(used)
    return found


def _list_fixtures(item: pytest.Item) -> list[Callable[..., object]]:
    """Return the functions of the fixtures that a test uses."""
    fixture_info = getattr(item, "_fixtureinfo", None)  # private
    known = getattr(fixture_info, "name2fixturedefs", {})
    # The last definition of a name overrides those before it.
    return [definitions[-1].func for definitions in known.values() if definitions]


def _list_helpers(function: FunctionType, files: Container[str]) -> list[FunctionType]:
    """Return the global functions of some files that a function uses."""
    helpers = []
    for used in _list_globals(function).values():
        # `isinstance` would run code of objects that stand for others.
        if type(used) is FunctionType and used.__code__.co_filename in files:
            helpers.append(used)
    return helpers


def _list_globals(function: FunctionType) -> dict[str, object]:
    """Return the global values that a function uses, by their names."""
    known = function.__globals__
    names = [name for name in function.__code__.co_names if name in known]
    return {name: known[name] for name in names}


def _iter_calls(function: FunctionType) -> Iterator[tuple[ast.Call, int]]:
    """Yield the calls in the source of a function, each with its line."""
    try:
        lines, first = inspect.getsourcelines(function)
        source = textwrap.dedent("".join(lines))
        tree = ast.parse(source)
    except (OSError, SyntaxError):  # a function without a file, or of a changed file
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, first + node.lineno - 1


def _name_test_model(call: ast.Call, function: FunctionType) -> str:
    """Return the name of the test model that a call creates or selects; empty for another call."""
    target = call.func
    if isinstance(target, ast.Attribute):
        is_method = target.attr in MODEL_METHODS and "pydantic_ai" in sys.modules
        if is_method:
            return _find_test_name(_list_models(call))
        return _name_created(target.attr, None)
    if not isinstance(target, ast.Name):
        return ""
    # Without a global of this name, the function imports it itself.
    known = function.__globals__.get(target.id)
    if target.id == "Agent" and _is_of_package(known, "pydantic_ai"):
        return _find_test_name([*call.args[:1], *_list_models(call)])
    return _name_created(target.id, known)


def _name_created(name: str, known: object) -> str:
    """Return the name of the test model that a class is; empty for other classes."""
    for package, names in TEST_MODELS.items():
        if name not in names or package not in sys.modules:
            continue
        if known is None or _is_of_package(known, package):
            return f"{name} of {package}"
    return ""


def _list_models(call: ast.Call) -> list[ast.expr]:
    """Return the argument `model` of a call, if it has one."""
    return [keyword.value for keyword in call.keywords if keyword.arg == "model"]


def _find_test_name(models: Sequence[ast.expr]) -> str:
    """Return a phrase for the name `test` among the models of a call; empty without it."""
    for model in models:
        if isinstance(model, ast.Constant) and model.value == "test":
            return "The model 'test' of pydantic_ai"
    return ""


def _name_model_of(value: object) -> str:
    """Return the name of the test model that a value is, or that an agent has; else nothing."""
    if _is_of_package(type(value), "pydantic_ai") and type(value).__name__ == "Agent":
        value = getattr(value, "model", None)
    for base in type(value).__mro__:
        for package, names in TEST_MODELS.items():
            if base.__name__ in names and _is_of_package(base, package):
                return f"{base.__name__} of {package}"
    return ""


def _is_of_package(value: object, package: str) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] == package


def find_other_mocks(error: BaseException | None, packages: Iterable[str]) -> set[str]:
    """Return the given packages of other mocks, and those in the traceback of an error."""
    found = {*packages}
    for each in linked_errors(error):
        for frame in list_frames(each):
            module = get_module_name(frame.tb_frame)
            found.add(module.partition(".")[0])
    return found & OTHER_MOCKS.keys()


def explain_other_mocks(packages: Iterable[str]) -> str:
    """Return why configured replies were not used; empty without another mock."""
    return "\n".join(_explain(*OTHER_MOCKS[package]) for package in sorted(packages))


def _explain(name: str, option: str) -> str:
    fix = f"Remove {name} or the replies from this test"
    if option:
        fix = f"{fix}, or let {name} pass requests on: {option}"
    return (
        f"{name} intercepts HTTP in this test and takes precedence over llm_mock: a request that "
        f"{name} answers or refuses does not reach the configured replies. {fix}."
    )
