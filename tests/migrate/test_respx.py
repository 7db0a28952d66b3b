"""Routes of respx become replies, and what they record of requests becomes reads of calls."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")

from llm_mock.cli import main
from llm_mock.migrate.file import FileResult, rewrite_file
from tests.migrate.migrations import load_few_plugins

HEADER = """
import json
from contextlib import contextmanager

import httpx
import pytest
import respx
from app import ask

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"
BASE = "https://api.openai.com/v1"
ERROR = {"error": {"message": "Slow down"}}


def completion(text):
    message = {"role": "assistant", "content": text}
    return {"id": "c1", "model": "gpt-4o", "choices": [{"index": 0, "message": message}]}


async def answer_later(text):
    return httpx.Response(200, json=completion(text))


@contextmanager
def answer_once(text):
    return httpx.Response(200, json=completion(text))


def answer(text):
    return httpx.Response(200, json=completion(text))

"""
RETURNED = "respx.post(CHAT).mock(return_value={})"
JSON = "respx.post(CHAT).respond(json={})"
ANSWERED = 'route = respx.post(CHAT).mock(return_value=answer("Hi"))'
SET = 'mock_llm_responses.set("*", {})'


def rewrite(test: str) -> FileResult:
    source = HEADER + dedent(test)
    return rewrite_file(
        Path("test_app.py"), source.encode(), lambda name, target: (), lambda name: name
    )


def migrate(*lines: str, start: str = "@respx.mock", parameters: str = "") -> str:
    """Return the lines of the new test behind the call of the application, or before it."""
    body = "\n".join(f"    {line}" for line in (*lines, "ask()"))
    result = rewrite(f"{start}\ndef test_it({parameters}):\n{body}\n")
    assert result.manual_changes == ()
    assert "respx" not in result.after.partition("def answer")[2]
    new = result.after.partition("def test_it")[2].splitlines()[1:]
    return "\n".join(line.strip() for line in new if line.strip() != "ask()")


def get_reason(test: str) -> str:
    """Return why a test stays as it is; empty if nothing is said."""
    result = rewrite(test)
    assert result.changed == ()
    return "".join(change.reason for change in result.manual_changes)


@pytest.mark.parametrize(
    ("start", "parameters", "line"),
    [
        ("@respx.mock", "", 'respx.post(CHAT).mock(return_value=answer("Hi"))'),
        ("@respx.mock", "", 'respx.post(CHAT).mock(answer("Hi"))'),
        ("@respx.mock", "", 'respx.mock.post(url=CHAT, name="a").respond(json=completion("Hi"))'),
        ("@respx.mock", "", 'respx.request("POST", CHAT).respond(json=completion("Hi"))'),
        ("@respx.mock", "", 'respx.route(method="post", url=CHAT).mock(answer("Hi"))'),
        ("@respx.mock", "", 'respx.post(CHAT).respond(text=json.dumps(completion("Hi")))'),
        ("@respx.mock", "respx_mock", 'respx_mock.post(CHAT).respond(json=completion("Hi"))'),
        ("", "respx_mock", 'respx_mock.post(CHAT).respond(200, json=completion("Hi"))'),
        (
            "@pytest.mark.respx(base_url=BASE, assert_all_called=False)",
            "respx_mock",
            'respx_mock.post("/chat/completions").mock(return_value=answer("Hi"))',
        ),
    ],
)
def test_each_way_to_start_a_router_and_make_a_route_goes(
    start: str, parameters: str, line: str
) -> None:
    assert migrate(line, start=start, parameters=parameters) == SET.format('"Hi"')


def test_a_route_that_is_configured_later_is_the_same_route() -> None:
    lines = ["route = respx.post(CHAT)", 'route.return_value = answer("Hi")']
    assert migrate(*lines) == SET.format('"Hi"')
    assert migrate("route = respx.post(CHAT)", 'route.mock(answer("Hi"))') == SET.format('"Hi"')


def test_the_block_of_a_router_goes_and_what_it_checks_stays() -> None:
    test = """
    def test_it():
        with respx.mock(base_url=BASE{options}) as router:
            router.post("/chat/completions").mock(return_value=answer("Hi"))
            ask()
    """
    new = rewrite(test.format(options="")).after
    assert new.endswith(
        'mock_llm_responses.set("*", "Hi")\n    ask()\n    assert mock_llm_calls.calls\n'
    )
    # Here respx checks nothing.
    new = rewrite(test.format(options=", assert_all_called=False")).after
    assert new.endswith('mock_llm_responses.set("*", "Hi")\n    ask()\n')


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("completion('Hi')", "'Hi'"),
        (
            '{"choices": [{"message": {"content": "Hi"}, "finish_reason": "length"}]}',
            'Reply("Hi", finish_reason="length")',
        ),
        (
            '{"choices": [{"message": {"content": None, "tool_calls": [{"id": "c", "type": '
            '"function", "function": {"name": "f", "arguments": "{}"}}]}}]}',
            'Reply(tool_calls=[ToolCall("f", "{}", "c")])',
        ),
        # There is no Reply of this meaning, so the mock sends it as it is.
        ('{"choices": [], "x": 1}', 'Reply(body={"choices": [], "x": 1})'),
        ('{**completion("Hi")}', 'Reply(body={**completion("Hi")})'),
    ],
)
def test_a_body_becomes_a_reply(body: str, reply: str) -> None:
    assert migrate(JSON.format(body)) == SET.format(reply)


def test_data_that_only_a_route_needs_goes_with_it() -> None:
    lines = ['choice = {"message": {"content": "Hi"}}', 'body = {"choices": [choice]}']
    assert migrate(*lines, JSON.format("body")) == SET.format('"Hi"')
    # The test needs the first one itself.
    used = migrate(*lines, JSON.format("body"), "print(choice)")
    assert used == "\n".join((lines[0], SET.format('"Hi"'), "print(choice)"))


def test_data_under_too_many_names_is_sent_as_it_is() -> None:
    call = 'call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}'
    lines = [
        call,
        "calls = [call]",
        'message = {"content": None, "tool_calls": calls}',
        'choice = {"message": message}',
        'body = {"choices": [choice]}',
    ]
    reply = 'Reply(tool_calls=[ToolCall("f", "{}", "c")])'
    assert migrate(*lines, JSON.format("body")) == SET.format(reply)
    lines[-1:] = ["choices = [choice]", 'body = {"choices": choices}']
    new = migrate(*lines, JSON.format("body"))
    assert new.splitlines() == [*lines, SET.format("Reply(body=body)")]


def test_an_id_that_the_test_names_is_sent() -> None:
    new = migrate(JSON.format('completion("Hi")'), 'assert ask().id == "c1"')
    assert SET.format('Reply(body=completion("Hi"))') in new


def test_an_id_within_data_is_sent_only_if_the_test_names_it_again() -> None:
    lines = ['body = {"id": "c9", "choices": [{"message": {"content": "Hi"}}]}']
    assert migrate(*lines, JSON.format("body")) == SET.format('"Hi"')
    asserted = 'assert ask().id == "c9"'
    new = migrate(*lines, JSON.format("body"), asserted)
    assert new.splitlines() == [*lines, SET.format("Reply(body=body)"), asserted]


@pytest.mark.parametrize(
    ("url", "body", "line"),
    [
        (
            "https://api.openai.com/v1/responses",
            '{"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}',
            SET.format('"Hi"'),
        ),
        (
            "https://api.anthropic.com/v1/messages",
            '{"content": [{"type": "text", "text": "Hi"}], "usage": {"input_tokens": 1, '
            '"output_tokens": 2}}',
            SET.format('Reply("Hi", usage={"input": 1, "output": 2})'),
        ),
        (
            "https://api.mistral.ai/v1/chat/completions",
            'completion("Hi")',
            SET.format('"Hi"'),
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
            '{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": '
            '{"finishReason": 1}}}]}, "finishReason": "STOP"}], "modelVersion": "x"}',
            'mock_llm_responses.set("gemini-2.5-pro", '
            'Reply(tool_calls=[ToolCall("f", {"finishReason": 1})]))',
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
            '{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}], "usageMetadata": '
            '{"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}}',
            'mock_llm_responses.set("gemini-2.5-pro", '
            'Reply("Hi", usage={"input": 1, "output": 2}))',
        ),
        (
            "https://api.openai.com/v1/embeddings",
            '{"data": [{"index": 0, "embedding": [0.5]}]}',
            'mock_llm_responses.on("POST", "/**/embeddings", '
            '{"data": [{"index": 0, "embedding": [0.5]}]})',
        ),
    ],
)
def test_each_known_api_is_understood(url: str, body: str, line: str) -> None:
    assert migrate(f'respx.post("{url}").respond(json={body})') == line


@pytest.mark.parametrize(
    ("url", "response", "error"),
    [
        ("CHAT", "httpx.Response(429, json=ERROR)", "rate_limit()"),
        ("CHAT", 'httpx.Response(429, headers={"Retry-After": "2"})', "rate_limit(retry_after=2)"),
        ("CHAT", "httpx.Response(500)", "server_error()"),
        ("CHAT", "httpx.Response(401, json=ERROR)", "authentication()"),
        ("CHAT", "httpx.Response(503)", "overloaded()"),
        ("MESSAGES", "httpx.Response(529)", "overloaded()"),
    ],
)
def test_the_status_of_an_error_becomes_a_template(url: str, response: str, error: str) -> None:
    line = f"respx.post({url}).mock(return_value={response})"
    assert migrate(line) == SET.format(f"templates.{error}")


@pytest.mark.parametrize(
    ("url", "response", "path", "arguments"),
    [
        ("CHAT", "httpx.Response(404, json=ERROR)", "/v1/chat/completions", "ERROR, status=404"),
        ("MESSAGES", "httpx.Response(503)", "/v1/messages", '"", status=503'),
        (
            "CHAT",
            'httpx.Response(429, json={"error": {"code": "insufficient_quota"}})',
            "/v1/chat/completions",
            '{"error": {"code": "insufficient_quota"}}, status=429',
        ),
        (
            "CHAT",
            'httpx.Response(500, headers={"x-id": "1"})',
            "/v1/chat/completions",
            '"", status=500, headers={"x-id": "1"}',
        ),
    ],
)
def test_an_error_without_a_template_is_sent_as_it_is(
    url: str, response: str, path: str, arguments: str
) -> None:
    line = f"respx.post({url}).mock(return_value={response})"
    assert migrate(line) == f'mock_llm_responses.on("POST", "{path}", {arguments})'


def test_an_error_whose_message_the_test_names_is_sent_as_it_is() -> None:
    new = migrate(RETURNED.format("httpx.Response(429, json=ERROR)"), 'assert "Slow down" in ask()')
    assert 'mock_llm_responses.on("POST", "/v1/chat/completions", ERROR, status=429)' in new


@pytest.mark.parametrize(
    ("error", "template"),
    [
        ("httpx.ConnectError", "no_connection"),
        ('httpx.ConnectError("boom")', "no_connection"),
        ("httpx.TimeoutException", "timeout"),
        ('httpx.ReadTimeout("slow")', "timeout"),
    ],
)
def test_an_error_of_the_connection_becomes_a_template(error: str, template: str) -> None:
    new = migrate(f"respx.post(CHAT).mock(side_effect={error})")
    assert new == f'mock_llm_responses.set_error("*", templates.{template}())'


def test_several_responses_are_queued() -> None:
    effects = 'httpx.ConnectError, httpx.Response(500), answer("Hi"), answer("Hi")'
    assert migrate(f"respx.post(CHAT).mock(side_effect=[{effects}])").splitlines() == [
        'mock_llm_responses.add("*", templates.no_connection())',
        'mock_llm_responses.add("*", templates.server_error())',
        'mock_llm_responses.add("*", "Hi", times=2)',
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("assert route.called", "assert mock_llm_calls.calls"),
        ("assert route.call_count == 1", "assert len(mock_llm_calls.calls) == 1"),
        ("assert len(route.calls) == 1", "assert len(mock_llm_calls.calls) == 1"),
        ("assert respx.calls.call_count == 1", "assert len(mock_llm_calls.calls) == 1"),
        ("assert respx.calls.called is True", "assert bool(mock_llm_calls.calls) is True"),
        ("route.calls.assert_called_once()", "mock_llm_calls.assert_called_once()"),
        (
            'assert json.loads(route.calls[0].request.content)["model"] == "m"',
            'assert mock_llm_calls.calls[0].request.body["model"] == "m"',
        ),
        (
            "body = json.loads(route.calls.last.request.read())",
            "body = mock_llm_calls.last_call.request.body",
        ),
        (
            "body = json.loads(respx.calls.last.request.content.decode())",
            "body = mock_llm_calls.last_call.request.body",
        ),
        (
            "request = route.calls.last.request\n    body = json.loads(request.content)",
            "body = mock_llm_calls.last_call.request.body",
        ),
    ],
)
def test_reads_of_requests_become_reads_of_calls(old: str, new: str) -> None:
    assert migrate(ANSWERED, "ask()", old).splitlines() == [SET.format('"Hi"'), new]


UNKNOWN = "this use of the mock respx cannot be converted"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            f"{ANSWERED}\n    respx.get('https://example.com').respond(json=1)",
            "a route that is not for a model",
        ),
        ("respx.post(url__regex='.*/chat/completions').mock(answer('Hi'))", "the whole URL"),
        ("respx.post('https://own.example/v1/chat/completions').respond(json=1)", "the whole URL"),
        ("respx.post(CHAT, json={}).mock(answer('Hi'))", "the whole URL"),
        ("respx.post(CHAT) % 500", UNKNOWN),
        (
            "respx.post(CHAT).mock(side_effect=lambda request: answer(request.url))",
            "depends on the",
        ),
        (
            "def reply(request): return answer(request.url)\n"
            "    respx.post(CHAT).mock(side_effect=reply)",
            "the response of reply depends on the HTTP request",
        ),
        (
            "respx.post(CHAT).mock(return_value=httpx.Response(200, text='x'))",
            "is not literal JSON",
        ),
        (
            "respx.post(CHAT).respond(201, json=completion('Hi'))",
            "the response has status 201",
        ),
        (
            "respx.post(CHAT).respond(json=completion('Hi'), headers={'x-id': '1'})",
            "the response has its own headers",
        ),
        (
            "respx.post(CHAT).respond(json=completion('Hi'), http_version='HTTP/2')",
            "the arguments of the route are not supported: respx.post(CHAT).respond(json=",
        ),
        (
            "respx.post(CHAT).respond(*parts)",
            "the arguments of the route are not supported: respx.post(CHAT).respond(*parts)",
        ),
        (
            "respx.post(CHAT).mock(answer('Hi'), None)",
            "the arguments of the route are not supported: respx.post(CHAT).mock(answer(",
        ),
        (
            "a = b = respx.post(CHAT).mock(answer('Hi'))",
            "the route is not assigned to exactly one local variable: a = b = respx.post(CHAT)",
        ),
        (
            "respx.post(CHAT).mock(return_value=httpx.Response(*parts))",
            "the response of the route is not literal: httpx.Response(*parts)",
        ),
        (
            'respx.post(CHAT).mock(return_value=answer_later("Hi"))',
            'the response of the route is not literal: answer_later("Hi")',
        ),
        (
            'respx.post(CHAT).mock(return_value=answer_once("Hi"))',
            'the response of the route is not literal: answer_once("Hi")',
        ),
        ("respx.post(CHAT).mock(side_effect=ValueError)", "the old mock raises ValueError"),
        (
            "@respx.post(CHAT)\n    def reply(request): return answer('Hi')",
            "does not understand how the test uses this route",
        ),
        ("respx.post(CHAT).mock(side_effect=[httpx.Response(404)])", "has the error status 404"),
        (f"{ANSWERED}\n    ask()\n    assert route.calls.last.request.url == CHAT", "HTTP request"),
        (
            "with respx.mock() as one:\n        one.post(CHAT).mock(answer('Hi'))\n        ask()",
            "starts 2 respx routers",
        ),
    ],
)
def test_what_is_not_understood_stays_with_a_reason(lines: str, reason: str) -> None:
    assert reason in get_reason(f"@respx.mock\ndef test_it():\n    {lines}\n    ask()\n")


def test_a_router_that_starts_under_a_condition_is_told() -> None:
    test = """
    def test_it(respx_mock, is_mocked):
        respx_mock.post(CHAT).mock(return_value=answer("Hi"))
        if is_mocked:
            with respx.mock:
                ask()
    """
    assert get_reason(test) == "mocks are configured in a loop or under a condition"


def test_the_comment_on_a_decorator_of_a_router_stays() -> None:
    test = """
    @respx.mock  # no network
    @pytest.mark.slow
    def test_it():
        respx.post(CHAT).mock(return_value=answer("Hi"))
        ask()
    """
    after = rewrite(test).after
    assert "@respx" not in after
    new = after.partition("@pytest.mark.slow\n")[2]
    assert new.startswith("# no network\ndef test_it(mock_llm_responses):\n")


def test_a_router_of_another_fixture_is_told() -> None:
    test = "def test_it(api):\n    api.post('/chat/completions').mock(answer('Hi'))\n    ask()\n"
    assert "may be a respx router" in get_reason(test)


@pytest.mark.parametrize(
    "line",
    [
        "respx.get('https://example.com/chat').respond(json=1)",
        "client.post('/chat/completions', json={})",
    ],
)
def test_nothing_is_said_of_other_requests(line: str) -> None:
    assert get_reason(f"@respx.mock\ndef test_it(client):\n    {line}\n    ask()\n") == ""


def test_two_routes_that_must_be_called_are_left() -> None:
    lines = "respx_mock.post(CHAT).mock(answer('Hi'))\n    respx_mock.post(MESSAGES).respond(500)"
    test = "@respx.mock({options})\ndef test_it(respx_mock):\n    {lines}\n    ask()\n"
    reason = get_reason(test.format(options="", lines=lines))
    assert reason == "the test has several routes, and respx checks that each route is called"


def test_the_calls_of_a_router_with_several_routes_are_left() -> None:
    lines = (
        "respx.post(CHAT).mock(answer('Hi'))",
        "respx.post('https://api.mistral.ai/v1/chat/completions').mock(answer('Hi'))",
        "ask()",
        "assert respx.calls.call_count == 1",
    )
    body = "\n    ".join(lines)
    test = f"@respx.mock(assert_all_called=False)\ndef test_it():\n    {body}\n"
    assert get_reason(test) == "respx.calls has the requests of several routes"


def test_the_new_test_passes_where_the_old_one_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("respx")
    monkeypatch.chdir(tmp_path)
    load_few_plugins(monkeypatch, "respx")
    app = """
    import httpx

    def ask(text="Hi"):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
        response = httpx.post("https://api.openai.com/v1/chat/completions", json=body)
        response.raise_for_status()
        return response.json()["choices"][0]["message"]["content"]
    """
    tests = """
    @respx.mock
    def test_a_text():
        route = respx.post(CHAT).mock(return_value=answer("Hello"))
        assert ask("Good day") == "Hello"
        body = json.loads(route.calls.last.request.content)
        assert body["messages"][0]["content"] == "Good day"

    def test_errors(respx_mock):
        effects = [httpx.Response(429, json=ERROR), httpx.ConnectError("no")]
        respx_mock.post(CHAT).mock(side_effect=effects)
        with pytest.raises(httpx.HTTPStatusError, match="429"):
            ask()
        with pytest.raises(httpx.ConnectError):
            ask()
    """
    (tmp_path / "app.py").write_text(dedent(app))
    path = tmp_path / "test_app.py"
    path.write_text(HEADER + dedent(tests))
    result = CliRunner().invoke(main, ["migrate", "--write", str(path)])
    assert "Rewritten: 2 tests in 1 file." in result.output, result.output
    assert "respx" not in path.read_text()


@pytest.mark.parametrize(
    ("last", "reply"),
    [('e = [{"text": "Hi"}]', '"Hi"'), ('e = [f]\nf = {"text": "Hi"}', "Reply(body=a)")],
    ids=["five names", "six names"],
)
def test_json_of_up_to_five_names_within_each_other_is_understood(last: str, reply: str) -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
    names = f'a = {{"candidates": b}}\nb = [c]\nc = {{"content": d}}\nd = {{"parts": e}}\n{last}'
    source = "\n".join(reversed(names.splitlines()))
    result = rewrite(
        f'{source}\n\n@respx.mock\ndef test_it():\n    respx.post("{url}").respond(json=a)\n'
    )
    assert result.after.endswith(f'    mock_llm_responses.set("gemini-2.5-pro", {reply})\n')
