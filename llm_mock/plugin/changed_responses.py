"""Change the responses that mocks and fakes of an SDK's client return.

A response is changed in a copy: the test may return it again, and compare with its parts.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import NamedTuple
from unittest import mock

from llm_mock.boundaries.patching import is_real_module
from llm_mock.plugin.model_recorder import Double
from llm_mock.support.json_types import JSON

Path = Sequence[str]
"""The attributes or keys that lead to a part of a response; `*` stands for each item of a list."""
ChangeValue = Callable[[Double], object]

_MISSING = object()
_ITERATIONS = ("__iter__", "__aiter__")


def _split(*paths: str) -> list[Path]:
    return [path.split(".") for path in paths]


_TEXTS = _split(
    "choices.*.message.content",
    "choices.*.delta.content",
    "content.*.text",
    "output.*.content.*.text",
    "output_text",
    "candidates.*.content.parts.*.text",
    "text",
    # An event of a streamed response.
    "delta",
)
_PARSED = _split("choices.*.message.parsed", "output_parsed", "parsed")
"""The data that an SDK reads from a text."""
_ARGUMENTS = _split(
    "choices.*.message.tool_calls.*.function.arguments",
    "content.*.input",
    "output.*.arguments",
    "candidates.*.content.parts.*.function_call.args",
    "function_calls.*.args",
)


class ChangedAnswer(NamedTuple):
    """The answer that replaces the one of a response."""

    kind: str
    """The kind of the change."""
    text: str
    arguments: Sequence[JSON]
    """The arguments of each tool call."""


def change_response(response: Double, answer: ChangedAnswer) -> Double:
    """Return a copy of a response, or of a stream, with another answer.

    Returns:
        The copy; the response itself if no part of it can be changed.
    """
    try:
        if _is_stream(response):
            return _change_stream(response, answer.text)
        return _change_whole(response, answer)
    except Exception:
        # The response of a test can be any object. If it cannot be copied, it stays unchanged, and
        # the test does not notice the change.
        return response


def _change_whole(response: Double, answer: ChangedAnswer) -> Double:
    if answer.kind == "arguments":
        return _change_arguments(response, answer.arguments)
    if answer.kind in ("no-tool-call", "empty"):
        for path in _ARGUMENTS:
            if _has_part(response, path):
                remove_calls = _REMOVERS[path[0]]
                return remove_calls(response, answer.text)
    changed = _change_texts(response, answer.text)
    if answer.kind != "data":
        return changed

    def parse(value: Double) -> object:
        if isinstance(value, (dict, list)):
            return json.loads(answer.text)
        if hasattr(type(value), "model_validate_json"):
            return type(value).model_validate_json(answer.text)
        return value

    for path in _PARSED:
        changed = _replace(changed, path, parse)
    return changed


def _change_texts(response: Double, text: str) -> Double:
    """Return a response, or a part of a stream, with another text."""

    def change(value: Double) -> object:
        # The parts without a text, such as a reasoning, may have an empty one.
        return text if isinstance(value, str) and value else value

    for path in _TEXTS:
        response = _replace(response, path, change)
    return response


def _change_arguments(response: Double, arguments: Sequence[JSON]) -> Double:
    for path in _ARGUMENTS:
        # Google's SDK has the same calls in two places.
        remaining = iter(arguments)

        def change(value: Double, remaining: Iterator[JSON] = remaining) -> object:
            changed = next(remaining, value)
            if isinstance(value, str) and not isinstance(changed, str):
                return json.dumps(changed)
            return changed

        response = _replace(response, path, change)
    return response


def _remove_from_completion(response: Double, text: str) -> Double:
    def change(message: Double) -> object:
        return _set(message, content=text, tool_calls=None)

    response = _replace(response, ["choices", "*", "message"], change)
    end = ["choices", "*", "finish_reason"]
    return _replace(response, end, _change_end("tool_calls", "stop"))


def _remove_from_message(response: Double, text: str) -> Double:
    types = _import_sdk("anthropic.types")
    block = types.TextBlock(type="text", text=text, citations=None)
    response = _set(response, content=[block])
    return _replace(response, ["stop_reason"], _change_end("tool_use", "end_turn"))


def _remove_from_response(response: Double, text: str) -> Double:
    types = _import_sdk("openai.types.responses")
    content = types.ResponseOutputText(type="output_text", text=text, annotations=[])
    message = types.ResponseOutputMessage(
        id="msg_changed",
        type="message",
        role="assistant",
        status="completed",
        content=[content],
    )
    return _set(response, output=[message], output_text=text)


def _remove_from_content(response: Double, text: str) -> Double:
    types = _import_sdk("google.genai.types")
    part = types.Part(text=text)

    def change(content: Double) -> object:
        return _set(content, parts=[part])

    response = _replace(response, ["candidates", "*", "content"], change)
    return _set(response, function_calls=None, text=text)


_REMOVERS = {
    "choices": _remove_from_completion,
    "content": _remove_from_message,
    "output": _remove_from_response,
    "candidates": _remove_from_content,
    "function_calls": _remove_from_content,
}
"""The functions that put a text in the place of tool calls, by the first name of their path."""


def _change_end(old: str, new: str) -> ChangeValue:
    def change(value: Double) -> object:
        return new if value == old else value

    return change


def _import_sdk(name: str) -> Double:
    """Import a module of an SDK.

    Raises:
        ImportError: a test has put something else in its place.
    """
    module = importlib.import_module(name)
    if not is_real_module(module):
        raise ImportError(f"{name} is not the module of the SDK")
    return module


# The parts of a response


def _has_part(response: Double, path: Path) -> bool:
    found = []

    def note(value: Double) -> object:
        found.append(value)
        return value

    _replace(response, path, note)
    return bool(found)


def _replace(owner: Double, path: Path, change: ChangeValue) -> Double:
    """Return a copy of an object with the parts at a path changed; itself if none changes."""
    if not path:
        return change(owner)
    name, *rest = path
    if name == "*":
        return _replace_items(owner, rest, change)
    value = _read(owner, name)
    if value is _MISSING:
        return owner
    changed = _replace(value, rest, change)
    if changed is value:
        return owner
    return _set(owner, **{name: changed})


def _replace_items(owner: Double, path: Path, change: ChangeValue) -> Double:
    if isinstance(owner, (list, tuple)):
        items = [_replace(item, path, change) for item in owner]
        pairs = zip(items, owner, strict=True)
        is_same = all(new is old for new, old in pairs)
        return owner if is_same else type(owner)(items)
    if not isinstance(owner, mock.NonCallableMock):
        return owner
    # Private: `response.choices[0]` of a MagicMock.
    method = owner._mock_children.get("__getitem__")
    item = getattr(method, "_mock_return_value", mock.DEFAULT)
    if item is mock.DEFAULT:
        return owner
    changed = _replace(item, path, change)
    if changed is item:
        return owner
    return _set(owner, __getitem__=lambda self, index: changed)


def _read(owner: Double, name: str) -> Double:
    """Return a part that the test has set; `_MISSING` for what an object computes or invents."""
    if isinstance(owner, dict):
        return owner.get(name, _MISSING)
    if isinstance(owner, mock.NonCallableMock):
        # Private, because reading an attribute that is not set makes a mock.
        children = owner._mock_children
        return vars(owner).get(name, children.get(name, _MISSING))
    value = inspect.getattr_static(owner, name, _MISSING)
    is_descriptor = hasattr(type(value), "__get__")
    return _MISSING if is_descriptor else value


def _set(owner: Double, **values: object) -> Double:
    """Return a copy of an object with other parts."""
    changed = copy.copy(owner)
    if isinstance(changed, dict):
        changed.update(values)
        return changed
    if isinstance(changed, mock.NonCallableMock):
        # Private: the copy shares its parts with the original.
        changed.__dict__["_mock_children"] = dict(changed._mock_children)
    for name, value in values.items():
        if name.startswith("__"):
            setattr(changed, name, value)
        else:
            # Bypasses `__setattr__`, which may forbid changes or make a mock the parent of a value.
            changed.__dict__[name] = value
    return changed


# Streams


def _is_stream(response: Double) -> bool:
    if isinstance(response, (list, tuple)):
        return True
    if isinstance(response, mock.NonCallableMock):
        # Each MagicMock can be iterated.
        return any(name in response._mock_children for name in _ITERATIONS)
    kind = type(response)
    if isinstance(response, (str, dict)) or hasattr(kind, "model_fields"):
        # The types of SDKs yield their fields.
        return False
    return any(hasattr(kind, name) for name in _ITERATIONS)


class _ChunkChanger:
    """Replaces the first text of a stream by another text, and empties the others."""

    def __init__(self, text: str) -> None:
        self._text = text

    def change(self, chunk: Double) -> Double:
        changed = _change_texts(chunk, self._text)
        if changed is not chunk:
            self._text = ""
        return changed

    def iterate(self, chunks: Double) -> Iterator[Double]:
        for chunk in chunks:
            yield self.change(chunk)

    async def iterate_async(self, chunks: Double) -> AsyncIterator[Double]:
        async for chunk in chunks:
            yield self.change(chunk)


def _change_stream(stream: Double, text: str) -> Double:
    changer = _ChunkChanger(text)
    if isinstance(stream, (list, tuple)):
        return type(stream)(changer.iterate(stream))
    if isinstance(stream, mock.NonCallableMock):
        return _change_mock_stream(stream, changer)
    is_builtin = type(stream).__module__ == "builtins"
    if is_builtin and hasattr(stream, "__aiter__"):
        return changer.iterate_async(stream)
    if is_builtin:
        return changer.iterate(stream)
    return _change_fake_stream(stream, changer)


def _change_mock_stream(stream: Double, changer: _ChunkChanger) -> Double:
    methods = {
        "__iter__": lambda self: changer.iterate(stream),
        "__aiter__": lambda self: changer.iterate_async(stream),
    }
    configured = {}
    for name, method in methods.items():
        if name in stream._mock_children:
            configured[name] = method
    return _set(stream, **configured)


def _change_fake_stream(stream: Double, changer: _ChunkChanger) -> Double:
    """Return a copy of an object of a test's own class that yields changed parts."""
    fake: Double = type(stream)

    async def read_next(self: object) -> Double:
        return changer.change(await fake.__anext__(self))

    methods: dict[str, object] = {}
    # The iterator of an iterator is itself, so only one of the two must be changed.
    if hasattr(fake, "__next__"):
        methods["__next__"] = lambda self: changer.change(fake.__next__(self))
    elif hasattr(fake, "__iter__"):
        methods["__iter__"] = lambda self: changer.iterate(fake.__iter__(self))
    if hasattr(fake, "__anext__"):
        methods["__anext__"] = read_next
    elif hasattr(fake, "__aiter__"):
        methods["__aiter__"] = lambda self: changer.iterate_async(fake.__aiter__(self))
    changed = copy.copy(stream)
    # Looked up in the class, and not in the object.
    changed.__class__ = type(fake.__name__, (fake,), methods)
    return changed
