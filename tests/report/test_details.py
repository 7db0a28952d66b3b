"""The details of a call, where `llm` hands out things that are rarer than text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import llm
import pytest

from llm_mock import Reply, create_mock_get_model
from llm_mock.boundaries.llm.request import LLMRequest
from llm_mock.core import request
from llm_mock.core.call_log import CallLog, describe_reply
from llm_mock.report import calls

NEW_LLM = hasattr(llm, "Message")


class Picture:
    """The result of a tool as a library has it."""

    name, output, tool_call_id = "look", "", "c1"
    exception = OSError("no")


def described_parts(messages: list[Any]) -> Any:
    prompt = llm.models.Prompt(None, model=create_mock_get_model()("m"), messages=messages)
    return LLMRequest("m", prompt, None, None).messages()[0]["parts"]


@pytest.mark.skipif(not NEW_LLM, reason="messages came with llm 0.32")
def test_every_kind_of_part_is_described() -> None:
    from llm.parts import AttachmentPart, Part, ReasoningPart, ToolCallPart, ToolResultPart

    picture = llm.Attachment(type="image/png", content=b"png")
    parts = [
        ReasoningPart(text="Hm."),
        ReasoningPart(redacted=True),
        ToolCallPart(name="look", arguments={"at": 1}),
        ToolResultPart(
            name="look",
            output="seen",
            tool_call_id="c1",
            exception="OSError: no",
            attachments=[picture],
        ),
        AttachmentPart(attachment=picture),
        AttachmentPart(),
        Part(),
    ]
    described = described_parts([llm.Message("user", parts)])
    as_picture = {"type": "image/png", "bytes": 3, "sha256": described[4]["attachment"]["sha256"]}
    assert described == [
        {"type": "reasoning", "text": "Hm."},
        {"type": "reasoning", "text": "(withheld by the provider)"},
        {"type": "tool_call", "name": "look", "arguments": {"at": 1}, "tool_call_id": None},
        {
            **{"type": "tool_result", "name": "look", "output": "seen", "tool_call_id": "c1"},
            **{"exception": "OSError: no", "attachments": [as_picture]},
        },
        {"type": "attachment", "attachment": as_picture},
        {"type": "attachment", "attachment": {}},
        {"type": "text", "text": "Part()"},
    ]


def test_a_file_that_is_missing_or_huge_has_no_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "LARGEST_FILE", 2)
    (tmp_path / "large.txt").write_bytes(b"123")
    (tmp_path / "small.txt").write_bytes(b"12")
    described = request.describe_attachments(
        llm.Attachment(path=str(tmp_path / f"{name}.txt")) for name in ("large", "small")
    )
    assert ["sha256" in each for each in described] == [False, True]
    missing = llm.Attachment(path=str(tmp_path / "missing.png"), type="image/png")
    assert request.describe_attachments([missing]) == [
        {"type": "image/png", "path": str(tmp_path / "missing.png")}
    ]


def test_a_tool_call_that_raised_is_described_with_its_error() -> None:
    assert request.describe_tool_result(Picture())["exception"] == "OSError: no"


def test_an_answer_needs_no_more_than_its_text() -> None:
    assert describe_reply(Reply("Hello"), 1) == {"text": "Hello"}
    assert describe_reply(Reply(""), 1) == {}


@pytest.mark.skipif(not NEW_LLM, reason="events came with llm 0.32")
def test_an_answer_that_breaks_off_has_the_text_of_the_events_before() -> None:
    event = llm.parts.StreamEvent
    events = [event(type="reasoning", chunk="Hm."), event(type="text", chunk="Five.")]
    cut = Reply(chunks=[*events, " Or six."], error=OSError("cut"), error_after=2)
    assert describe_reply(cut, 1)["text"] == "Five."


def test_a_history_that_was_kept_in_part_is_no_error() -> None:
    kept = CallLog()
    call: Any = create_mock_get_model()("m")
    call.prompt("Hi")
    [record] = call.call_history
    kept.add_response(record, Reply("late"))
    kept.add_error(record, OSError("late"))
    assert kept.attach_details(record) is record
    assert len(kept) == 0


def test_a_call_without_details_is_shown_from_its_record() -> None:
    def look(word: str) -> str:
        return word

    mock = create_mock_get_model({"m": {"found": True}, "n": "text"})
    mock("m").prompt(
        "Hi", system="Be brief", tools=[look], schema={"title": "Found", "type": "object"}
    )
    mock("n").prompt("Hi")
    mock("n").prompt("")
    data, plain, empty = calls.describe_calls([(record, {}) for record in mock.calls], mock)
    assert data["messages"][0] == {
        "role": "system",
        "parts": [{"type": "text", "text": "Be brief"}],
    }
    assert json.loads(data["response"]["text"]) == {"found": True}
    assert (data["schema"], data["tools"][0]["name"]) == ({"name": "Found", "json": None}, "look")
    assert plain["response"] == {"text": "text"}
    assert empty["messages"] == []


def test_a_price_that_nobody_knows_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_mock.cost.prices.has_provider_prices", lambda: False)
    mock = create_mock_get_model()
    mock("gpt-4o-without-prices").prompt("Hi")
    [call] = calls.describe_calls([(mock.calls[0], {})], mock)
    assert call["cost_usd"] is None
