"""Errors about misspelt attributes and arguments that name the nearest correct one."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any

from llm_mock.support.text import suggest_name, suggest_nearest

SYNONYMS = {
    "arguments": ("args", "function_arguments", "input", "kwargs", "parameters", "params"),
    "chunks": ("deltas", "stream"),
    "data": ("json", "object", "parsed", "structured"),
    "error": ("exception", "raises"),
    "exception": ("error", "side_effect"),
    "finish_reason": ("stop_reason",),
    "latency": ("delay", "sleep"),
    "name": ("function", "function_name", "tool", "tool_name"),
    "prompt": ("contains", "input", "match", "messages", "prompt_contains", "user", "when"),
    "provider": ("model",),
    "response": ("answer", "content", "error", "reply", "return_value", "side_effect", "text"),
    "responses": ("answers", "replies", "side_effect"),
    "retry_after": ("retry", "seconds", "wait"),
    "schema": ("output_type", "response_format", "response_model", "response_schema"),
    "system": ("instructions", "system_instruction", "system_prompt"),
    "text": ("answer", "content", "message", "response"),
    "times": ("count", "n", "repeat"),
    "tool_call_id": ("call_id", "id", "tool_use_id"),
    "tool_calls": ("function_calls", "tools", "tool_use"),
    "usage": ("tokens", "input_tokens", "output_tokens"),
}
"""Wrong names for an argument that are too different to find it by similarity."""
HINTS = {
    "ToolCall": (
        'Write the arguments of the tool as a dict, as in ToolCall("weather", {"city": "Rome"}), '
        'or call("weather", city="Rome").'
    ),
    "add": "For several calls in order, write script(model, first, second).",
    "set": (
        "For several calls in order, write script(model, first, second), and for a vector "
        "set_embedding(model, text, vector)."
    ),
    "set_error": (
        "For an error in some calls only, write set(model, error, prompt=…) or another condition."
    ),
    "tool_call": (
        "Write the arguments of the tool as a dict, as in "
        'templates.tool_call("weather", {"city": "Rome"}, then="Sunny.").'
    ),
}
"""Advice about wrong arguments, by the name of the function."""
FIRST_ARGUMENTS = {
    "method": ' after the HTTP method, as in on("POST", "/v1/moderations", {…})',
    "model": ' after the model, as in {called}("gpt-4o", …), or {called}("*", …) for any model',
}
"""A remark about the first argument of a function if a later one is missing."""
UNEXPECTED_ARGUMENT = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
"""Python's message, which must be parsed, because the error has no attributes."""
MISSING_ARGUMENTS = re.compile(r"([\w.]+)\(\) missing \d+ required .*arguments?: (.+)")
"""Python's message about missing arguments."""
REPEATED_ARGUMENT = re.compile(r"([\w.]+)\(\) got multiple values for argument '(\w+)'")
"""Python's message about a repeated argument."""
CALL_ERROR = re.compile(r"([\w.]+)\(\) (got|missing|takes) ")
"""The beginning of all messages about wrong arguments, with the function's name."""
ADVICE = {
    "'list' object is not callable": (
        ".calls(",
        "calls is a list, not a method. Write .calls",
    ),
    "tuple indices must be integers or slices, not str": (
        ".request[",
        "the request of a call has the attributes method, url, headers and body. For a field of "
        "the body, write call.request.body[…]",
    ),
}
"""A part of the wrong line of code and the advice, by Python's message."""
MODEL_NAMES = {
    "assert_called": "assert_any_call() or assert_called_once()",
    "call_args": "last_call.prompt, or call_history[0]",
    "call_args_list": "call_history[0].prompt",
    "call_count": "prompt_count",
    "called": "prompt_count",
    "mock_calls": "call_history[0].prompt",
    "reset_mock": "reset_history()",
    "return_value": "mock_llm_responses.set('gpt-4o', 'Paris')",
    "side_effect": (
        "mock_llm_responses.script('gpt-4o', 'a', 'b'), "
        "or mock_llm_responses.set_error('gpt-4o', error)"
    ),
}
"""The code to use for a mocked model, by the attribute of `unittest.mock`."""
REPLY_NAMES = ("return_value", "side_effect")
"""The attributes of `unittest.mock` that set a reply."""
MODEL_ASSERTIONS = (
    "assert_any_call",
    "assert_called_once",
    "assert_called_once_with",
    "assert_called_with",
    "assert_not_called",
)
"""The assertions of `unittest.mock` that a mocked model also has."""
METHOD_ERROR = re.compile(r"'(?:function|method)' object has no attribute '(\w+)'")
"""Python's message. For assignments, only Python 3.13 and later set the object of the error."""
PROMPT_ASSIGNMENT = re.compile(
    r"(?:get_(?:async_)?model\([^()]*\)|(\b\w+))\.prompt\.(?:return_value|side_effect)\b"
)
"""An assignment of a reply to the method of a model in a variable, or of a new model."""


