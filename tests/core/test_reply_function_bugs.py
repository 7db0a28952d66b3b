"""The message about an exception of a reply function shows the function's own lines."""

from __future__ import annotations

import os
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock
from llm_mock.core.reply_functions import explain_bug


def fail(prompt: Any) -> str:
    raise ValueError("no")


async def fail_later(prompt: Any) -> str:
    return fail(prompt)


@pytest.mark.parametrize("function", [fail, fail_later])
def test_the_frames_of_asyncio_and_of_the_mock_are_left_out(function: Any) -> None:
    mock = LLMMock()
    mock.set("m", function)
    with pytest.raises(ValueError, match="no") as raised:
        mock.get_model("m").prompt("Hello").text()
    path = os.path.relpath(__file__)
    last = fail.__code__.co_firstlineno + 1
    lines = [f'  File "{__file__}", line {last}, in fail', '    raise ValueError("no")']
    places = f"{path}:{last}"
    if function is fail_later:
        first = fail_later.__code__.co_firstlineno + 1
        lines = [
            f'  File "{__file__}", line {first}, in fail_later',
            "    return fail(prompt)",
            *lines,
        ]
        places = f"{path}:{first}, by {places}"
    shown = (explain_bug(raised.value) or "").splitlines()
    assert shown[0] == f"A reply function raised at {places}: ValueError: no"
    # Versions of Python mark different parts of a line.
    assert [line for line in shown[1:] if "^" not in line] == lines


def test_a_function_outside_of_the_project_has_no_line() -> None:
    functions: dict[str, Any] = {}
    exec(compile("def fail(prompt): raise ValueError('no')", "<outside>", "exec"), functions)
    mock = LLMMock()
    mock.set("m", functions["fail"])
    with pytest.raises(ValueError, match="no") as raised:
        mock.get_model("m").prompt("Hello").text()
    assert explain_bug(raised.value) == (
        'A reply function raised: ValueError: no\n  File "<outside>", line 1, in fail'
    )


def test_an_exception_of_another_function_is_not_explained() -> None:
    with pytest.raises(ValueError, match="no") as raised:
        fail(None)
    assert explain_bug(raised.value) is None


def take_nothing() -> str:
    return "Hello"


async def take_nothing_later() -> str:
    return "Hello"


@pytest.mark.parametrize("function", [take_nothing, take_nothing_later])
def test_a_function_without_a_parameter_is_explained(function: Any) -> None:
    mock = LLMMock()
    mock.set("m", function)
    with pytest.raises(TypeError) as raised:
        mock.get_model("m").prompt("Hello").text()
    name = function.__name__
    place = f"tests/core/test_reply_function_bugs.py:{function.__code__.co_firstlineno}"
    assert explain_bug(raised.value) == (
        f"The reply function ({place}) must take one argument, the request, such as lambda "
        "request: …, "
        f"or def answer(request): … ({name}() takes 0 positional arguments but 1 was given)"
    )


def test_a_class_without_a_parameter_has_no_line() -> None:
    class Answer:
        def __call__(self) -> str:
            return "Hello"

    mock = LLMMock()
    mock.set("m", Answer())
    with pytest.raises(TypeError) as raised:
        mock.get_model("m").prompt("Hello").text()
    assert str(explain_bug(raised.value)).startswith("The reply function must take one argument, ")


HINT = ". A reply function receives the request. For its text, use request.prompt."


@pytest.mark.parametrize(
    ("function", "has_hint"),
    [
        (lambda prompt: "yes" if "invoice" in prompt else "no", True),
        (lambda prompt: prompt.upper(), True),
        (lambda prompt: prompt + "!", True),
        (lambda prompt: prompt.prompt.uper(), False),
        (lambda prompt: len(prompt.prompt, 1), False),
    ],
)
def test_who_takes_the_request_for_its_text_is_told(function: Any, has_hint: bool) -> None:
    mock = LLMMock()
    mock.set("m", function)
    with pytest.raises((AttributeError, TypeError)) as raised:
        mock.get_model("m").prompt("Hello").text()
    first, *_ = (explain_bug(raised.value) or "").splitlines()
    assert first.startswith("A reply function raised at ")
    assert first.endswith(f"{raised.value}{HINT if has_hint else ''}")


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (lambda request: request.content, "; did you mean prompt?"),
        (lambda request: request.input, "; did you mean prompt?"),
        (lambda request: request.model_name, ""),
        (lambda request: request.system_prompt, "; did you mean system?"),
        (lambda request: request.text, "; did you mean prompt?"),
        (lambda request: request.user, "; did you mean prompt?"),
        (lambda request: request.temperature_of_it, ""),
    ],
)
def test_an_attribute_that_newcomers_guess_is_named(function: Any, hint: str) -> None:
    mock = LLMMock()
    mock.set("m", function)
    with pytest.raises(AttributeError) as raised:
        mock.get_model("m").prompt("Hello").text()
    first, *_ = (explain_bug(raised.value) or "").splitlines()
    assert first.endswith(f"{raised.value}{hint}")


def test_the_model_of_a_request_over_http_is_named(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", lambda request: request.model)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    httpx.post("https://api.openai.com/v1/chat/completions", json=body)
    [problem] = mock_llm_responses.problems
    first, *_ = problem.splitlines()
    assert first.endswith("has no attribute 'model'; did you mean model_id?")
    mock_llm_responses.problems.clear()


def test_another_function_without_a_parameter_is_not_explained() -> None:
    with pytest.raises(TypeError) as raised:
        take_nothing("Hello")  # type: ignore[call-arg]
    assert explain_bug(raised.value) is None
    assert explain_bug(TypeError()) is None
