"""The bytes of an answer are those that the provider would send, whole and streamed.

Each file of the folder `replies` has the answers of one API:

- `url`, perhaps `stream_url`: the address of the provider;
- `request`: fields that the body of each request has;
- `body`, `event`: fields of each answer in one piece, and of each event of a stream; with
  `numbered`, each event has its position too;
- `shared`: parts for several cases, as YAML anchors;
- `cases`: the answers by name, each with the `reply` of the mock, the rest of the `request`, of
  the `body`, of each `event` and of the `events`, perhaps some `headers`. `streamed: false` leaves
  the stream to other cases. A reply with an error has a `status`, the body `error`, and the
  `last_event` of the stream.

Values are those of the provider's documentation, never those that the code happens to give. Times
are 1700000000, and the ids of errors `req_mock`.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import llm_mock
from llm_mock import Citation, FileSearch, LLMMock, Logprob, Reply, ToolCall, WebSearch
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.corpus_files import load_file
from tests.boundaries.http.request_senders import BINARY, find_served_url

FOLDER = Path(__file__).with_name("replies")
USAGE = {"input_tokens": 11, "output_tokens": 2}
TIME = 1_700_000_000
ISO_TIME = "%Y-%m-%dT%H:%M:%SZ"
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
        return make_reply({"usage": USAGE, **self.fields["reply"]})

    @property
    def request(self) -> dict[str, Any]:
        """The body of the request."""
        return {**self.file["request"], **self.fields.get("request", {})}

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the answer has, among others."""
        headers: dict[str, str] = self.fields.get("headers", {})
        return headers

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the stream."""
        common = {**self.file["event"], **self.fields.get("event", {})}
        events = [{**common, **event} for event in self.fields["events"]]
        if "last_event" in self.fields:
            events.append(self.fields["last_event"])
        if self.file.get("numbered"):
            for number, event in enumerate(events):
                event["sequence_number"] = number
        return events


def make_reply(fields: dict[str, Any]) -> Reply:
    """Return the reply with these fields, whose values are those of YAML."""
    made = dict(fields)
    for name, make in MAKERS.items():
        if name in made:
            made[name] = [item if isinstance(item, str) else make(item) for item in made[name]]
    if "error" in made:
        made["error"] = RuntimeError(made["error"])
    return Reply(**made)


def make_part(fields: dict[str, Any]) -> Any:
    """Return a tool call, or the item whose class is the only key."""
    if "name" in fields:
        return ToolCall(**fields)
    [(name, arguments)] = fields.items()
    if name == "FileSearch":
        results = [Citation(**found) for found in arguments["results"]]
        return FileSearch(arguments["query"], results)
    if name == "WebSearch":
        pages = [
            page if isinstance(page, str) else Citation(**page) for page in arguments["sources"]
        ]
        return WebSearch(arguments["query"], pages)
    return getattr(llm_mock, name)(**arguments)


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "candidates": make_reply,
    "citations": lambda fields: Citation(**fields),
    "logprobs": lambda fields: Logprob(**fields),
    "parts": lambda fields: make_part(fields),
    "tool_calls": lambda fields: ToolCall(**fields),
}
"""The functions that make the items of a list in a reply, by its name."""


def load_cases() -> list[Case]:
    """Return the cases of all files."""
    cases = []
    for api in APIS:
        file = load_file(FOLDER / f"{api}.yaml")
        cases += [Case(api, name, file, fields) for name, fields in file["cases"].items()]
    return cases


CASES = load_cases()
STREAMED = [case for case in CASES if case.fields.get("streamed", True)]


def _convert_time_of_ollama(fixed: dict[str, Any]) -> None:
    if isinstance(fixed.get("created_at"), str):
        moment = datetime.strptime(fixed["created_at"], ISO_TIME).replace(tzinfo=timezone.utc)
        fixed["created_at"] = round(moment.timestamp())


def fix_values(value: Any, created: int = 0) -> Any:
    """Return JSON values with the fixed time and id in place of those that change.

    Args:
        value: the values.
        created: the time of what surrounds them.
    """
    if isinstance(value, list):
        return [fix_values(item, created) for item in value]
    if not isinstance(value, dict):
        return value
    created = value.get("created", created)
    fixed = {name: fix_values(item, created) for name, item in value.items()}
    for name in ("created", "updated"):
        if isinstance(fixed.get(name), str):
            moment = datetime.strptime(fixed[name], ISO_TIME).replace(tzinfo=timezone.utc)
            assert abs(moment.timestamp() - time.time()) < 60
            fixed[name] = datetime.fromtimestamp(TIME, timezone.utc).strftime(ISO_TIME)
    _convert_time_of_ollama(fixed)
    for name in ("created", "created_at"):
        if isinstance(fixed.get(name), int):
            assert abs(fixed[name] - time.time()) < 60
            fixed[name] = TIME
    if "expires_at" in fixed:
        fixed["expires_at"] += TIME - created
    for name in ("request_id", "id"):
        if str(fixed.get(name)).startswith("req_mock"):
            fixed[name] = re.sub(r"_\d+$", "", fixed[name])
    return fixed


NAMES = {
    "cohere": "type",
    "interactions": "event_type",
    "messages": "type",
    "responses": "type",
}
"""The field with the name of an event, by the API."""
HELLO = [{"role": "user", "content": "Hello"}]
NOT_JSON = "We could not parse the JSON body of your request."


def openai_error(message: str, param: str | None = None, code: str | None = None) -> Any:
    details = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"error": details}


def anthropic_error(kind: str, message: str) -> Any:
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error, "request_id": "req_mock"}


def google_error(status: int, name: str, message: str) -> Any:
    return {"error": {"code": status, "message": message, "status": name}}


def interactions_error(code: str, message: str) -> Any:
    return {"error": {"message": message, "code": code}}


def mistral_error(message: str, kind: str, code: str | None = None) -> Any:
    return {
        "object": "error",
        "message": message,
        "type": kind,
        "param": None,
        "code": code,
        "raw_status_code": 400,
    }


NOT_FOUND = (
    "model 'command-a-03-2025' not found, make sure the correct model ID was used and that you "
    "have access to the model."
)
UNKNOWN_MODEL = {
    "cohere": (404, {"id": "req_mock", "message": NOT_FOUND}),
    "invoke_model": (400, {"message": "The provided model identifier is invalid."}),
    "converse": (400, {"message": "The provided model identifier is invalid."}),
    "chat_completions": (
        404,
        openai_error(
            "The model `gpt-5` does not exist or you do not have access to it.",
            code="model_not_found",
        ),
    ),
    "responses": (
        400,
        openai_error("The requested model 'gpt-5' does not exist.", "model", "model_not_found"),
    ),
    "messages": (404, anthropic_error("not_found_error", "model: claude-opus-4-9")),
    "gemini": (
        404,
        google_error(
            404,
            "NOT_FOUND",
            "models/gemini-3-pro is not found for API version v1beta, or is not supported for "
            "generateContent. Call ListModels to see the list of available models and their "
            "supported methods.",
        ),
    ),
    "interactions": (404, interactions_error("not_found", "Model 'gemini-3.8-flash' not found.")),
    "ollama": (404, {"error": "model 'llama3.2' not found"}),
    "mistral": (400, mistral_error("Invalid model: mistral-large", "invalid_model", "1500")),
}
"""The status and the body for a model that does not exist, by the API."""
REFUSED_BODIES: list[tuple[str, bytes | dict[str, Any], int, Any]] = [
    ("chat_completions", b"{", 400, openai_error(NOT_JSON)),
    (
        "chat_completions",
        {"messages": []},
        400,
        openai_error(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            "messages",
            "empty_array",
        ),
    ),
    (
        "chat_completions",
        {"model": None},
        400,
        openai_error("Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    ),
    (
        "chat_completions",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}
                    ],
                }
            ]
        },
        400,
        openai_error("Invalid base64 data."),
    ),
    ("responses", b"[]", 400, openai_error(NOT_JSON)),
    (
        "responses",
        {"input": None},
        400,
        openai_error("Missing required parameter: 'input'.", "input", "missing_required_parameter"),
    ),
    (
        "responses",
        {"previous_response_id": "resp_x"},
        400,
        openai_error(
            "Previous response with id 'resp_x' not found.",
            "previous_response_id",
            "previous_response_not_found",
        ),
    ),
    ("messages", b"", 400, anthropic_error("invalid_request_error", NOT_JSON)),
    (
        "messages",
        {"messages": []},
        400,
        anthropic_error("invalid_request_error", "messages: at least one message is required"),
    ),
    (
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "image", "source": "https://a"}]}]},
        400,
        anthropic_error("invalid_request_error", "source: Input should be a valid dictionary"),
    ),
    ("converse", b"{", 400, {"message": NOT_JSON}),
    (
        "converse",
        {
            "messages": [
                {"role": "user", "content": [{"text": "Hello"}]},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "a", "name": "b", "input": {}}}],
                },
            ]
        },
        400,
        {
            "message": "The toolConfig field must be defined when using toolUse and toolResult "
            "content blocks."
        },
    ),
    (
        "converse",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "b"}]}}],
                }
            ]
        },
        400,
        {
            "message": "The toolConfig field must be defined when using toolUse and toolResult "
            "content blocks."
        },
    ),
    ("invoke_model", b"{", 400, {"message": NOT_JSON}),
    (
        "invoke_model",
        {"anthropic_version": None},
        400,
        {"message": "anthropic_version: Field required"},
    ),
    ("invoke_model", {"max_tokens": None}, 400, {"message": "max_tokens: Field required"}),
    (
        "invoke_model",
        {"messages": []},
        400,
        {"message": "messages: at least one message is required"},
    ),
    (
        "converse",
        {"messages": []},
        400,
        {
            "message": "A conversation must start with a user message. Try again with a "
            "conversation that starts with a user message."
        },
    ),
    ("cohere", b"{", 400, {"id": "req_mock", "message": NOT_JSON}),
    (
        "cohere",
        {"model": None},
        400,
        {"id": "req_mock", "message": "a model parameter is required for this endpoint."},
    ),
    *(
        (
            "cohere",
            {"messages": messages},
            400,
            {
                "id": "req_mock",
                "message": "invalid request: required 'messages' param is missing or empty.",
            },
        )
        for messages in (None, [])
    ),
    (
        "cohere",
        {"messages": [{"role": "user", "content": 5}]},
        400,
        {
            "id": "req_mock",
            "message": "invalid type: parameter messages[0].content is of type int but should be "
            "of type array.",
        },
    ),
    ("interactions", b"{", 400, interactions_error("invalid_request", NOT_JSON)),
    (
        "interactions",
        {"input": None},
        400,
        interactions_error("invalid_request", "Missing required parameter: 'input'."),
    ),
    (
        "interactions",
        {"model": None},
        400,
        interactions_error("invalid_request", "Missing required parameter: 'model'."),
    ),
    (
        "interactions",
        {"previous_interaction_id": "v1_x"},
        404,
        interactions_error("not_found", "Interaction 'v1_x' not found."),
    ),
    ("gemini", b"{", 400, google_error(400, "INVALID_ARGUMENT", NOT_JSON)),
    (
        "gemini",
        {"contents": []},
        400,
        google_error(
            400,
            "INVALID_ARGUMENT",
            "* GenerateContentRequest.contents: contents is not specified\n",
        ),
    ),
    ("ollama", b"{", 400, {"error": NOT_JSON}),
    ("ollama", {"model": None}, 400, {"error": "model is required"}),
    ("ollama", {"model": ""}, 400, {"error": "model is required"}),
    (
        "ollama",
        {"messages": [{"role": "user", "content": 5}]},
        400,
        {
            "error": "json: cannot unmarshal number into Go struct field messages[0].content of "
            "type string"
        },
    ),
    ("mistral", b"{", 400, mistral_error(NOT_JSON, "invalid_request_error")),
]
"""Bodies that are refused, with the status and the body of the error."""


def read_binary_events(content: bytes) -> list[dict[str, Any]]:
    """Return the events of a stream of AWS by their types, which botocore finds in it."""
    eventstream = pytest.importorskip("botocore.eventstream")
    buffer = eventstream.EventStreamBuffer()
    buffer.add_data(content)
    events = []
    for message in buffer:
        kind = message.headers[":message-type"]
        assert message.headers[":content-type"] == "application/json"
        assert len(message.headers) == 3
        event = {message.headers[f":{kind}-type"]: json.loads(message.payload)}
        if "chunk" in event:
            event = json.loads(base64.b64decode(event["chunk"]["bytes"]))
        events.append(event)
    assert buffer._data == b""
    return events


def name_case(case: Case) -> str:
    return f"{case.api}: {case.name}"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Yield a client, which takes longer to make than a request."""
    with httpx.Client() as client:
        yield client