class MisspeltAttribute(AttributeError):
    """An attribute that an object does not have; its text names the nearest one.

    The text is created when it is shown, because libraries often use `hasattr` and `getattr`, and
    the search for the nearest name is slow.

    Args:
        owner: the object.
        name: the name of the attribute.
        advice: the code to use instead; None to name the nearest attribute.
    """

    def __init__(self, owner: object, name: str, advice: str | None = None) -> None:
        # Without `obj`, because Python 3.12 and later would add a suggestion of their own.
        super().__init__(name=name)
        self._owner = owner
        self._name = name
        self._advice = advice

    def __str__(self) -> str:
        problem = f"{type(self._owner).__name__!r} object has no attribute {self._name!r}"
        if self._advice is not None:
            return f"{problem}. Use {self._advice}."
        return f"{problem}{suggest_name(self._name, _list_public_names(self._owner))}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        # The owner may not be picklable.
        return AttributeError, (str(self),)


# Tracebacks then show the name without a module, as for Python's own errors.
MisspeltAttribute.__module__ = "builtins"
MisspeltAttribute.__name__ = MisspeltAttribute.__qualname__ = "AttributeError"


class NotAssignable:
    """An attribute that cannot be assigned; the error contains advice.

    It is a descriptor, because a `__setattr__` would slow down every assignment. A subclass in a
    project may use the name for its own value.

    Args:
        advice: the end of the message.
        method: the method with this name; None if instances have no such attribute.
    """

    def __init__(self, advice: str, method: FunctionType | None = None) -> None:
        self._advice = advice
        self._method = method
        self.is_missing = method is None

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        if instance is not None and self._name in vars(instance):
            return vars(instance)[self._name]
        if self._method is None:
            raise AttributeError(self._name)
        if instance is None:
            return self._method
        return self._method.__get__(instance, owner)

    def __set__(self, instance: object, value: object) -> None:
        __tracebackhide__ = True
        if not type(instance).__module__.startswith("llm_mock."):
            vars(instance)[self._name] = value
            return
        advice = self.advise(instance, value)
        raise AttributeError(f"{self._name} cannot be assigned; {advice}.")

    def advise(self, instance: object, value: object) -> str:
        """Return the end of the message about the assignment of a value."""
        return self._advice


def _list_public_names(owner: object) -> list[str]:
    """Return the names of the public attributes of an object."""
    names = []
    for name in dir(owner):
        found = inspect.getattr_static(type(owner), name, None)
        is_missing = isinstance(found, NotAssignable) and found.is_missing
        if not name.startswith("_") and not is_missing:
            names.append(name)
    return names


