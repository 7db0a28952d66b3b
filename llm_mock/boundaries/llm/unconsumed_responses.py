"""Prompts that were made and never read or awaited: `llm` asks a model when its response is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.patching import replace
from llm_mock.core.context import current_mock, current_mock_if_created, is_mocked
from llm_mock.support.text import shorten, shorten_name

MAX_LISTED_PROMPTS = 20


def watch(models: ModuleType) -> None:
    """Note every response, and every chain of them, from when it is made until it is read."""
    # Private bases, for the classes of responses have no public one in common.
    for name in ("_BaseResponse", "_BaseChainResponse"):
        _watch_class(getattr(models, name))
    for name in ("ChainResponse", "AsyncChainResponse"):
        replace(getattr(models, name), "responses", _read_chain)


def _watch_class(base: Any) -> None:
    original = base.__init__
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def init(response: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        original(response, *args, **kwargs)
        if is_mocked() and (mock := current_mock()) is not None:
            mock.history.unread[id(response)] = response

    base.__init__ = init


def mark_read(response: Any) -> None:
    """A response, or a chain of them, is read from now on."""
    if (mock := current_mock_if_created()) is not None:
        mock.history.unread.pop(id(response), None)


def _read_chain(original: Callable[[Any], Any], chain: Any) -> Any:
    mark_read(chain)
    return original(chain)


def format_unread(mock: Any) -> str:
    """What to say of the prompts that were never read or awaited; nothing where there are none."""
    unread = list(mock.history.unread.values())
    # `_done` is private: the public methods read the response. Without it, what was read still counts
    # as read where this module saw it.
    lines = [
        _format_line(response) for response in unread if not getattr(response, "_done", False)
    ]  # else made by hand
    if len(lines) > MAX_LISTED_PROMPTS:
        lines[MAX_LISTED_PROMPTS:] = [f"  … {len(lines) - MAX_LISTED_PROMPTS} more"]
    return "\n".join(["Never read: production would not have called", *lines]) if lines else ""


def _format_line(response: Any) -> str:
    record = getattr(getattr(response, "decided", None), "record", None)
    number = f"  (call {record['number']})" if record else ""
    return f"  - {shorten_name(response.model.model_id)}  {shorten(response.prompt.prompt or '')}{number}"
