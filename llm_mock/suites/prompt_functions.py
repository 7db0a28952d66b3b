"""Call functions of the project, in Python or JavaScript, that write the messages of a case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pydantic

from llm_mock.checks.base import RunContext
from llm_mock.checks.node import SUFFIXES, find_reference_problem, is_installed, run_javascript
from llm_mock.checks.python_functions import (
    ModelRefused,
    call_safely,
    load_function,
    validate_reference,
)
from llm_mock.checks.transforms import to_text
from llm_mock.errors import LLMMockError
from llm_mock.suites.chats import CHAT_FORM, Chat, parse_chat
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_name


def is_javascript(reference: str) -> bool:
    """Return whether a reference names a JavaScript file."""
    return reference.partition(":")[0].endswith(SUFFIXES)


def validate_prompt_function(reference: str) -> str:
    """Validate a reference to a function, and return it unchanged.

    Raises:
        ValueError: the reference is malformed.
    """
    if not is_javascript(reference):
        return validate_reference(reference)
    problem = find_reference_problem(reference)
    if problem is not None:
        raise ValueError(problem)
    return reference


PromptFunction = Annotated[str, pydantic.AfterValidator(validate_prompt_function)]
"""A function that writes the prompt: `prompts.py:greet`, `package.module:greet`,
`prompts.js:greet`, or `prompts.js` for its default export."""


def find_skip(reference: str) -> str | None:
    """Return why a prompt function cannot be called on this machine, or None."""
    if is_javascript(reference) and not is_installed():
        return "The prompt function needs node, which is not installed: install Node.js"
    return None


def write_chat(
    reference: str, model_id: str | None, context: RunContext, sends_chats: bool
) -> Chat:
    """Return the messages that a prompt function writes for the variables of a case.

    Args:
        reference: the function. As in promptfoo it gets a mapping with `vars` and `provider`.
        model_id: the id of the model under test; None if unknown.
        context: the case, and the facts of its run.
        sends_chats: whether to send several messages; otherwise they become one prompt, as JSON.

    Raises:
        LLMMockError: the function failed, or returned no messages.
        ModelRefused: the function asked a model where it may not.
    """
    name = f"prompt function {shorten_name(reference)}"
    argument: JSONObject = {
        "vars": dict(context.case.values),
        "provider": {"id": model_id, "label": model_id},
        "config": {},
    }
    try:
        if is_javascript(reference):
            code = {"function": reference, "transform": True}
            # JSON has no undefined: `value` is missing then.
            returned = run_javascript(code, argument, context).get("value")
        else:
            function = load_function(reference, context.folder or Path())
            returned = call_safely(function, f"the {name}", argument, context)
        if isinstance(returned, dict) and "prompt" in returned:
            # promptfoo also accepts settings of the provider beside the prompt.
            returned = returned["prompt"]
        if sends_chats:
            return _read_chat(returned)
        return Chat(to_text(returned))
    except ModelRefused:
        raise
    except LLMMockError as error:
        raise LLMMockError(f"The {name}{error}") from None


def _read_chat(returned: object) -> Chat:
    """Parse the return value of a function: a list of messages, the same as JSON, or a prompt."""
    messages = returned
    if isinstance(returned, str):
        try:
            messages = json.loads(returned)
        except ValueError:
            return Chat(returned)
    chat = parse_chat(messages)
    if chat is not None:
        return chat
    if isinstance(returned, list):
        raise LLMMockError(f" returned an unsupported chat: {CHAT_FORM}")
    return Chat(to_text(returned))