def explain_arguments(
    function: Callable[..., Any],
    given: Iterable[str],
    outer: Callable[..., object] | None = None,
) -> str | None:
    """Return a message about a keyword argument that a method does not have; None without one.

    Args:
        function: the method.
        given: the names of the arguments.
        outer: the called function, if it passes unknown arguments to the method.
    """
    known = _list_arguments(function)
    if outer is not None:
        known = [*_list_arguments(outer), *known]
    unknown = [name for name in given if name not in known]
    if not unknown:
        return None
    name = unknown[0]
    # An argument that was also passed is not the one that was meant.
    missing = [each for each in known if each not in given]
    nearest = _suggest_argument(name, missing)
    called, listed = _describe_function(outer or function, known)
    if not nearest:
        nearest = "."
        listed = f"{_give_hint(called)}{listed}"
    return f"{called}() has no argument {name!r}{nearest} {listed}"


def explain_call_error(function: Callable[..., object], error: TypeError) -> str:
    """Return a message about missing, repeated or excess arguments.

    Args:
        function: the function that was called.
        error: the error about its arguments.
    """
    text = str(error)
    known = _list_arguments(function)
    called, listed = _describe_function(function, known)
    missing = MISSING_ARGUMENTS.match(text)
    if missing is not None:
        # Python binds the reply to `model`, and a path to `method`, if these are left out.
        order = ""
        if repr(known[0]) not in missing[2]:
            order = FIRST_ARGUMENTS.get(known[0], "").replace("{called}", called)
        hint = _give_hint(called) if called in ("ToolCall", "tool_call") else ""
        return f"{called}() also needs {missing[2]}{order}. {hint}{listed}"
    repeated = REPEATED_ARGUMENT.match(text)
    positional = ", ".join(_list_positional(function))
    if repeated is not None:
        return (
            f"{called}() got {repeated[2]!r} twice: by position and by name. Arguments by "
            f"position: {positional}. {listed}"
        )
    return (
        f"{called}() got too many arguments by position. Arguments by position: "
        f"{positional or 'none'}. Pass the others by name. {_give_hint(called)}{listed}"
    )


def _give_hint(called: str) -> str:
    """Return the advice about the arguments of a function, with a space; empty without one."""
    hint = HINTS.get(called)
    return f"{hint} " if hint else ""


def _list_positional(function: Callable[..., object]) -> list[str]:
    """Return the names of the arguments that can be passed by position."""
    names = []
    for parameter in inspect.signature(function).parameters.values():
        is_positional = parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        )
        if is_positional and parameter.name != "self":
            names.append(parameter.name)
    return names


def _describe_function(function: Callable[..., object], known: list[str]) -> tuple[str, str]:
    """Return the name of a function as callers write it, and a sentence about its arguments."""
    arguments = list(known)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments.append(f"*{parameter.name}")
    listed = "It has no arguments."
    if arguments:
        listed = f"Its arguments: {', '.join(arguments)}."
    name = function.__qualname__.removesuffix(".__init__")
    return name.rpartition(".")[2], listed


def explain_attribute_error(error: AttributeError) -> str | None:
    """Return the message for an attribute that an object or a module of this package lacks.

    The message names the nearest attribute. It is None for errors of other packages. Only call this
    for errors that are shown, because it is slow.
    """
    used = METHOD_ERROR.match(str(error))
    if used is not None:
        return _explain_method_use(error, used[1])
    owner = error.obj
    place = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    if not error.name or place.partition(".")[0] != "llm_mock":
        return None
    # Python's messages end with the name; messages of this package already contain advice.
    if not str(error).endswith(repr(error.name)):
        return str(error)
    public = [name for name in dir(owner) if not name.startswith("_")]
    if isinstance(owner, ModuleType):
        return f"{error}{suggest_nearest(error.name, public)}"
    return f"{error}{suggest_name(error.name, public)}"


def _explain_method_use(error: AttributeError, name: str) -> str | None:
    """Return a message about a method of a model that is used like a mock of `unittest.mock`.

    Args:
        error: the error about an attribute of the method.
        name: the name of the attribute.
    """
    method = error.obj
    module = getattr(method, "__module__", None) or ""
    is_of_model = module.startswith("llm_mock.boundaries.llm.")
    called = getattr(method, "__name__", "")
    if not is_of_model and _assigns_to_prompt(error):
        is_of_model = True
        called = "prompt"
    advice = None
    # The other advice is about calls to a model, not about other methods.
    if called == "prompt" or name in REPLY_NAMES:
        advice = MODEL_NAMES.get(name)
    if called == "prompt" and name in MODEL_ASSERTIONS:
        advice = f"{name}() of the model"
    if advice is None or not is_of_model:
        return None
    return f"{error}: {called} is a method, not a mock. Use {advice}."


