"""Each row of the tables for mocks of Gemini's client."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

OPTIONS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_output_tokens": "maxOutputTokens",
    "candidate_count": "candidateCount",
    "stop_sequences": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "response_mime_type": "responseMimeType",
}
START = """\
from unittest.mock import Mock, patch

import app


@patch("app.genai.Client")
def test_it(client_class):
    generate_content = client_class.return_value.models.generate_content
    generate_content.return_value = {response}
    app.ask()
"""


def rewrite(folder: Path, response: str, assertion: str = "") -> FileResult:
    (folder / "app.py").write_text("from google import genai\n")
    source = START.format(response=response) + assertion
    return rewrite_file(
        folder / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )


@pytest.mark.parametrize(("name", "option"), OPTIONS.items())
def test_an_option_is_read_under_the_name_that_is_sent(
    name: str, option: str, tmp_path: Path
) -> None:
    call = "generate_content.call_args.kwargs"
    result = rewrite(tmp_path, 'Mock(text="Hi")', f'    assert {call}["config"].{name} == 1\n')
    assert f'assert mock_llm_calls.last_call.options.get("{option}") == 1\n' in result.after


def test_an_argument_that_is_sent_in_another_form_is_left(tmp_path: Path) -> None:
    assertion = '    assert generate_content.call_args.kwargs["tools"] == 1\n'
    [change] = rewrite(tmp_path, 'Mock(text="Hi")', assertion).manual_changes
    assert change.reason == "google-genai sends tools in another form"


@pytest.mark.parametrize(
    ("reason", "reply"),
    [
        ('"STOP"', '"Hi"'),
        ('"MAX_TOKENS"', 'Reply("Hi", finish_reason="length")'),
        ('"SAFETY"', 'Reply("Hi", finish_reason="content_filter")'),
        ("None", '"Hi"'),
        ("types.FinishReason.SAFETY", 'Reply("Hi", finish_reason="content_filter")'),
    ],
)
def test_a_finish_reason_is_that_of_a_reply(reason: str, reply: str, tmp_path: Path) -> None:
    content = 'Mock(parts=[Mock(text="Hi")])'
    response = f"Mock(candidates=[Mock(content={content}, finish_reason={reason})])"
    assert f'mock_llm_responses.set("*", {reply})\n' in rewrite(tmp_path, response).after


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("Mock(text=5)", "text is 5, but must be a string"),
        ("Mock(text=None)", "the text of the response is None"),
        (
            "Mock(function_calls=5)",
            "function_calls (5) is not a literal list of mocks",
        ),
        ("Mock(candidates=5)", "candidates (5) is not a literal list of mocks"),
        (
            "Mock(candidates=[Mock(content=Mock(parts=5))])",
            "parts (5) is not a literal list of mocks",
        ),
        ("Mock(candidates=[Mock(content=5)])", "the content is 5, which is not a mock"),
        ("Mock(candidates=[Mock(safety=5)])", "the mock of a candidate has the attribute safety"),
        (
            'Mock(text="Hi", usage_metadata=Mock(prompt_token_count=1))',
            "the usage lacks prompt_token_count or candidates_token_count",
        ),
    ],
)
def test_what_a_reply_cannot_have_is_told(response: str, reason: str, tmp_path: Path) -> None:
    result = rewrite(tmp_path, response)
    assert result.changed == ()
    assert [change.reason for change in result.manual_changes] == [reason]
