"""Replacement of variables, `${name}`, in the texts of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_mock.errors import LLMMockError
from llm_mock.suites.schema import (
    Assertion,
    CaseTurn,
    ContainsJSONAssertion,
    JSONAssertion,
    TestCase,
)
from llm_mock.suites.simulated_user import SimulatedUser
from llm_mock.suites.suite_replies import SuiteReply
from llm_mock.support.interpolation import (
    DOTTED_NAME,
    NAME,
    interpolate,
    list_references,
    map_texts,
    parse_whole_reference,
)
from llm_mock.support.json_types import JSONObject

MAX_SUITE_SIZE = 50_000_000
"""The largest number of characters of all cases, with files, rows and variables expanded."""


class SuiteSize:
    """A counter for the characters of an expanded suite, with a limit.

    With rows, variables and files, a small suite can expand to more than fits into memory.
    """

    def __init__(self) -> None:
        self._left = MAX_SUITE_SIZE

    def add(self, characters: int) -> None:
        """Count characters.

        Raises:
            LLMMockError: the suite is too large.
        """
        self._left -= characters
        if self._left < 0:
            limit = f"{MAX_SUITE_SIZE // 1_000_000} million characters"
            problem = f"with rows, variables and files expanded, the suite exceeds {limit}"
            raise LLMMockError(f"{problem}: use fewer or smaller ones")


class VariableReplacer:
    """Replaces the variables of a case by their values.

    Without values, texts stay unchanged.
    """

    def __init__(self, values: Mapping[str, object], size: SuiteSize) -> None:
        self.values = values
        self._size = size
        # A dict as an ordered set.
        self.unknown: dict[str, None] = {}
        """The names of unknown variables, in order of their use."""

    def replace_text(self, text: str) -> str:
        """Return a text with the variables replaced."""
        replaced = text
        if self.values:
            replaced = interpolate(text, self._get_replacement)
        self._size.add(len(replaced))
        return replaced

    def replace_turn(self, turn: CaseTurn) -> JSONObject:
        """Return the fields of a turn that hold texts, with the variables replaced."""
        fields: JSONObject = {
            "prompt": turn.prompt,
            "expected_output": turn.expected_output,
        }
        for key, text in fields.items():
            if text is not None:
                fields[key] = self.replace_text(text)
        fields["replies"] = tuple(map(self._replace_reply, turn.replies))
        return fields

    def replace_chat(self, case: TestCase) -> JSONObject:
        """Return the system prompt and the history of a case, with the variables replaced."""
        fields: JSONObject = {}
        if case.system is not None:
            fields["system"] = self.replace_text(case.system)
        messages = []
        for message in case.history:
            content = self.replace_text(message.content)
            messages.append(message.model_copy(update={"content": content}))
        fields["history"] = tuple(messages)
        return fields

    def replace_user(self, user: SimulatedUser) -> SimulatedUser:
        """Return a simulated user with the variables replaced."""
        fields = user.model_dump(exclude_unset=True)
        return SimulatedUser.model_validate(map_texts(fields, self.replace_text))

    def _replace_reply(self, reply: SuiteReply) -> SuiteReply:
        if not self.values:
            return reply
        fields = reply.model_dump(exclude_unset=True, by_alias=True)
        for name, value in fields.items():
            # Data keeps the type of a variable, such as a number; texts do not.
            is_data = name in ("data", "tool_calls")
            replace = self._replace_value if is_data else self.replace_text
            fields[name] = map_texts(value, replace)
        return SuiteReply.model_validate(fields)

    def replace_assertion(self, assertion: Assertion) -> JSONObject:
        """Return the fields of an assertion as in a file, with the variables replaced."""
        fields = assertion.model_dump(by_alias=True, exclude_unset=True)
        # An assertion made in Python may leave its type out.
        fields.setdefault("type", assertion.type)
        compares_json = isinstance(assertion, (JSONAssertion, ContainsJSONAssertion))
        for name, value in fields.items():
            if name == "schema":
                # `$` has a meaning of its own in a JSON Schema.
                continue
            if name == "value" and compares_json:
                fields[name] = map_texts(value, self._replace_value)
            elif name == "calls":
                fields[name] = [self._replace_call(call) for call in value]
            else:
                fields[name] = map_texts(value, self.replace_text)
        return fields

    def _replace_call(self, call: JSONObject) -> JSONObject:
        """Return an expected tool call with the variables replaced."""
        replaced: JSONObject = {}
        for name, value in call.items():
            if name == "arguments":
                replace = self._replace_value
            else:
                replace = self.replace_text
            replaced[name] = map_texts(value, replace)
        return replaced

    def _replace_value(self, text: str) -> Any:
        """Replace the variables in a text; a text that is one variable becomes its value."""
        name = parse_whole_reference(text)
        if name is None or name not in self.values:
            return self.replace_text(text)
        return self.values[name]

    def _get_replacement(self, name: str) -> str | None:
        if name in self.values:
            return format_value(self.values[name])
        # Other texts in ${…}, such as ${1:-x} of a shell, are not variables.
        if NAME.fullmatch(name) or self._is_dotted_variable(name):
            self.unknown[name] = None
        return None

    def _is_dotted_variable(self, name: str) -> bool:
        """Return whether a name begins like a known one: `user.mail` beside `user.name`."""
        first, dot, _ = name.partition(".")
        if not dot:
            return False
        beginning = f"{first}."
        return any(known.startswith(beginning) for known in self.values)


def has_reference(text: str) -> bool:
    """Return True if a text contains a variable."""
    references = list_references(text)
    return any(DOTTED_NAME.fullmatch(reference) for reference in references)


def format_value(value: object) -> str:
    """Return the value of a variable as in YAML; the empty text for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
