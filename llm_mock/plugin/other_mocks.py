"""Detection of other libraries' mocks, which take precedence over configured replies."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable

import pytest

from llm_mock.core.source_location import format_origin
from llm_mock.plugin.failures import linked_errors, list_frames

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
"""The models of frameworks that call no provider, by the package."""


def explain_test_model(item: pytest.Item) -> str:
    """Return which model of a framework a test uses in place of a provider's; empty without one.

    Args:
        item: the test.
    """
    function = getattr(item, "function", None)
    if not inspect.isfunction(function):
        return ""
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:  # a function without a file
        return ""
    for package, names in TEST_MODELS.items():
        if package not in sys.modules:
            continue
        for number, line in enumerate(lines, start=first):
            used = re.search(rf"\b({'|'.join(names)})\(", line)
            if used is not None:
                place = format_origin((function.__code__.co_filename, number))
                return (
                    f"{used[1]} of {package}{place} answers instead of the provider's model, so "
                    "its calls do not reach the mock. Remove it or the replies."
                )
    return ""


def find_other_mocks(error: BaseException | None, packages: Iterable[str]) -> set[str]:
    """Return the packages of other mocks among some, and those through which an error came."""
    found = {*packages}
    for each in linked_errors(error):
        for frame in list_frames(each):
            module = str(frame.tb_frame.f_globals.get("__name__", ""))
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
