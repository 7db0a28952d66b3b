"""Each library does for its users, with the mock, everything that it can do.

A file in `usage` has a function for each capability: `plain`, `streamed`, `tools`, `structured`,
`asynchronous` and `retried`. They are what a user of the library writes. The script and the
expectations are the same for all. A library whose API is not answered has `refused` alone.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from llm_mock import LLMMock, Reply, call, templates
from llm_mock.boundaries.http.settings import http_settings
from tests.libraries.catalogue import CAPABILITIES, Library, read_libraries
from tests.libraries.scenario import ANSWER, CITIES, PROMPT, VISITED, Weather

pytestmark = pytest.mark.filterwarnings("default")  # their warnings are theirs

ENVIRONMENT = os.environ.get("LIBRARY_ENVIRONMENT")
"""The environment whose libraries must be installed; without it, those that are installed run."""
LIBRARIES = [one for one in read_libraries() if ENVIRONMENT in (None, one.environment)]
CHUNKS = ["It is ", "sunny."]
SUNNY = Weather(city="Bern", degrees=21)

Test = Callable[..., None]


def of_every_library(test: Test) -> Test:
    """Run a test with each library that has the capability at the end of its name."""
    capability = test.__name__.removeprefix("test_")
    cells = []
    for library in LIBRARIES:
        is_refused = capability == "refused"
        missing = {**library.lacks, **library.untried}
        if capability in missing or is_refused is not bool(library.refused):
            continue
        reason = library.faults.get(capability)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        cells.append(pytest.param((library, capability), id=library.name, marks=marks))
    return pytest.mark.parametrize("usage", cells, indirect=True)(test)


@pytest.fixture
def usage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the file of a library, with the settings that it documents."""
    library, capability = request.param
    request.node.user_properties.append(("cell", (library.name, capability)))
    for distribution in library.distributions:
        skip_without(distribution)
    VISITED.clear()
    for name, value in library.variables.items():
        monkeypatch.setenv(name, value)
    if library.hosts:
        monkeypatch.setattr(http_settings, "hosts", library.hosts)
    for name in library.served:
        environment = request.getfixturevalue("llm_mock_server").environment()
        monkeypatch.setenv(name, environment[name])
    return importlib.import_module(f"tests.libraries.usage.{library.name}")


def skip_without(distribution: str) -> None:
    """Skip the test if a distribution is not installed and need not be."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if ENVIRONMENT is not None:
            raise
        pytest.skip(f"{distribution} is not installed")


def script(mock: LLMMock, usage: Any, capability: str, *replies: Any) -> int:
    """Queue the replies of a capability, and return how many there are.

    A library whose answers have a form of their own names them in `REPLIES`.
    """
    replies = getattr(usage, "REPLIES", {}).get(capability, replies)
    for reply in replies:
        mock.add(usage.MODEL, reply)
    return len(replies)


def check_calls(mock: LLMMock, usage: Any, number: int) -> None:
    """Check that the mock saw the model and the prompt in each call."""
    assert [one.model for one in mock.calls] == [usage.MODEL] * number
    for one in mock.calls:
        assert PROMPT in str(one.messages)


@of_every_library
def test_plain(usage: Any, mock_llm_responses: LLMMock) -> None:
    number = script(mock_llm_responses, usage, "plain", ANSWER)
    assert usage.plain().strip() == ANSWER
    check_calls(mock_llm_responses, usage, number)


@of_every_library
def test_streamed(usage: Any, mock_llm_responses: LLMMock) -> None:
    number = script(mock_llm_responses, usage, "streamed", Reply(chunks=CHUNKS))
    chunks = [chunk for chunk in usage.streamed() if chunk]
    assert "".join(chunks).strip() == ANSWER
    assert len(chunks) > 1
    check_calls(mock_llm_responses, usage, number)
    assert mock_llm_responses.last_call.stream is True


@of_every_library
def test_tools(usage: Any, mock_llm_responses: LLMMock) -> None:
    turns = [call("weather", city=city) for city in CITIES]
    number = script(mock_llm_responses, usage, "tools", *turns, ANSWER)
    assert usage.tools().strip() == ANSWER
    assert tuple(VISITED) == CITIES
    check_calls(mock_llm_responses, usage, number)
    calls = mock_llm_responses.calls
    for turn, city in enumerate(CITIES, start=1):
        assert f"{city}: 21 degrees" in str(calls[turn].request.body)


@of_every_library
def test_structured(usage: Any, mock_llm_responses: LLMMock) -> None:
    number = script(mock_llm_responses, usage, "structured", SUNNY)
    found = usage.structured()
    assert isinstance(found, Weather)  # some libraries make a class of their own of it
    assert found.model_dump() == SUNNY.model_dump()
    check_calls(mock_llm_responses, usage, number)


@of_every_library
def test_asynchronous(usage: Any, mock_llm_responses: LLMMock) -> None:
    number = script(mock_llm_responses, usage, "asynchronous", ANSWER)
    assert asyncio.run(usage.asynchronous()).strip() == ANSWER
    check_calls(mock_llm_responses, usage, number)


@of_every_library
def test_retried(usage: Any, mock_llm_responses: LLMMock) -> None:
    number = script(mock_llm_responses, usage, "retried", templates.rate_limit(), ANSWER)
    assert usage.retried().strip() == ANSWER
    check_calls(mock_llm_responses, usage, number)
    first, *_, last = mock_llm_responses.calls
    assert first.error
    assert not last.error


@of_every_library
def test_refused(usage: Any, mock_llm_calls: LLMMock) -> None:
    with pytest.raises(Exception, match=r"(?i)nothing was sent"):
        usage.refused()
    mock_llm_calls.problems.clear()
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_a_capability_is_used_or_its_lack_has_a_reason(library: Library) -> None:
    if library.refused:
        assert "refused" in library.functions
        return
    defined = library.functions & CAPABILITIES.keys()
    missing = {**library.lacks, **library.untried}
    assert defined ^ missing.keys() == CAPABILITIES.keys()
    assert library.faults.keys() <= defined
    assert all([*missing.values(), *library.faults.values(), library.asks])
