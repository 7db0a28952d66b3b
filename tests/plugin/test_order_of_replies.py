"""A failing test says that its replies are in the wrong order, or came after the call."""

from __future__ import annotations

import re

import pytest

TESTS = """
import llm
import openai
import pytest
from llm_mock import Reply, ToolCall, UnexpectedCall

CALL = ToolCall("weather", {"city": "Rome"})
SCHEMA = {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]
}
STRICT = pytest.mark.llm_mock_strict("error")

def weather(city: str) -> str:
    return "sunny"

def ask(*tools):
    return llm.get_model("gpt-4o").chain("Hi", tools=tools).text()

def create(**more):
    message = {"role": "user", "content": "Hi"}
    client = openai.OpenAI(max_retries=0)
    return client.chat.completions.create(model="gpt-4o", messages=[message], **more)

def test_text_first(mock_llm_responses):
    mock_llm_responses.add("gpt-4o", "Sunny.")  # line
    mock_llm_responses.add("gpt-4o", CALL)
    ask(weather)

def test_swapped(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", "Sunny.", {"city": "Rome"})  # line
    llm.get_model("gpt-4o").prompt("Hi", schema=SCHEMA).text()

def test_no_better_one(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", "Sunny.", {"town": "Rome"})  # line
    llm.get_model("gpt-4o").prompt("Hi", schema=SCHEMA).text()

def test_both_fit(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", {"city": "Bern"}, {"city": "Rome"})  # line
    llm.get_model("gpt-4o").prompt("Hi", schema=SCHEMA).text()

def test_wrong_on_purpose(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", Reply("S", invalid=True), {"city": "Rome"})  # line
    llm.get_model("gpt-4o").prompt("Hi", schema=SCHEMA).text()

def test_refused(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", "first", "second")
    create()
    create(temperature=9)

def test_text_before_a_standing_call(mock_llm_responses):
    mock_llm_responses.add("gpt-4o", CALL)
    mock_llm_responses.add("gpt-4o", "Sunny.")  # line
    mock_llm_responses.set("gpt-4o", Reply(tool_calls=[CALL]))
    ask(weather)
    assert False

def test_without_a_call(mock_llm_responses):
    mock_llm_responses.add("gpt-4o", CALL)

def test_without_tools(mock_llm_responses):
    mock_llm_responses.add("gpt-4o", "Sunny.")  # line
    mock_llm_responses.add("gpt-4o", CALL)
    ask()

def test_a_text_too_many(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", "Sunny.", "Sunny.")  # line
    ask(weather)

def test_a_call_too_many(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", CALL, CALL)  # line
    llm.get_model("gpt-4o").prompt("Hi", tools=[weather]).text()

def test_a_standing_text(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Sunny.")
    ask(weather)
    mock_llm_responses.add("gpt-4o", CALL)  # late

def test_an_unmatched_call(mock_llm_responses):
    ask(weather)
    mock_llm_responses.add("gpt-4o", CALL)  # late

def test_replaced_later(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "first")
    mock_llm_responses.set("gpt-4o", "of a schema", schema="Dog")
    answer = ask()
    mock_llm_responses.set("gpt-4o", "second")  # late
    assert answer == "second"

def test_an_error_goes_first(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", OSError)  # line
    mock_llm_responses.set("gpt-4o", "first")
    ask()

def test_a_more_special_reply(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "first", prompt="Hi")  # line
    mock_llm_responses.set("gpt-4o", "second")
    assert ask() == "second"

def test_a_replaced_special_reply(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "first", prompt="Hi")  # line
    answer = ask()
    mock_llm_responses.set("gpt-4o", "third", prompt="Hi")  # late
    mock_llm_responses.set("gpt-4o", "second")
    assert answer == "second"

def test_after_a_refused_call(mock_llm_responses):
    with pytest.raises(openai.BadRequestError):
        create()
    mock_llm_responses.set("gpt-4", "another")
    mock_llm_responses.set("gpt-4o", "Hi")  # late

@STRICT
def test_after_a_strict_call(mock_llm_responses):
    for _ in range(2):
        with pytest.raises(UnexpectedCall):
            ask()
    mock_llm_responses.add("gpt-4o", "Hi")  # late
"""
ORDER = (
    "the text (test_it.py:{}) was used first, so the application made no further call. Queue "
    "the tool call before it. For both in one answer, write Reply(text, tool_calls=[…])."
)
ANSWERED = "another reply answered the only call that matches it  (test_it.py:{})"
EARLIER = "an earlier reply of this line answered the only call that matches it  (test_it.py:{})"
SWAPPED = (
    f"{EARLIER}. This reply matches the schema of that call, but the used reply does not: check "
    "the order "
    "of the replies"
)
REFUSED = "call 2 matches, but failed: see the error of the call"
LATE = (
    "nearest call: 1, but it was made before the reply was configured: configure the reply before "
    "the call"
)
EXPECTED = {
    "test_text_first": [ORDER],
    "test_swapped": [SWAPPED],
    "test_no_better_one": [EARLIER],
    "test_both_fit": [EARLIER],
    "test_wrong_on_purpose": [EARLIER],
    "test_refused": [REFUSED],
    "test_text_before_a_standing_call": [ORDER],
    "test_without_a_call": [],
    "test_without_tools": [ANSWERED],
    "test_a_text_too_many": [EARLIER],
    "test_a_call_too_many": [EARLIER],
    "test_a_standing_text": [LATE],
    "test_an_unmatched_call": [LATE],
    "test_replaced_later": [LATE],
    "test_an_error_goes_first": [ANSWERED],
    "test_a_more_special_reply": [ANSWERED],
    "test_a_replaced_special_reply": [LATE, ANSWERED],
    "test_after_a_refused_call": [LATE],
    "test_after_a_strict_call": [LATE],
}


