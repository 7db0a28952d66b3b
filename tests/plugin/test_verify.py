"""`--llm-mock-record=verify`: recorded calls are made once more, and the answers compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import llm.default_plugins.openai_models  # noqa: F401 (so that runs inside the run do not import it anew)
import pytest

from llm_mock.cassettes.comparison import compare_responses
from llm_mock.cassettes.schema import RecordedResponse
from tests.openai_server import OpenAIServer, QuietServer, openai_server, served
from tests.provider_server import ARGUMENTS, KEY

CASSETTE = Path("cassettes/test_it/test_it.llm.yaml")
VERIFY = "--llm-mock-record=verify"
CALL = {"name": "weather", "arguments": ARGUMENTS}
TOOL_CALL = {"id": "call_1", "type": "function", "function": CALL}
VECTORS = {"object": "list", "data": [{"embedding": [0.5, 0.25]}], "usage": {"prompt_tokens": 1}}
ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-2026-01-01",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi.", "annotations": []},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
TEST = """
import openai
import pytest

@pytest.mark.llm_mock_cassette
def test_it():
    with openai.OpenAI(base_url="URL/v1", api_key="KEY", max_retries=0) as client:
        BODY

def chat(client, **more):
    messages = [{"role": "user", "content": "Hello"}]
    return client.chat.completions.create(model="gpt-4o", messages=messages, **more)
"""
ASK = 'assert chat(client).choices[0].message.content == "Hi."'


class DriftingServer(QuietServer):
    """Answers whatever a test sets, and keeps the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, Any]] = []
        self.status = 200
        self.answer: Any = ANSWER

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def change(self, **message: Any) -> None:
        """Answer a changed message, with its finish reason."""
        choice = dict(ANSWER["choices"][0])
        choice["finish_reason"] = message.pop("finish_reason", "stop")
        choice["message"] = {**choice["message"], **message}
        self.answer = {**ANSWER, "choices": [choice]}


