"""The session of a target: its id and the history of the conversation, in one run of a case."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from llm_mock.support.interpolation import map_texts

PROMPT = "{prompt}"
SESSION_ID = "{session_id}"
HISTORY = "{history}"
SESSION_VARIABLE = "LLM_MOCK_SESSION_ID"
HISTORY_VARIABLE = "LLM_MOCK_HISTORY"
MAX_HISTORY_BYTES = 100_000
"""The longest history in the environment of a command, where Linux allows 131,072 bytes."""
SESSION_PATTERN = "llm-mock-[0-9a-f]{32}"
"""The form of an id: cassettes leave it out of account, as each run has another one."""


class TargetSession:
    """A conversation with the application under test."""

    def __init__(self) -> None:
        # Never the same again: an application that keeps sessions must not find an old one.
        self.id = f"llm-mock-{uuid.uuid4().hex}"
        self.history: list[dict[str, str]] = []
        """The messages before the current turn, each with `role` and `content`."""

    def add(self, prompt: str, output: str) -> None:
        """Add a turn to the history."""
        self.history.append({"role": "user", "content": prompt})
        self.history.append({"role": "assistant", "content": output})

    def get_arguments(self) -> dict[str, object]:
        """Return the values of the parameters that a function may have besides the prompt."""
        return {"session_id": self.id, "history": self._copy_history()}

    def _copy_history(self) -> list[dict[str, str]]:
        # The application may change what it is given.
        copied = []
        for message in self.history:
            copied.append(dict(message))
        return copied

    def fill(self, text: str, prompt: str) -> str:
        """Return a text with the prompt, the id and the history, as JSON, in their places."""
        values = {PROMPT: prompt, SESSION_ID: self.id, HISTORY: self._format_history()}
        # In one pass: what a prompt contains is no place.
        return replace_places(text, values)

    def fill_json(self, value: object, prompt: str) -> object:
        """Return a JSON value with its texts filled; a text that is the history becomes a list."""

        def fill(text: str) -> object:
            if text == HISTORY:
                return self._copy_history()
            return self.fill(text, prompt)

        return map_texts(value, fill)

    def add_to_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the variables of the session."""
        variables = {SESSION_VARIABLE: self.id}
        history = self._format_history()
        # A command that could not be started would be worse than one without the variable.
        if len(history.encode(errors="replace")) <= MAX_HISTORY_BYTES:
            variables[HISTORY_VARIABLE] = history
        return {**environment, **variables}

    def _format_history(self) -> str:
        return json.dumps(self.history, ensure_ascii=False)


def replace_places(text: str, values: Mapping[str, str]) -> str:
    """Return a text with each place replaced by its value."""
    places = map(re.escape, values)
    pattern = "|".join(places)
    return re.sub(pattern, lambda match: values[match[0]], text)


_current: ContextVar[TargetSession | None] = ContextVar(__name__, default=None)


@contextmanager
def open_session() -> Iterator[TargetSession]:
    """Have the target be called in a new session within the context."""
    session = TargetSession()
    token = _current.set(session)
    try:
        yield session
    finally:
        _current.reset(token)


def get_session() -> TargetSession:
    """Return the session of the current run; outside of a run a new one."""
    return _current.get() or TargetSession()
