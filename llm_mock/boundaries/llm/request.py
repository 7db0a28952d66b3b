"""What an `llm` model is asked, as the core knows a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.user_folder import resolve_key
from llm_mock.core.request import Request, to_plain_json

if TYPE_CHECKING:
    import llm


class LLMRequest(Request):
    """A call that came through `llm`.

    Args:
        model_id: the model that is asked.
        prompt: what `llm` hands to the model.
        response: the response to it, which has the key, and those arguments of our `prompt()` that `llm` does not hand
            to the model, as JSON values.
        conversation: the conversation, if the call is part of one.
    """

    __slots__ = ("_conversation", "key")

    def __init__(self, model_id: str, prompt: llm.Prompt, response: Any, conversation: Any) -> None:
        self.model_id = model_id
        self.native = prompt
        self.prompt = prompt.prompt or versions.get_last_user_text(prompt)
        self.system = prompt.system or ""
        self.schema = prompt.schema or None  # type: ignore[assignment]
        self.tools = prompt.tools
        self.tool_results = prompt.tool_results
        self.attachments = prompt.attachments
        self.options = _get_given_options(prompt.options)
        passed: Mapping[str, Any] | None = getattr(
            response, "passed", None
        )  # None for a call made in another way
        if passed:
            self.options.update(passed)
        self.passed = passed is not None
        passed_key = getattr(response, "_key", None)
        self.key = getattr(prompt.model, "key", None) or (passed_key and resolve_key(passed_key))
        self._conversation = conversation

    @property
    def turn(self) -> int:  # type: ignore[override]
        """Which answer of its conversation it asks for, from 1."""
        if messages := versions.get_given_messages(self.native):
            return 1 + len([message for message in messages if message.role == "assistant"])
        return 1 + len(self._conversation.responses) if self._conversation else 1

    @property
    def conversation_id(self) -> str | None:  # type: ignore[override]
        """The id of the conversation, if the call is part of one."""
        return getattr(self._conversation, "id", None)

    def messages(self) -> list[dict[str, Any]]:
        """All that the model sees."""
        return versions.describe_messages(self.native, self._conversation)

    def characters(self) -> int:
        """How many characters the messages have."""
        if (
            self._conversation
            or self.tool_results
            or self.attachments
            or versions.get_given_messages(self.native)
        ):
            return versions.count_characters(self.native, self._conversation)
        return len(self.prompt) + len(self.system)

    def given_messages(self) -> list[dict[str, Any]]:
        """The messages that the application gave itself, where no conversation did."""
        messages = [] if self._conversation else versions.get_given_messages(self.native)
        return [message.to_dict() for message in messages if message.role != "system"]

    def system_message(self) -> str:
        """The system prompt, also where an earlier message of the conversation says it."""
        return self.system or versions.get_system_message(self.native)


def _get_given_options(options: Any) -> dict[str, Any]:
    """The options that were given; a prompt that somebody made by hand may have them in a dict."""
    if isinstance(options, dict):
        return {name: to_plain_json(value) for name, value in options.items()}
    given = options.model_fields_set
    return {name: to_plain_json(getattr(options, name)) for name in given} if given else {}