def _assigns_to_prompt(error: AttributeError) -> bool:
    """Return whether the line of an error assigns a reply to the method of a mocked model."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    line = linecache.getline(frame.f_code.co_filename, trace.tb_lineno)
    found = PROMPT_ASSIGNMENT.search(line)
    if found is None:
        return False
    name = found[1]
    if name is None:
        return True
    model = frame.f_locals.get(name, frame.f_globals.get(name))
    return inspect.getattr_static(type(model), "is_llm_mock", False) is True


def explain_use(error: BaseException, frame: FrameType) -> str | None:
    """Return a message about a wrong or missing argument of a function of this package.

    It is called only for errors that are shown, because wrapping the functions would be slow.

    Args:
        error: any error.
        frame: the frame that raised it.

    Returns:
        The message; None for other errors and other packages' functions.
    """
    advice = _explain_line(str(error), frame)
    if advice is not None:
        return f"{error}: {advice}"
    if type(error) is not TypeError:
        return None
    called = CALL_ERROR.match(str(error))
    if called is None:
        return None
    function = _find_called_function(called[1], frame)
    if function is None:
        return None
    unexpected = UNEXPECTED_ARGUMENT.match(str(error))
    if unexpected is None:
        return explain_call_error(function, error)
    template = None
    if frame.f_globals.get("__name__") == "llm_mock.templates":
        template = frame.f_globals.get(frame.f_code.co_name)
    return explain_arguments(function, [unexpected[2]], template)


def _explain_line(message: str, frame: FrameType) -> str | None:
    """Return the advice about `mock.calls()` and `call.request[…]`; None for other code."""
    wrong_code, advice = ADVICE.get(message, ("", ""))
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return advice if wrong_code and wrong_code in line else None


def _find_called_function(qualified_name: str, frame: FrameType) -> Callable[..., object] | None:
    """Return the function of this package that a frame called by a name; None without one."""
    first, *attributes = qualified_name.split(".")
    for module_name, module in list(sys.modules.items()):
        found = vars(module).get(first) if module_name.startswith("llm_mock.") else None
        if getattr(found, "__module__", None) != module_name or not _is_used(found, first, frame):
            continue
        for attribute in attributes:
            found = getattr(found, attribute, None)
        if inspect.isfunction(found):
            return found
    return None


def _is_used(owner: object, name: str, frame: FrameType) -> bool:
    """Return whether a frame has a variable with a function or class, or with an instance of it."""
    # The project may have another class of the same name.
    for value in (*frame.f_globals.values(), *frame.f_locals.values()):
        if value is owner or (isinstance(owner, type) and issubclass(type(value), owner)):
            return True
        # A package like `llm_mock` loads its lazy names on first use.
        if isinstance(value, ModuleType) and vars(value).get(name) is owner:
            return True
    return False


def _suggest_argument(name: str, missing: list[str]) -> str:
    """Return a suggestion: the argument with this name as a synonym, or the nearest one."""
    for each in missing:
        if name in SYNONYMS.get(each, ()):
            return suggest_nearest(each, missing)
    return suggest_nearest(name, missing)


def _list_arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of the keyword arguments, including those of an unpacked TypedDict."""
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if unpacked is not None:
            names += _list_keys(function, unpacked[1])
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.append(parameter.name)
    return names


def _list_keys(function: Callable[..., Any], typed_dict: str) -> Iterable[str]:
    # Annotations are text here; the name is looked up in the module of the function.
    return inspect.get_annotations(inspect.unwrap(function).__globals__[typed_dict])
