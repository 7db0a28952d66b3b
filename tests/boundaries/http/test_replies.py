"""The bytes of an answer are those that the provider would send, whole and streamed.

Each file of the folder `replies` has the answers of one API:

- `url`, perhaps `stream_url`: the address of the provider;
- `request`: fields that the body of each request has;
- `body`, `event`: fields of each answer in one piece, and of each event of a stream; with
  `numbered`, each event has its position too;
- `shared`: parts for several cases, as YAML anchors;
- `cases`: the answers by name, each with the `reply` of the mock, the rest of the `request`, of
  the `body` and of the `events`. `streamed: false` leaves the stream to other cases. A reply with
  an error has a `status`, the body `error`, and the `last_event` of the stream.

Values are those of the provider's documentation, never those that the code happens to give. Times
are 1700000000, and the ids of errors `req_mock`.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from llm_mock import LLMMock, Reply, ToolCall

FOLDER = Path(__file__).with_name("replies")
USAGE = {"input_tokens": 11, "output_tokens": 2}
TIME = 1_700_000_000
APIS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


class Case(NamedTuple):
    """A reply of the mock and the answers that it becomes."""

    api: str
    name: str
    file: dict[str, Any]
    fields: dict[str, Any]

    @property
    def reply(self) -> Reply:
        """The reply of the mock."""
        fields = {"usage": USAGE, **self.fields["reply"]}
        if "tool_calls" in fields:
            fields["tool_calls"] = [ToolCall(**call) for call in fields["tool_calls"]]
        if "error" in fields:
            fields["error"] = RuntimeError(fields["error"])
        return Reply(**fields)

    @property
    def request(self) -> dict[str, Any]:
        """The body of the request."""
        return {**self.file["request"], **self.fields.get("request", {})}

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the stream."""
        events = [{**self.file["event"], **event} for event in self.fields["events"]]
        if "last_event" in self.fields:
            events.append(self.fields["last_event"])
        if self.file.get("numbered"):
            for number, event in enumerate(events):
                event["sequence_number"] = number
        return events


def load_cases() -> list[Case]:
    """Return the cases of all files."""
    cases = []
    for api in APIS:
        file = yaml.safe_load((FOLDER / f"{api}.yaml").read_text(encoding="utf-8"))
        cases += [Case(api, name, file, fields) for name, fields in file["cases"].items()]
    return cases


CASES = load_cases()
STREAMED = [case for case in CASES if case.fields.get("streamed", True)]


def fix_values(value: Any) -> Any:
    """Return JSON values with the fixed time and id in place of those that change."""
    if isinstance(value, list):
        return [fix_values(item) for item in value]
    if not isinstance(value, dict):
        return value
    fixed = {name: fix_values(item) for name, item in value.items()}
    for name in ("created", "created_at"):
        if name in fixed:
            assert abs(fixed[name] - time.time()) < 60
            fixed[name] = TIME
    if "request_id" in fixed:
        fixed["request_id"] = re.sub(r"_\d+$", "", fixed["request_id"])
    return fixed


def name_case(case: Case) -> str:
    return f"{case.api}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_an_answer_in_one_piece_is_that_of_the_provider(
    case: Case, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", case.reply)
    answer = httpx.post(case.file["url"], json=case.request)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == str(len(answer.content))
    expected = case.fields.get("error") or {**case.file["body"], **case.fields["body"]}
    assert fix_values(answer.json()) == expected
    assert answer.status_code == case.fields.get("status", 200)


@pytest.mark.parametrize("case", STREAMED, ids=name_case)
def test_the_events_of_a_stream_are_those_of_the_provider(
    case: Case, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", case.reply)
    stream_url = case.file.get("stream_url")
    body = case.request if stream_url else {**case.request, "stream": True}
    answer = httpx.post(stream_url or case.file["url"], json=body)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *blocks, end = answer.text.split("\n\n")
    assert end == ""
    if case.api in ("chat_completions", "mistral") and "error" not in case.fields:
        assert blocks.pop() == "data: [DONE]"
    has_names = case.api in ("messages", "responses")
    events = []
    for block in blocks:
        name, _, data = block.rpartition("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == (f"event: {event['type']}" if has_names else "")
        events.append(fix_values(event))
    assert events == case.events
