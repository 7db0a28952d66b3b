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
"""The maximum size of the history variable; Linux allows 131,072 bytes per variable."""
SESSION_PATTERN = "llm-mock-[0-9a-f]{32}"
"""The pattern of a session id; cassettes ignore it, because it differs in each run."""


class TargetSession:
    """A conversation with the application under test."""

    def __init__(self) -> None:
        # Unique: an application that stores sessions must not find an old one.
        self.id = f"llm-mock-{uuid.uuid4().hex}"
        self.history: list[dict[str, str]] = []
        """The messages before the current turn, each with `role` and `content`."""

    def add(self, prompt: str, output: str) -> None:
        """Add a turn to the history."""
        self.history.append({"role": "user", "content": prompt})
        self.history.append({"role": "assistant", "content": output})

    def get_arguments(self) -> dict[str, object]:
        """Return the arguments that a function may take besides the prompt, by name."""
        return {"session_id": self.id, "history": self._copy_history()}

    def _copy_history(self) -> list[dict[str, str]]:
        # Copied, because the application may change the history.
        copied = []
        for message in self.history:
            copied.append(dict(message))
        return copied

    def fill(self, text: str, prompt: str) -> str:
        """Replace `{prompt}`, `{session_id}` and `{history}`, as JSON, in a text."""
        values = {PROMPT: prompt, SESSION_ID: self.id, HISTORY: self._format_history()}
        # In one pass, so that placeholders inside the prompt stay unchanged.
        return replace_places(text, values)

    def fill_json(self, value: object, prompt: str) -> object:
        """Fill the texts of a JSON value; a text that is only `{history}` becomes a list."""

        def fill(text: str) -> object:
            if text == HISTORY:
                return self._copy_history()
            return self.fill(text, prompt)

        return map_texts(value, fill)

    def add_to_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the variables of the session."""
        variables = {SESSION_VARIABLE: self.id}
        history = self._format_history()
        # A longer variable could keep the command from starting, so it is left out.
        if len(history.encode(errors="replace")) <= MAX_HISTORY_BYTES:
            variables[HISTORY_VARIABLE] = history
        return {**environment, **variables}

    def _format_history(self) -> str:
        return json.dumps(self.history, ensure_ascii=False)


def replace_places(text: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder in a text by its value."""
    places = map(re.escape, values)
    pattern = "|".join(places)
    return re.sub(pattern, lambda match: values[match[0]], text)


_current: ContextVar[TargetSession | None] = ContextVar(__name__, default=None)


@contextmanager
def open_session() -> Iterator[TargetSession]:
    """Use a new session for calls to the target within the context."""
    session = TargetSession()
    token = _current.set(session)
    try:
        yield session
    finally:
        _current.reset(token)


def get_session() -> TargetSession:
    """Return the session of the current run; outside of a run a new one."""
    return _current.get() or TargetSession()
