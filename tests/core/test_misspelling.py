"""Misspelt methods and arguments, whose errors name the nearest real one."""

from __future__ import annotations

import inspect
import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from llm_mock import InvalidReply, LLMMock, MockLLMModel, create_mock_get_model
from llm_mock.boundaries.llm.guessed_names import NAMES_BY_ADVICE
from llm_mock.support.misspelling import explain_use

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "api.md"

MISSPELT: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "sett": (lambda mock: mock.sett("m", "x"), AttributeError, "set"),
    "assert_called_onse": (
        lambda mock: mock.assert_called_onse(),
        AttributeError,
        "assert_called_once",
    ),
    "model.assert_called_onse": (
        lambda mock: mock("m").assert_called_onse(),
        AttributeError,
        "assert_called_once",
    ),
    "async model.call_histry": (
        lambda mock: mock.get_async_model("m").call_histry,
        AttributeError,
        "call_history",
    ),
    "embedding model.dimension": (
        lambda mock: mock.get_embedding_model("m").dimension,
        AttributeError,
        "dimensions",
    ),
    "add(promt=)": (lambda mock: mock.add("m", "x", promt="y"), TypeError, "prompt"),
    "add(prompt_contains=)": (
        lambda mock: mock.add("m", "x", prompt_contains="y"),
        TypeError,
        "prompt",
    ),
    "add(time=)": (lambda mock: mock.add("m", "x", time=2), TypeError, "times"),
    "script(sytem=)": (lambda mock: mock.script("m", "x", sytem="y"), TypeError, "system"),
    "set(schemas=)": (lambda mock: mock.set("m", "x", schemas=dict), TypeError, "schema"),
    "set(reply=)": (lambda mock: mock.set("m", reply="x"), TypeError, "response"),
    "set(return_value=)": (lambda mock: mock.set("m", return_value="x"), TypeError, "response"),
    "set_error(error=)": (lambda mock: mock.set_error("m", error=OSError), TypeError, "exception"),
    "set_latency(latncy=)": (lambda mock: mock.set_latency("m", latncy=None), TypeError, "latency"),
    "assert_called_with(promt=)": (
        lambda mock: mock.assert_called_with(promt="x"),
        TypeError,
        "prompt",
    ),
    "model.assert_resilient(atempts=)": (
        lambda mock: mock.assert_resilient(atempts=1),
        TypeError,
        "attempts",
    ),
}


@pytest.mark.parametrize("given", MISSPELT)
def test_a_misspelt_name_is_answered_by_the_nearest_one(given: str) -> None:
    use, error, nearest = MISSPELT[given]
    mock = create_mock_get_model()
    with pytest.raises(error) as caught:
        use(mock)
    (shown,) = traceback.format_exception_only(type(caught.value), caught.value)
    assert shown.startswith(f"{error.__name__}: ")
    assert f"; did you mean {nearest!r}?" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert mock.configurator.replies.get_configured() == []


GUESSED = {
    "add_response": "add(model, reply), or script(model, first, second) for several",
    "queue": "add(model, reply), or script(model, first, second) for several",
    "add_tool_call": "add(model, ToolCall(name, arguments))",
    "assert_called": "assert_any_call() or assert_called_once()",
    "assert_called_times": "assert len(mock.calls) == 3",
    "assert_cost": "assert_cost_below(mock, 0.01) of llm_mock",
    "assert_has_calls": "[call.prompt for call in mock.calls]",
    "assert_prompt_contains": "assert_called_with(prompt)",
    "assert_tool_called": "assert_called_with(tool_results=[…])",
    "call_args": "last_call",
    "call_args_list": "calls[0].prompt",
    "called_once": "assert_called_once()",
    "called_once_with": "assert_called_once_with(prompt)",
    "call_prompts": "[call.prompt for call in mock.calls]",
    "clear": "reset()",
    "embed": "set_embedding(model, text, vector)",
    "last_prompt": "last_call.prompt",
    "last_request": "last_call.request",
    "messages": "last_call.messages",
    "prompt": "get_model('gpt-4o').prompt(…)",
    "requests": "calls",
    "respond": "set(model, reply)",
    "return_value": "set(model, reply)",
    "set_default": "set('*', reply)",
    "set_exception": "set_error(model, error)",
    "set_json": "set(model, data) with a dict or a pydantic object",
    "set_rate_limit": "set(model, templates.rate_limit())",
    "set_stream": "set(model, Reply(chunks=['Hel', 'lo']))",
    "set_timeout": "set(model, templates.timeout())",
    "set_usage": "set(model, Reply(text, usage={'input': 7, 'output': 2}))",
    "call_count": "len(mock.calls)",
    "side_effect": "script(model, first, second)",
    "tools": "last_call.tools",
    "usage": "last_call.usage",
}


