"""Shared by tests of recorded suites: a model that `llm` takes for real, and cassettes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import llm
import llm.plugins
import pytest

from llm_mock.cassettes import Cassette
from tests.suites.conftest import ROLE as MOCKED_ROLE
from tests.suites.conftest import Project

ROLE = MOCKED_ROLE.replace("{provider: openai, name: gpt-4o-mini}", "parrot")


class Parrot(llm.Model):
    """A real model, to `llm`: it numbers its answers, judges, and fails where it is told to."""

    model_id = "parrot"
    can_stream = True
    supports_schema = True
    supports_tools = True

    def __init__(self, model_id: str = "parrot") -> None:
        self.model_id = model_id
        self.asked: list[str] = []
        self.fails: Exception | None = None
        self.fails_once: Exception | None = None
        self.slow = 60.0
        """Seconds that an answer to `Slow` takes."""
        self.interrupted_at: str | None = None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        if self.fails_once is not None:
            self.fails_once, error = None, self.fails_once
            raise error
        if self.fails is not None or prompt.prompt == self.interrupted_at:
            raise self.fails or KeyboardInterrupt
        self.asked.append(prompt.prompt)
        if prompt.prompt == "Slow":
            yield "Answer"
            time.sleep(self.slow)
        response.set_usage(input=3, output=2)
        if prompt.prompt == "Call history":
            response.add_tool_call(llm.ToolCall("history", {"account": "alice"}))
        if prompt.schema:
            yield json.dumps({"reason": f"Judged {len(self.asked)}", "met": True})
        else:
            yield f"Answer {len(self.asked)} to {prompt.prompt}"


class Plugin:
    """A plugin of `llm` with two of them."""

    def __init__(self) -> None:
        self.parrot = Parrot()

    @llm.hookimpl
    def register_models(self, register: Callable[[llm.Model], None]) -> None:
        register(self.parrot)
        register(Parrot("finch"))


@pytest.fixture
def parrot(project: Project) -> Iterator[Parrot]:
    """Yield the model of the role, as a plugin registers it."""
    plugin = Plugin()
    llm.plugins.load_plugins()
    llm.plugins.pm.register(plugin, name="parrots")
    project.write("role.yaml", ROLE)
    yield plugin.parrot
    llm.plugins.pm.unregister(name="parrots")


def recorded(project: Project, suite: str = "tests") -> dict[str, list[str]]:
    """Return the prompts of each cassette of a suite."""
    folder = project.path / "cassettes" / suite
    files = sorted(folder.iterdir()) if folder.exists() else []
    return {path.name: [call.request.prompt for call in Cassette(path).calls] for path in files}


CASES = """
  - {name: a, prompt: One, assertions: [{type: contains, value: Answer}]}
  - {name: b, prompt: Two, assertions: [{type: contains, value: Answer 2}]}
"""
