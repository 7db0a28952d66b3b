"""Prompts of `llm` as requests of the core."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.user_folder import resolve_key
from llm_mock.core.request import Request, to_plain_json

if TYPE_CHECKING:
    import llm

    from llm_mock.support.json_types import JSONObject


class LLMRequest(Request):
    """A call that came through `llm`.

    Args:
        model_id: the id of the called model.
        prompt: the prompt that `llm` passes to the model.
        response: the response to it, which has the key and, as JSON values, the arguments of our
            `prompt()` that `llm` does not pass to the model.
        conversation: the conversation, if the call is part of one.
    """

    _characters: int | None = None
    """The length of the messages that the application passed; None if it passed none."""
    _conversation: Any = None
    _earlier = 0
    """The number of earlier turns of the conversation."""

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
        # Only a `MockResponse` has `passed`; a model is also called in other ways.
        passed: Mapping[str, Any] | None = getattr(response, "passed", None)
        if passed:
            self.options.update(passed)
        self.passed = passed is not None
        self.stream = _get_given_stream(response)
        passed_key = getattr(response, "_key", None)  # private: the key of `prompt(key=…)`
        self.key = getattr(prompt.model, "key", None) or (passed_key and resolve_key(passed_key))
        self._conversation = conversation
        given = versions.get_given_messages(prompt)
        self.is_simple = not (self.tool_results or self.attachments)
        if conversation:
            self._earlier = len(conversation.responses)
            self.is_simple = False
        self.turn = 1 + self._earlier
        if given:
            self.is_simple = False
            self._characters, answers = versions.count_messages(given, conversation)
            self.turn = 1 + answers

    @property
    def conversation_id(self) -> str | None:  # type: ignore[override]
        """The id of the conversation, if the call is part of one."""
        return getattr(self._conversation, "id", None)

    def messages(self) -> list[JSONObject]:
        """Return all messages that the model sees."""
        # The application may have continued the conversation before this is read.
        earlier = self._conversation.responses[: self._earlier] if self._earlier else []
        return versions.describe_messages(self.native, earlier)

    def characters(self) -> int:
        """Return the number of characters of all messages."""
        # The same without building the messages, as most prompts are one text.
        if self.is_simple:
            return len(self.prompt) + len(self.system)
        if self._characters is not None:
            return self._characters
        return versions.count_characters(self.native, self._conversation)

    def given_messages(self) -> list[JSONObject]:
        """Return the messages that the application passed itself, without a conversation."""
        if self._conversation:
            return []
        messages = versions.get_given_messages(self.native)
        return [message.to_dict() for message in messages if message.role != "system"]

    def system_message(self) -> str:
        """Return the system prompt, which may be in an earlier message of the conversation."""
        return self.system or versions.get_system_message(self.native)

    def copy_conversation(self) -> llm.Conversation | None:
        """Return the conversation as it is now; None without one."""
        conversation: llm.Conversation | None = copy.copy(self._conversation)
        if conversation is not None:
            conversation.responses = [*conversation.responses]
        return conversation


class TextRequest(LLMRequest):
    """A prompt that is a text without any other argument, like most prompts.

    Args:
        model_id: the id of the called model.
        prompt: the prompt that `llm` passes to the model.
        text: the text of the prompt; not empty.
        key: the key that was assigned to the model.
    """

    is_simple = is_text = passed = True

    def __init__(self, model_id: str, prompt: llm.Prompt, text: str, key: str | None) -> None:
        # The other fields keep their defaults, because this runs in every call.
        self.model_id = model_id
        self.native = prompt
        self.prompt = text
        self.options = {}
        self.key = key


def _get_given_stream(response: object) -> bool | None:
    """Return False for `prompt(stream=False)`, else None."""
    # True is the default of `llm`, and does not say that the application streams.
    return False if getattr(response, "stream", None) is False else None


def _get_given_options(options: Any) -> JSONObject:
    """Return the options that were passed."""
    if isinstance(options, dict):  # in a prompt that a test created by hand
        return {name: to_plain_json(value) for name, value in options.items()}
    names = options.model_fields_set
    if not names:
        return {}
    # In the order of the fields, because the order of a set differs between processes.
    fields = {**vars(options), **(options.model_extra or {})}
    return {name: to_plain_json(value) for name, value in fields.items() if name in names}