@pytest.mark.parametrize("name", GUESSED)
def test_a_guessed_name_is_answered_with_what_to_write(name: str) -> None:
    mock = create_mock_get_model()
    with pytest.raises(AttributeError) as caught:
        getattr(mock, name)
    message = f"'LLMMock' object has no attribute {name!r}. Use {GUESSED[name]}."
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("respond_with", "set(model, reply)"),
        ("set_next_answer", "set(model, reply)"),
        ("returns_text", "set(model, reply)"),
        ("make_response_fail", "set_error(model, error)"),
        ("raise_on_call", "set_error(model, error)"),
        ("stream_response", "set(model, Reply(chunks=['Hel', 'lo']))"),
        ("embedding_response", "set_embedding(model, text, vector)"),
    ],
)
def test_a_word_of_a_name_tells_what_is_meant(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(create_mock_get_model(), name)
    assert str(caught.value) == f"'LLMMock' object has no attribute {name!r}. Use {advice}."


def test_an_assertion_is_near_to_other_assertions() -> None:
    with pytest.raises(AttributeError, match="; did you mean 'assert_all_replies_used'"):
        _ = create_mock_get_model().assert_all_replies_use  # type: ignore[attr-defined]


def test_all_advice_for_guessed_names_is_tried() -> None:
    assert {*GUESSED.values()} == {*NAMES_BY_ADVICE}
    guesses = " ".join(NAMES_BY_ADVICE.values()).split()
    assert len(guesses) == len({*guesses})
    assert not {*guesses} & {*vars(create_mock_get_model())}


def test_the_model_of_a_project_may_have_names_of_unittest() -> None:
    class OwnModel(MockLLMModel):
        def __init__(self) -> None:
            super().__init__("m")
            setattr(self, "return_value", "x")  # noqa: B010

    model: Any = OwnModel()
    assert model.return_value == "x"
    with patch.object(model, "return_value", "y"):
        assert model.return_value == "y"
    assert not hasattr(model, "side_effect")


def test_a_method_that_cannot_be_assigned_is_documented_by_its_class() -> None:
    assert LLMMock.autospec.__name__ == "autospec"
    assert "autospec(" in inspect.getsource(LLMMock.autospec)


class Reply:
    """A class of a project that has the name of one of the package."""

    def __init__(self, words: str) -> None:
        self.words = words


def test_a_class_of_the_project_with_the_name_of_another_one_is_not_explained() -> None:
    own: Any = Reply
    with pytest.raises(TypeError, match=r"^Reply\.__init__\(\) got an unexpected") as caught:
        own(txt="Hi")
    assert explain_use(caught.value, caught.tb.tb_frame) is None


def test_other_attributes_of_a_model_may_be_patched() -> None:
    model = create_mock_get_model()("m")
    with patch.object(model, "prompt", return_value="x") as prompt:
        assert model.prompt("Hi") == "x"
    prompt.assert_called_once_with("Hi")


def test_a_name_that_is_near_to_none_is_answered_with_all_of_them() -> None:
    mock: Any = create_mock_get_model()
    with pytest.raises(AttributeError) as caught:
        _ = mock.zzzz
    assert str(caught.value).startswith(
        "'LLMMock' object has no attribute 'zzzz'; known are add, advance_clock, "
    )


@pytest.mark.parametrize("method", ["set", "add"])
def test_the_arguments_that_exist_are_listed(method: str) -> None:
    with pytest.raises(TypeError, match=rf"^{method}\(\) has no argument 'colour'\. ") as caught:
        getattr(create_mock_get_model(), method)("m", "x", colour="red")
    assert re.search(
        "Its arguments: model, response, .*prompt, system, tools, turn, attachments, options, "
        "tool_result, has_tool_result\\.$",
        str(caught.value),
    )


def test_a_method_without_arguments_says_so() -> None:
    mock: Any = create_mock_get_model()
    with pytest.raises(
        TypeError, match=r"assert_called_once\(\) has no argument 'x'\. It has no arguments"
    ):
        mock.assert_called_once(x=1)


LISTED = (
    "Its arguments: model, response, schema, prompt, system, tools, turn, attachments, options, "
    "tool_result, has_tool_result."
)
WRONG_CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "reply alone": (
        lambda mock: mock.set("Hi"),
        'set() also needs \'response\' after the model, as in set("gpt-4o", …), or set("*", …) for '
        f"any model. {LISTED}",
    ),
    "no method": (
        lambda mock: mock.on("/v1/moderations", {}),
        'on() also needs \'response\' after the HTTP method, as in on("POST", "/v1/moderations", '
        "{…}). Its arguments: method, path, response, status, headers, times, optional.",
    ),
    "no model": (lambda mock: mock.set(response="Hi"), f"set() also needs 'model'. {LISTED}"),
    "nothing": (
        lambda mock: mock.set(),
        f"set() also needs 'model' and 'response'. {LISTED}",
    ),
    "twice": (
        lambda mock: mock.set("m", "Hi", response="Hello"),
        "set() got 'response' twice: by position and by name. Arguments by position: model, "
        f"response. {LISTED}",
    ),
    "model twice": (
        lambda mock: mock.set_unknown("m", model="n"),
        "set_unknown() got 'model' twice: by position and by name. Arguments by position: model. "
        "Its arguments: model.",
    ),
    "two replies": (
        lambda mock: mock.set("m", "Hi", "Hello"),
        "set() got too many arguments by position. Arguments by position: model, response. Pass "
        "the others by name. For several calls in order, write script(model, first, second), and "
        "for a "
        f"vector set_embedding(model, text, vector). {LISTED}",
    ),
    "two errors": (
        lambda mock: mock.set_error("m", OSError, OSError),
        "set_error() got too many arguments by position. Arguments by position: model, exception. "
        "Pass the others by name. For an error in some calls only, write set(model, error, "
        "prompt=…) "
        "or another condition. Its arguments: model, exception.",
    ),
    "none by position": (
        lambda mock: mock.assert_resilient(3),
        "assert_resilient() got too many arguments by position. Arguments by position: none. Pass "
        "the others by name. Its arguments: attempts, gave_up, waits, strict.",
    ),
}