class _Handler(BaseHTTPRequestHandler):
    server: DriftingServer

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.headers["Authorization"], body))
        is_stream = isinstance(self.server.answer, list)
        if is_stream:
            events = [f"data: {json.dumps(event)}\n\n" for event in self.server.answer]
            content = "".join([*events, "data: [DONE]\n\n"]).encode()
        else:
            content = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        kind = "text/event-stream" if is_stream else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[DriftingServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(DriftingServer()) as server:
        pytester.makeini(f"[pytest]\nllm_mock_hosts = {server.host}\n")
        yield server


def record(pytester: pytest.Pytester, server: DriftingServer, body: str = ASK) -> bytes:
    """Record a test, and return the cassette."""
    pytester.makepyfile(test_it=format_test(server, body))
    pytester.runpytest("--llm-mock-record=once").assert_outcomes(passed=1)
    server.requests.clear()
    return CASSETTE.read_bytes()


def format_test(server: DriftingServer, body: str = ASK) -> str:
    """Return a test that asks the server."""
    return TEST.replace("URL", f"http://{server.host}").replace("KEY", KEY).replace("BODY", body)


def drift(server: DriftingServer, changes: dict[str, Any]) -> None:
    """Let the server answer otherwise."""
    server.status = changes.get("status", 200)
    if "answer" in changes:
        server.answer = changes["answer"]
    elif "status" not in changes:
        server.change(**changes)


def test_an_unchanged_answer_is_verified_with_the_request_that_was_recorded(
    pytester: pytest.Pytester, server: DriftingServer
) -> None:
    recorded = record(pytester, server)
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*Verified LLM calls*", "1 call verified: 1 unchanged."])
    [(authorization, body)] = server.requests
    assert authorization == f"Bearer {KEY}"
    assert body == {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    assert CASSETTE.read_bytes() == recorded


DRIFTS: list[tuple[dict[str, Any], str, str]] = [
    ({"content": "Good morning."}, "note", "text differs"),
    ({"content": "Good", "finish_reason": "length"}, "warning", "finish reason stop → length"),
    (
        {"content": None, "tool_calls": [TOOL_CALL], "finish_reason": "tool_calls"},
        "warning",
        "tools none → weather",
    ),
    ({"status": 404}, "error", "status 200 → 404"),
    ({"status": 503}, "error", "status 200 → 503"),
    ({"answer": {**ANSWER, "created": "now"}}, "error", "field created: number → text"),
    (
        {"answer": {name: ANSWER[name] for name in ANSWER if name != "object"}},
        "error",
        "field object is gone",
    ),
    ({"answer": {**ANSWER, "extra": 1}}, "warning", "field extra is new"),
    ({"answer": {**ANSWER, "model": "gpt-4o-2027"}}, "note", "model gpt-4o-2026-01-01 → *2027"),
]
ONE_OF_EACH_SEVERITY = (DRIFTS[0], DRIFTS[1], DRIFTS[3])


@pytest.mark.parametrize(("changes", "outcome", "line"), DRIFTS)
def test_an_answer_that_drifts_is_told_by_its_severity_and_nothing_is_written(
    pytester: pytest.Pytester,
    server: DriftingServer,
    changes: dict[str, Any],
    outcome: str,
    line: str,
) -> None:
    recorded = record(pytester, server)
    drift(server, changes)
    result = pytester.runpytest(VERIFY)
    is_error = outcome == "error"
    result.assert_outcomes(**{"failed" if is_error else "passed": 1})
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if is_error else pytest.ExitCode.OK)
    told = f"call 1 (gpt-4o  'Hello'): {line}"
    result.stdout.fnmatch_lines([f"  {outcome:8} test_it.py::test_it: {told}"])
    result.stdout.fnmatch_lines([f"1 call verified: 1 {outcome}."])
    if is_error:
        command = "pytest test_it.py::test_it --llm-mock-record rewrite"
        result.stdout.fnmatch_lines(
            [f"  {told}", f"If the provider's * record the cassette again: {command}"]
        )
    assert CASSETTE.read_bytes() == recorded
    assert [path.name for path in CASSETTE.parent.iterdir()] == [CASSETTE.name]
    assert KEY not in result.stdout.str()
    assert len(server.requests) == 1


def test_answers_that_drift_are_told_by_a_worker_and_nothing_is_written(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:
        servers = {
            outcome: stack.enter_context(served(DriftingServer()))
            for _, outcome, _ in ONE_OF_EACH_SEVERITY
        }
        hosts = " ".join(server.host for server in servers.values())
        pytester.makeini(f"[pytest]\nllm_mock_hosts = {hosts}\n")
        for outcome, server in servers.items():
            pytester.makepyfile(**{f"test_{outcome}": format_test(server)})
        pytester.runpytest("--llm-mock-record=once").assert_outcomes(passed=3)
        recorded = {path: path.read_bytes() for path in Path("cassettes").glob("*/*")}
        assert len(recorded) == 3
        for changes, outcome, _ in ONE_OF_EACH_SEVERITY:
            servers[outcome].requests.clear()
            drift(servers[outcome], changes)
        result = pytester.runpytest(VERIFY, "-n", "1")
    result.assert_outcomes(passed=2, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    for _, outcome, line in ONE_OF_EACH_SEVERITY:
        told = f"call 1 (gpt-4o  'Hello'): {line}"
        result.stdout.fnmatch_lines([f"  {outcome:8} test_{outcome}.py::test_it: {told}"])
        if outcome == "error":
            command = "pytest test_error.py::test_it --llm-mock-record rewrite"
            result.stdout.fnmatch_lines(
                [f"  {told}", f"If the provider's * record the cassette again: {command}"]
            )
        assert len(servers[outcome].requests) == 1
    result.stdout.fnmatch_lines(["3 calls verified: 1 error, 1 warning, 1 note."])
    assert {path: path.read_bytes() for path in Path("cassettes").glob("*/*")} == recorded
    assert KEY not in result.stdout.str()


def test_each_turn_is_asked_as_it_was_recorded(
    pytester: pytest.Pytester, server: DriftingServer
) -> None:
    record(
        pytester,
        server,
        "first = chat(client).choices[0].message.content\n"
        "        chat(client, temperature=0.5, user=first)",
    )
    server.change(content="Quite another text")
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(passed=1)
    # The second request has the recorded answer to the first one.
    assert [body.get("user") for _, body in server.requests] == [None, "Hi."]
    result.stdout.fnmatch_lines(["2 calls verified: 2 note."])


def make_chunk(**delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}


def make_answer(content: str) -> dict[str, Any]:
    message = {**ANSWER["choices"][0]["message"], "content": content}
    return {**ANSWER, "choices": [{**ANSWER["choices"][0], "message": message}]}


STREAM = "list(chat(client, stream=True))"
EMBED = 'client.embeddings.create(model="m", input="a", encoding_format="float")'
SCHEMA = '{"type": "json_schema", "json_schema": {"name": "c", "schema": {"type": "object"}}}'
STRUCTURED = f"chat(client, response_format={SCHEMA})"
CHUNKS = [make_chunk(role="assistant", content=""), make_chunk(content="Hi.")]
OTHER_CHUNKS = [make_chunk(role="assistant", content="Hi"), make_chunk(content="."), make_chunk()]
LATE_CHUNKS = [{**chunk, "created": "x"} for chunk in CHUNKS]
BERN = make_answer('{"city": "Bern"}')
UNCHANGED = "1 call verified: 1 unchanged."


@pytest.mark.parametrize(
    ("body", "recorded", "new", "outcome", "line"),
    [
        (STREAM, CHUNKS, OTHER_CHUNKS, "passed", UNCHANGED),
        (STREAM, CHUNKS, LATE_CHUNKS, "failed", "*field [[][]].created: number → text"),
        (EMBED, VECTORS, VECTORS, "passed", UNCHANGED),
        (
            EMBED,
            VECTORS,
            {**VECTORS, "data": [{"embedding": [0.5]}]},
            "failed",
            "*field data[[][]].embedding: list of 2 numbers → list of 1 *",
        ),
        (
            STRUCTURED,
            BERN,
            make_answer("Bern"),
            "failed",
            "*the structured answer is no longer JSON",
        ),
        (
            STRUCTURED,
            BERN,
            make_answer('{"town": "Bern"}'),
            "passed",
            "  warning *structured answer: field city is gone",
        ),
    ],
)
def test_streams_embeddings_and_structured_answers_are_compared(
    pytester: pytest.Pytester,
    server: DriftingServer,
    body: str,
    recorded: Any,
    new: Any,
    outcome: str,
    line: str,
) -> None:
    server.answer = recorded
    record(pytester, server, body)
    server.answer = new
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([line])


@pytest.mark.parametrize(
    ("status", "outcome", "line"),
    [
        (400, "failed", "*status 400 → 200"),
        # It came by chance.
        *[
            (status, "passed", f"*status {status} → 200: the recorded error did not occur again")
            for status in (408, 409, 429, 500)
        ],
    ],
)
def test_a_recorded_error_is_compared_by_its_status(
    pytester: pytest.Pytester, server: DriftingServer, status: int, outcome: str, line: str
) -> None:
    server.status, server.answer = status, {"error": {"message": "No."}}
    record(pytester, server, "with pytest.raises(openai.APIStatusError):\n            chat(client)")
    result = pytester.runpytest(VERIFY)
    result.stdout.fnmatch_lines([UNCHANGED])
    server.status, server.answer = 200, ANSWER
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([line])


def test_a_provider_that_is_gone_fails_the_test(
    pytester: pytest.Pytester, server: DriftingServer
) -> None:
    record(pytester, server)
    server.shutdown()
    server.server_close()
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not verified: *127.0.0.1 cannot be reached: *"])


def test_a_run_that_verifies_nothing_fails(
    pytester: pytest.Pytester, server: DriftingServer
) -> None:
    pytester.makepyfile("def test_it():\n    pass\n")
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--llm-mock-record=verify verified nothing: none of the passed *"])


def test_a_call_without_a_recording_fails_and_is_not_sent(
    pytester: pytest.Pytester, server: DriftingServer
) -> None:
    record(pytester, server)
    CASSETTE.unlink()
    pytester.runpytest(VERIFY).assert_outcomes(failed=1)
    assert server.requests == []
    assert not CASSETTE.exists()


@pytest.fixture
def llm_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Yield a server that is a model of the user's `llm`, with a stored key."""
    with openai_server() as running:
        model = {"model_id": "own", "model_name": "own", "api_base": running.url}
        traits = {"api_key_name": "own", "can_stream": True}
        (tmp_path / "user").mkdir()
        (tmp_path / "user/extra-openai-models.yaml").write_text(json.dumps([model | traits]))
        (tmp_path / "user/keys.json").write_text(json.dumps({"own": KEY}))
        monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "user"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running


def test_calls_of_llm_are_verified_too_in_a_conversation_and_async(
    pytester: pytest.Pytester, llm_server: OpenAIServer
) -> None:
    pytester.makepyfile(
        test_it="""
        import asyncio
        import llm
        import pytest

        @pytest.mark.llm_mock_cassette
        def test_it():
            conversation = llm.get_model("own").conversation()
            assert conversation.prompt("One", stream=False).text() == "Answer 1 to: One"
            assert conversation.prompt("Two", stream=False).text() == "Answer 2 to: Two"

            async def ask():
                return await llm.get_async_model("own").prompt("Three", stream=False).text()

            assert asyncio.run(ask()) == "Answer 1 to: Three"
        """
    )
    pytester.runpytest("--llm-mock-record=once").assert_outcomes(passed=1)
    recorded = CASSETTE.read_bytes()
    before = [request["messages"] for request in llm_server.requests]
    llm_server.requests.clear()
    result = pytester.runpytest(VERIFY)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["3 calls verified: 3 unchanged."])
    assert [request["messages"] for request in llm_server.requests] == before
    assert CASSETTE.read_bytes() == recorded
    assert KEY not in result.stdout.str()


def response(**fields: Any) -> RecordedResponse:
    return RecordedResponse.model_validate({"http": {"api": "responses"}, **fields})


@pytest.mark.parametrize(
    ("recorded", "new", "expected"),
    [
        ({"a": 1}, {"a": None}, []),
        ({"a": None}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.5}, []),
        ({"a": True}, {"a": 1}, ["error: field a: boolean → number"]),
        ({"a": [{"b": 1}]}, {"a": []}, []),
        ({"a": [{"b": 1}, {}]}, {"a": [{}]}, []),
        ({"a": [{"b": 1}]}, {"a": [{}]}, ["error: field a[].b is gone"]),
        ({"a": {"b": 1}}, {"a": "b"}, ["error: field a: object → text"]),
        ({"text": "x"}, {}, []),
        ({}, {"text": "x"}, []),
        ([{"type": "x", "a": 1}], [{"type": "y", "b": 1}, {"type": "x", "a": 1}], []),
        ([{"type": "x", "a": 1}], [{"type": "x"}], ["error: field []<x>.a is gone"]),
        ({"a": 1}, "text", ["error: the body is no longer a JSON object"]),
        (
            {"a": 1},
            {"a": "1", "b": 2},
            ["error: field a: number → text", "warning: field b is new"],
        ),
    ],
)
def test_the_structure_of_bodies_is_compared(recorded: Any, new: Any, expected: list[str]) -> None:
    found = compare_responses(response(json=recorded), response(json=new), False)
    assert [f"{each.severity}: {each.text}" for each in found] == expected


OPTIONAL = """
content text refusal annotations citations audio images logprobs reasoning reasoning_content
thinking thought thoughtSignature signature tool_calls function_call functionCall groundingMetadata
safetyRatings usage obfuscation role system_fingerprint
"""


@pytest.mark.parametrize("field", OPTIONAL.split())
def test_an_answer_may_have_or_lack_a_field_that_depends_on_its_content(field: str) -> None:
    with_field, without = response(json=[{"a": 1, field: "x"}]), response(json=[{"a": 1}])
    assert compare_responses(with_field, without, False) == []
    assert compare_responses(without, with_field, False) == []
    # A field of another name may not be there.
    almost = response(json=[{"a": 1, f"{field}_": "x"}])
    [gone] = compare_responses(almost, without, False)
    assert gone == ("error", f"field [].{field}_ is gone")


def test_tools_and_their_arguments_are_compared() -> None:
    def calls(*names: str, arguments: Any = None) -> RecordedResponse:
        made = [{"name": name, "arguments": arguments or {}} for name in names]
        return response(tool_calls=made)

    def differences(recorded: RecordedResponse, new: RecordedResponse) -> list[str]:
        return [f"{each[0]}: {each[1]}" for each in compare_responses(recorded, new, True)]

    assert differences(calls("a", "b"), calls("b", "a")) == []
    assert differences(calls("a"), calls("a", arguments={"x": 1})) == [
        "note: arguments of tools differ"
    ]
    assert differences(calls("a"), calls("a", "a")) == ["warning: tools a → a, a"]
    assert differences(calls("a"), calls()) == [
        "warning: finish reason tool_calls → stop",
        "warning: tools a → none",
    ]
