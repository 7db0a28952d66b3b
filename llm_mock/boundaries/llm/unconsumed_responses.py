"""Responses that were never read or awaited; `llm` calls a model only when its response is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.patching import replace
from llm_mock.core.context import current_mock, is_live
from llm_mock.support.text import shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

MAX_LISTED_PROMPTS = 20
UNREGISTER = "_llm_mock_unregister"
"""The attribute of an unread response with the function that unregisters it."""


class Watch:
    """The state of the registration of responses."""

    is_on = False
    """Whether responses are registered, as they are once `llm` is patched."""


def watch(models: ModuleType) -> None:
    """Register each response, and each chain of responses, until it is read.

    Args:
        models: the module `llm.models`.
    """
    Watch.is_on = True
    # Private bases, because the classes of responses have no common public base.
    for name in ("_BaseResponse", "_BaseChainResponse"):
        _watch_class(getattr(models, name))
    for name in ("ChainResponse", "AsyncChainResponse"):
        replace(getattr(models, name), "responses", _read_chain)


def _watch_class(base: Any) -> None:
    original = base.__init__
    if hasattr(original, "__wrapped__"):
        return

    # Not `patching.replace`, which adds a call: this runs for each response of the application.
    @functools.wraps(original)
    def init(response: object, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        original(response, *args, **kwargs)
        register_unread(response)

    base.__init__ = init


def register_unread(response: object) -> None:
    """Register a response, or a chain of responses, with the current mock until it is read."""
    mock = current_mock() if Watch.is_on and not is_live() else None
    if mock is not None:
        # By `id`, because the class of a response may define equality and so have no hash.
        unread = mock.history.unread
        unread[id(response)] = response
        # Stored on the response, because another mock may be current when it is read.
        vars(response)[UNREGISTER] = unread.pop


def mark_read(response: object) -> None:
    """Unregister a response, or a chain of responses, because it is being read."""
    unregister = vars(response).pop(UNREGISTER, None)
    if unregister is not None:
        unregister(id(response), None)


def _read_chain(original: Callable[[Any], Any], chain: object) -> Any:
    mark_read(chain)
    return original(chain)


_HEADING = (
    "Responses that were never read. Read them, for example with .text(): in production, llm calls "
    "the model only then."
)


def format_unread(mock: Mock) -> str:
    """Return a list of the prompts that were never read or awaited; empty if there are none."""
    # `_done` is private, but the public methods would read the response. Without it, a response
    # counts as read after `mark_read`. Hand-written subclasses may lack it.
    responses = mock.history.unread.values()
    unread = [each for each in list(responses) if not getattr(each, "_done", False)]
    if not unread:
        return ""
    lines = [_HEADING]
    lines += [_format_line(response) for response in unread[:MAX_LISTED_PROMPTS]]
    if len(unread) > MAX_LISTED_PROMPTS:
        lines.append(f"  … {len(unread) - MAX_LISTED_PROMPTS} more")
    return "\n".join(lines)


def _format_line(response: Any) -> str:
    model_id = shorten_name(response.model.model_id)
    try:
        prompt = shorten(response.prompt.prompt or "")
    except Exception:
        # `llm` joins the texts of a prompt only here, and fails if the application passed no text.
        prompt = "(prompt is not a string)"
    # A response of `MockLLMModel.prompt` has been answered, and counted, without being read.
    record = getattr(getattr(response, "decided", None), "record", None)
    number = f"  (call {record['number']})" if record else ""
    return f"  - {model_id}  {prompt}{number}"