@pytest.mark.parametrize("given", WRONG_CALLS)
def test_arguments_that_are_missing_or_too_many_are_named(given: str) -> None:
    use, message = WRONG_CALLS[given]
    mock: Any = create_mock_get_model()
    with pytest.raises(TypeError) as caught:
        use(mock)
    assert str(caught.value) == message


def test_two_replies_for_add_are_answered_with_script() -> None:
    mock: Any = create_mock_get_model()
    with pytest.raises(TypeError, match=r"name\. For several calls in order, write script\(model"):
        mock.add("m", "Hi", "Hello")


def test_a_failure_shows_the_line_of_the_test_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        def test_method(mock_llm_responses): mock_llm_responses.sett("m", "x")
        def test_keyword(mock_llm_responses): mock_llm_responses.add("m", "x", promt="y")
        def test_reply(mock_llm_responses): mock_llm_responses.set("m", reply="x")
        def test_model(mock_llm_responses): llm.get_model("m").assert_called_onse()
        def test_call(mock_llm_responses):
            llm.get_model("m").prompt("Hi").text()
            mock_llm_responses.last_call.promt
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=5)
    shown = result.stdout.str()
    assert "llm_mock/" not in shown.replace(str(pytester.path), "")
    # Python from 3.12 on adds a suggestion of its own to some errors.
    errors = [line for line in shown.splitlines() if line.startswith("E ")]
    assert [line.lower().count("did you mean") for line in errors] == [1] * 5


def test_a_property_that_fails_shows_its_own_error() -> None:
    class Failing(LLMMock):
        @property
        def extra(self) -> object:
            raise AttributeError("its own error")

    with pytest.raises(AttributeError, match=r"^its own error$"):
        _ = Failing().extra


def test_the_mock_lists_the_documented_names() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    documented: set[str] = set()
    for section in ("ResponseConfigurator", "LLMMock"):
        options = text.partition(f"::: llm_mock.{section}\n")[2].partition("\n\n")[0]
        documented |= {*re.findall(r"^ +- \"?(\w+)\"?$", options, re.MULTILINE)}
    mock = create_mock_get_model()
    listed = dir(mock)
    assertions = {name for name in listed if name.startswith("assert_")}
    assert {*listed} == documented | assertions
    assert assertions == {name for name in dir(LLMMock) if name.startswith("assert_")}
    for name in listed:
        # Static, because `last_call` fails before the first call.
        inspect.getattr_static(mock, name)


@pytest.mark.parametrize("name", [5, b"gpt 4o", ["my model"]])
def test_a_mock_that_is_called_with_no_text_says_so(name: Any) -> None:
    with pytest.raises(InvalidReply, match="This is not the name of a model: "):
        create_mock_get_model()(name)


def test_a_mock_without_a_project_writes_settings_as_pytest_ini_has_them() -> None:
    settings = create_mock_get_model().settings
    assert settings.format_ini("llm_mock", "strict") == "llm_mock = strict"
    assert settings.format_ini(*settings.strict_setting) == "llm_mock_strict = error"


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("model.prompt.return_value", "mock_llm_responses.set('gpt-4o', 'Paris')"),
        ("model.prompt.side_effect", "mock_llm_responses.script('gpt-4o', 'a', 'b'), or *"),
        ("mock_llm_responses.get_model.side_effect", "mock_llm_responses.script('gpt-4o', *"),
        ("mock_llm_responses.get_model.return_value", "mock_llm_responses.set('gpt-4o', *"),
    ],
)
def test_the_names_of_a_reply_on_a_method_are_return_value_and_side_effect(
    statement: str, advice: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        def test_it(mock_llm_responses):
            model = mock_llm_responses.get_model("gpt-4o")
            {statement}
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*is a method, not a mock. Use {advice}*"])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("assert_called", "assert_any_call() or assert_called_once()"),
        ("call_args", "last_call.prompt, or call_history[0]"),
        ("call_args_list", "call_history[0].prompt"),
        ("call_count", "prompt_count"),
        ("called", "prompt_count"),
        ("mock_calls", "call_history[0].prompt"),
        ("reset_mock", "reset_history()"),
    ],
)
def test_a_name_of_unittest_on_a_model_is_answered_with_what_to_use(
    name: str, advice: str, mock_llm_responses: LLMMock
) -> None:
    model = mock_llm_responses.get_model("gpt-4o")
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    assert str(caught.value).endswith(f"has no attribute {name!r}. Use {advice}.")