@pytest.fixture(params=["in process", "served"])
def find_url(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return the function that finds an address by the way of the test."""
    if request.param == "in process":
        return str
    server: MockServer = request.getfixturevalue("llm_mock_server")
    return partial(find_served_url, server_url=server.url)


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_an_answer_in_one_piece_is_that_of_the_provider(
    case: Case,
    find_url: Callable[[str], str],
    client: httpx.Client,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", case.reply)
    body = {**case.request}
    # Its options are refused without a stream.
    body.pop("stream_options", None)
    answer = client.post(find_url(case.file["url"]), json=body)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers.items() >= case.headers.items()
    expected = case.fields.get("error") or {**case.file["body"], **case.fields["body"]}
    assert fix_values(answer.json()) == expected
    assert answer.status_code == case.fields.get("status", 200)


@pytest.mark.parametrize("case", STREAMED, ids=name_case)
def test_the_events_of_a_stream_are_those_of_the_provider(
    case: Case,
    find_url: Callable[[str], str],
    client: httpx.Client,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", case.reply)
    stream_url = case.file.get("stream_url")
    body = case.request if stream_url else {**case.request, "stream": True}
    answer = client.post(find_url(stream_url or case.file["url"]), json=body)
    assert answer.status_code == 200
    if case.api in BINARY:
        assert answer.headers["content-type"] == "application/vnd.amazon.eventstream"
        assert read_binary_events(answer.content) == case.events
        return
    if case.api == "ollama":
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = answer.text.splitlines(keepends=True)
        assert all(line.endswith("\n") for line in lines)
        assert [fix_values(json.loads(line)) for line in lines] == case.events
        return
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers.items() >= case.headers.items()
    *blocks, end = answer.text.split("\n\n")
    assert end == ""
    has_end = case.api in ("chat_completions", "cohere", "mistral")
    if has_end and "error" not in case.fields:
        assert blocks.pop() == "data: [DONE]"
    if case.api == "interactions" and "error" not in case.fields:
        assert blocks.pop() == "event: done\ndata: [DONE]"
    kind = NAMES.get(case.api)
    events = []
    for block in blocks:
        name, _, data = block.rpartition("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == ("" if kind is None else f"event: {event[kind]}")
        events.append(fix_values(event))
    assert events == case.events


def get_file(api: str) -> dict[str, Any]:
    """Return the file of an API."""
    return next(case.file for case in CASES if case.api == api)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_that_does_not_exist_is_the_error_of_the_provider(
    api: str, streamed: bool, mock_llm_responses: LLMMock
) -> None:
    file = get_file(api)
    mock_llm_responses.set_unknown("*")
    url = (streamed and file.get("stream_url")) or file["url"]
    body = file["request"] if url != file["url"] else {**file["request"], "stream": streamed}
    answer = httpx.post(url, json=body)
    assert (answer.status_code, fix_values(answer.json())) == UNKNOWN_MODEL[api]
    assert mock_llm_responses.calls == []


@pytest.mark.parametrize(("api", "body", "status", "error"), REFUSED_BODIES)
def test_a_body_is_refused_with_the_error_of_the_provider(
    api: str, body: bytes | dict[str, Any], status: int, error: Any, mock_llm_calls: LLMMock
) -> None:
    file = get_file(api)
    content = body if isinstance(body, bytes) else json.dumps({**file["request"], **body}).encode()
    answer = httpx.post(file["url"], content=content)
    assert (answer.status_code, fix_values(answer.json())) == (status, error)
    assert mock_llm_calls.calls == []
