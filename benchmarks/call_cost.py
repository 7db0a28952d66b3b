"""The time of a mocked call, compared with `llm`, `unittest.mock` and other fake models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from unittest.mock import Mock

import llm
from pydantic import BaseModel
from table import Row, compared, microseconds
from timing import Call, best_times

from llm_mock import create_mock_get_model

PROMPT, ANSWER = "hello", "Hello!"


class Decision(BaseModel):
    """A schema as an application has it."""

    found: bool
    name: str
    confidence: float


class BareModel(llm.Model):
    """The least that `llm` lets a model be."""

    model_id = "bare"
    supports_schema = True

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        yield ANSWER


def bare() -> Call:
    model = BareModel()
    return lambda: model.prompt(PROMPT).text()


def mocked() -> Call:
    model = create_mock_get_model({"m": ANSWER})("m")
    return lambda: model.prompt(PROMPT).text()


def premade_unittest_mock() -> Call:
    model = _nested_mock()("m")
    return lambda: model.prompt(PROMPT).text()


def bare_with_schema() -> Call:
    model = BareModel()
    return lambda: model.prompt(PROMPT, schema=Decision).text()


def mocked_with_schema() -> Call:
    model = create_mock_get_model({"m": {"found": True, "name": "a", "confidence": 0.5}})("m")
    return lambda: model.prompt(PROMPT, schema=Decision).text()


def created() -> Call:
    return lambda: create_mock_get_model({"m": ANSWER})("m").prompt(PROMPT).text()


def created_unittest_mock() -> Call:
    return lambda: _nested_mock()("m").prompt(PROMPT).text()


def _nested_mock() -> Mock:
    get_model = Mock()
    get_model.return_value.prompt.return_value.text.return_value = ANSWER
    return get_model


def langchain() -> Call:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    model = FakeListChatModel(responses=[ANSWER])
    return lambda: model.invoke(PROMPT).content


def pydantic_ai() -> Call:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(custom_output_text=ANSWER))
    return lambda: agent.run_sync(PROMPT).output


def litellm() -> Call:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or else importing it asks the network
    from litellm import completion

    messages = [{"role": "user", "content": PROMPT}]
    return lambda: (
        completion(model="gpt-4o-mini", messages=messages, mock_response=ANSWER)
        .choices[0]
        .message.content
    )


PEERS: dict[str, tuple[str, Callable[[], Call]]] = {
    "langchain-core": ("`FakeListChatModel`", langchain),
    "pydantic-ai-slim": ("`TestModel`", pydantic_ai),
    "litellm": ("`mock_response`", litellm),
}


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    pairs = (
        ("`prompt(…).text()`", mocked, "bare `llm.Model`", bare, "≤ 1.9"),
        ("the same", mocked, "premade `unittest.mock`", premade_unittest_mock, "about 1"),
        (
            "with a pydantic schema, reply validated",
            mocked_with_schema,
            "bare `llm.Model`",
            bare_with_schema,
            "≤ 0.25",
        ),
        (
            "create the mock, get a model, prompt",
            created,
            "a new `Mock` with nested return values",
            created_unittest_mock,
            "≤ 0.25",
        ),
    )
    makers = {make.__name__: make for _, ours, _, other, _ in pairs for make in (ours, other)}
    times = best_times(makers)
    for what, ours, name, other, goal in pairs:
        yield compared(what, times[ours.__name__], name, times[other.__name__], goal)
    yield from _peer_rows()


def _peer_rows() -> Iterator[Row]:
    versions = {package: _version(package) for package in PEERS}
    installed = {package: make for package, (_, make) in PEERS.items() if versions[package]}
    times = best_times({"ours": mocked, **installed}, turns=30)
    for package, (api, _) in PEERS.items():
        name = f"{package} {versions[package] or ''}".strip()
        if package in times:
            yield compared("`prompt(…).text()`", times["ours"], f"{name}, {api}", times[package])
        else:
            yield Row(
                "`prompt(…).text()`", microseconds(times["ours"]), f"{name}, {api}: not installed"
            )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