def test_the_order_of_replies_is_explained(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=len(EXPECTED))
    _, *failures = re.split(r"^_+ (test_\w+) _+$", result.stdout.str(), flags=re.MULTILINE)
    found = {}
    lines = TESTS.splitlines()
    for name, text in zip(failures[::2], failures[1::2], strict=True):
        start = lines.index(f"def {name}(mock_llm_responses):")
        # pytester leaves out the first line, which is empty.
        marked = [number for number, line in enumerate(lines[start:], start) if "  # " in line]
        notes = re.findall(
            r"^    ((?:the text|nearest .*it was|call \d|[\w ]+ reply[\w ]* answered).*)$",
            text,
            re.MULTILINE,
        )
        found[name] = notes
        assert notes == [note.format(*marked) for note in EXPECTED[name]], name
        # The note stands below its reply.
        if LATE in notes:
            line = marked[len(notes) - 1]
            assert re.search(rf"\(test_it\.py:{line}\b[^\n]*\)\n    {LATE}", text)
    assert found.keys() == EXPECTED.keys()


def test_a_reply_below_the_call_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import openai

        def ask():
            message = {"role": "user", "content": "Hi"}
            client = openai.OpenAI(max_retries=0)
            client.chat.completions.create(model="gpt-4o", messages=[message])

        def test_set(mock_llm_responses):
            mock_llm_responses.set("gpt-4", "Hello")
            ask()
            mock_llm_responses.set("gpt-4o", "Hi")
            mock_llm_responses.set("gpt-4o", "Ho")

        def test_add(mock_llm_calls):
            (
                ask()
            )
            mock_llm_calls.add("gpt-4o", "Hi")

        def test_script(mock_llm_calls):
            ask()
            mock_llm_calls.script("gpt-4o", "Hi")

        def test_on(mock_llm_calls):
            ask()
            mock_llm_calls.on("POST", "/v1/chat/completions", {})

        def test_error(mock_llm_calls):
            ask()
            mock_llm_calls.set_error("gpt-4o", OSError)

        def test_none(mock_llm_calls):
            mock_llm_calls.set("gpt-4", "Hello")
            ask()
            mock_llm_calls.assert_called_once()

        def test_next(mock_llm_calls):
            mock_llm_calls.set("gpt-4o", "Hello")
            openai.OpenAI(max_retries=0).chat.completions.create(model="gpt-4o", messages=[])
            mock_llm_calls.set("gpt-4o", "Hello")
        """
    )
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=7)
    shown = result.stdout.str().splitlines()
    note = "configures a reply after this call: move it before the call."
    notes = [line.removesuffix(f" {note}") for line in shown if line.endswith(note)]
    assert notes == [f"test_it.py:{number}" for number in (11, 18, 22, 26, 30)]


def test_a_tool_call_that_set_repeats_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import llm
        import pytest
        from llm_mock import ToolCall

        CALL = ToolCall("weather", {"city": "Rome"})

        def weather(city: str) -> str:
            return "sunny"

        def ask(limit=3):
            model = llm.get_model("gpt-4o")
            conversation = model.conversation()
            return conversation.chain("Hi", tools=[weather], chain_limit=limit).text()

        def test_repeated(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", CALL)
            ask()

        def test_twice(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", CALL)
            mock_llm_responses.add("gpt-4o", "Sunny.", turn=3)
            assert ask() == "Rainy."

        def test_queued(mock_llm_responses):
            mock_llm_responses.script("gpt-4o", CALL, CALL, "Sunny.")
            assert ask() == "Rainy."

        def test_text(mock_llm_responses):
            mock_llm_responses.add("gpt-4o", CALL)
            mock_llm_responses.set("gpt-4o", "Sunny.")
            assert ask() == "Rainy."

        def test_unconfigured(mock_llm_responses):
            mock_llm_responses.add("gpt-4o", CALL)
            assert ask() == "Rainy."

        def test_once(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", CALL)
            model = llm.get_model("gpt-4o")
            model.prompt("Hi", tools=[weather]).text()
            assert model.prompt("Hi", tools=[weather]).text() == "Rainy."
        """
    )
    result = pytester.runpytest("--tb=line")
    result.assert_outcomes(failed=6)
    note = (
        "The tool call of set() (test_it.py:{}) was returned again after the result of the tool, "
        "{}. Queue the tool call and then the text: script(model, ToolCall(…), text)."
    )
    shown = result.stdout.str().splitlines()
    notes = [line for line in shown if line.startswith("The tool call of set()")]
    assert notes == [note.format(16, "2 times"), note.format(20, "1 time")]


def test_a_reply_that_was_replaced_before_its_call_is_named(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def polite(mock_llm_responses):
            mock_llm_responses.set("*", "Hello")
        """
    )
    pytester.makepyfile(
        test_it="""
        import llm

        def ask(*texts):
            model = llm.get_model("gpt-4o")
            assert [model.prompt("Hi").text() for _ in texts] == [*texts]

        def test_twice(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "one")
            mock_llm_responses.set("gpt-4o", "two")
            ask("one", "two")

        def test_twice_with_a_matcher(mock_llm_responses):
            mock_llm_responses.set("gpt-*", "one", prompt="Hi")
            mock_llm_responses.set("gpt-*", "two", prompt="Hi")
            ask("one", "two")

        def test_a_reply_that_was_used(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "one")
            ask("one")
            mock_llm_responses.set("gpt-4o", "two")
            ask("one")

        def test_different_calls(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "one", prompt="Hi")
            mock_llm_responses.set("gpt-4o", "one", prompt="Ho")
            mock_llm_responses.set("gpt-4o", "one", schema="Dog")
            mock_llm_responses.set("gpt-4o", "two")
            ask("two")

        def test_the_reply_of_a_fixture(polite, mock_llm_responses):
            mock_llm_responses.set("*", "one")
            ask("two")

        def test_that_passes(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "one")
            mock_llm_responses.set("gpt-4o", "two")
            ask("two")
        """
    )
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=5, passed=1)
    note = (
        "The reply of set() (test_it.py:{}) replaced the reply of set() (test_it.py:{}) before "
        "any call used it. For several replies in order, write script('{}', first, second)."
    )
    shown = [line for line in result.stdout.str().splitlines() if "replaced the reply of" in line]
    assert shown == [note.format(9, 8, "gpt-4o"), note.format(14, 13, "gpt-*")]
