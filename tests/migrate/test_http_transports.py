"""Fake transports of clients become replies, and what handlers keep becomes reads of calls."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

HEADER = """
import json

import anthropic
import httpx
import httpx2
import openai
import pytest
from app import ask
from mistralai.client import Mistral
from openai import AsyncOpenAI, AzureOpenAI, OpenAI

BASE = "https://api.openai.com/v1"
ERROR = {"error": {"message": "Slow down"}}


def completion(text):
    message = {"role": "assistant", "content": text}
    return {"id": "c1", "model": "gpt-4o", "choices": [{"index": 0, "message": message}]}


def answer(request):
    return httpx.Response(200, json=completion("Hi"))

"""
TRANSPORT = "httpx.MockTransport({})"
CLIENT = "OpenAI(http_client=httpx.Client(transport=httpx.MockTransport({})))"
SET = 'mock_llm_responses.set("*", {})'


def rewrite(test: str) -> FileResult:
    source = HEADER + test
    return rewrite_file(
        Path("test_app.py"), source.encode(), lambda name, target: (), lambda name: name
    )


def new_test(*lines: str) -> str:
    body = indent("\n".join(dedent(line).strip("\n") for line in lines), "    ")
    return f"\ndef test_it():\n{body}\n"


def migrate(*lines: str) -> str:
    """Return the lines of the new test."""
    result = rewrite(new_test(*lines))
    assert result.manual_changes == ()
    new = result.after.partition("def test_it")[2]
    assert "Transport" not in new
    assert "http_client" not in new
    return "\n".join(new.splitlines()[1:]).strip()


def respond(response: str, *, client: str = CLIENT) -> str:
    """Return the first line of the new test for a handler that returns a response."""
    new = migrate(f"ask({client.format(f'lambda request: {response}')})")
    return new.partition("\n")[0]


def get_reason(*lines: str) -> str:
    """Return why a test stays as it is; empty if nothing is said."""
    result = rewrite(new_test(*lines))
    assert result.changed == ()
    return "".join(change.reason for change in result.manual_changes)


CLIENTS = [
    "http = httpx.Client(transport=httpx.MockTransport(answer))\nclient = OpenAI(http_client=http)",
    f"client = {CLIENT.format('answer')}",
    """
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=completion("Hi"), request=request)

    client = OpenAI(
        http_client=httpx.Client(transport=httpx.MockTransport(handler)),
    )
    """,
    """
    transport = httpx2.MockTransport(handler=lambda request: answer(request))
    http: httpx2.Client = openai.DefaultHttpxClient(transport=transport, timeout=3)
    client = OpenAI(http_client=http)
    """.replace("answer(request)", 'httpx2.Response(200, content=json.dumps(completion("Hi")))'),
]


@pytest.mark.parametrize("old", CLIENTS)
def test_a_client_loses_its_transport(old: str) -> None:
    assert migrate(old, "ask(client)").split("\n    ") == [
        SET.format('"Hi"'),
        "client = OpenAI()",
        "ask(client)",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("OpenAI(http_client={}, max_retries=0)", "OpenAI(max_retries=0)"),
        ("openai.OpenAI(api_key='x', http_client={})", "openai.OpenAI(api_key='x')"),
        ("OpenAI(base_url=BASE, http_client={})", "OpenAI(base_url=BASE)"),
        (
            "OpenAI(\n    api_key='x',\n    http_client={},\n)",
            "OpenAI(\n        api_key='x',\n    )",
        ),
    ],
)
def test_the_other_arguments_of_a_client_stay(old: str, new: str) -> None:
    http = f"httpx.Client(transport={TRANSPORT.format('answer')})"
    new_client = migrate(f"client = {old.format(http)}", "ask(client)").partition("\n    ")[2]
    assert new_client == f"client = {new}\n    ask(client)"


def test_the_blocks_of_http_clients_go_and_those_of_clients_stay() -> None:
    test = """
    with httpx.Client(transport=httpx.MockTransport(answer)) as http, OpenAI(http_client=http) as c:
        ask(c)
    """
    hi = SET.format('"Hi"')
    assert migrate(test) == f"{hi}\n    with OpenAI() as c:\n        ask(c)"
    test = """
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        ask(OpenAI(http_client=http))
    """
    assert migrate(test) == f"{hi}\n    ask(OpenAI())"


def test_the_reply_is_configured_before_a_block_with_the_client() -> None:
    test = f"""
    for text in ("a", "b"):
        ask({CLIENT.format("answer")}, text)
    """
    new = migrate(test)
    assert new.startswith(SET.format('"Hi"') + "\n    for text in")
    assert "ask(OpenAI(), text)" in new


def test_a_handler_may_be_defined_in_the_block_with_the_client() -> None:
    test = f"""
    with pytest.raises(ValueError):
        def handler(request):
            return httpx.Response(200, json=completion("Hi"))
        ask({CLIENT.format("handler")})
    """
    assert migrate(test) == (
        "with pytest.raises(ValueError):\n"
        "        def handler(request):\n"
        '            return httpx.Response(200, json=completion("Hi"))\n'
        '        mock_llm_responses.set("*", "Hi")\n'
        "        ask(OpenAI())"
    )


def test_comments_stay() -> None:
    test = f"""
    # the transport
    transport = {TRANSPORT.format("answer")}

    # the client
    client = OpenAI(http_client=httpx.Client(transport=transport))  # a real one
    ask(client)
    """
    assert migrate(test).split("\n    ") == [
        "# the transport",
        SET.format('"Hi"') + "\n",
        "# the client",
        "client = OpenAI()  # a real one",
        "ask(client)",
    ]


@pytest.mark.parametrize(
    ("client", "body", "line"),
    [
        (
            "OpenAI(http_client=httpx.Client(transport=httpx.MockTransport({})))",
            '{"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}',
            SET.format('"Hi"'),
        ),
        (
            "OpenAI(http_client=httpx.Client(transport=httpx.MockTransport({})))",
            '{"data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}',
            'mock_llm_responses.on("POST", "/**/embeddings", '
            '{"data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]})',
        ),
        (
            "anthropic.Anthropic(http_client=httpx.Client(transport=httpx.MockTransport({})))",
            '{"content": [{"type": "text", "text": "Hi"}]}',
            SET.format('"Hi"'),
        ),
        (
            "Mistral(client=httpx.Client(transport=httpx.MockTransport({})))",
            'completion("Hi")',
            SET.format('"Hi"'),
        ),
        (
            'OpenAI(base_url="https://api.mistral.ai/v1/", '
            "http_client=httpx.Client(transport=httpx.MockTransport({})))",
            'completion("Hi")',
            SET.format('"Hi"'),
        ),
    ],
)
def test_each_known_api_is_understood(client: str, body: str, line: str) -> None:
    assert respond(f"httpx.Response(200, json={body})", client=client) == line


@pytest.mark.parametrize(
    ("client", "response", "line"),
    [
        ("OpenAI", "httpx.Response(429, json=ERROR)", SET.format("templates.rate_limit()")),
        ("OpenAI", "httpx.Response(503)", SET.format("templates.overloaded()")),
        (
            "anthropic.Anthropic",
            "httpx.Response(404, json=ERROR)",
            'mock_llm_responses.on("POST", "/v1/messages", ERROR, status=404)',
        ),
    ],
)
def test_an_error_is_sent(client: str, response: str, line: str) -> None:
    assert respond(response, client=CLIENT.replace("OpenAI", client)) == line


def test_the_method_that_the_test_calls_is_the_one_that_fails() -> None:
    handler = "lambda request: httpx.Response(404, json=ERROR)"
    new = migrate(
        f"client = {CLIENT.format(handler)}", 'client.responses.create(model="a", input="b")'
    )
    assert new.startswith('mock_llm_responses.on("POST", "/v1/responses", ERROR, status=404)\n')


def test_an_error_of_the_connection_becomes_a_template() -> None:
    handler = """
    def handler(request):
        raise httpx.ConnectError("no", request=request)
    """
    new = migrate(handler, f"ask({CLIENT.format('handler')})")
    assert new.startswith('mock_llm_responses.set_error("*", templates.no_connection())\n')


@pytest.mark.parametrize(
    ("start", "keep", "old", "new"),
    [
        ("seen = []", "seen.append(request)", "assert seen", "assert mock_llm_calls.calls"),
        (
            "seen: list[httpx.Request] = []",
            "seen.append(request)",
            "assert len(seen) == 1",
            "assert len(mock_llm_calls.calls) == 1",
        ),
        (
            "seen = []",
            "seen.append(request)",
            'assert json.loads(seen[0].content)["model"] == "m"',
            'assert mock_llm_calls.calls[0].request.body["model"] == "m"',
        ),
        (
            "seen = []",
            "seen.append(request)",
            'for each in seen: assert json.loads(each.content)["model"] == "m"',
            'for each in mock_llm_calls.calls: assert each.request.body["model"] == "m"',
        ),
        (
            "seen = []",
            "seen.append(json.loads(request.content))",
            'assert seen[-1]["model"] == "m"',
            'assert mock_llm_calls.calls[-1].request.body["model"] == "m"',
        ),
        (
            "seen = {}",
            'seen["body"] = json.loads(request.read().decode())',
            'assert "tools" not in seen["body"]',
            'assert "tools" not in mock_llm_calls.last_call.request.body',
        ),
        (
            "seen = {}",
            'seen["request"] = request',
            'body = json.loads(seen["request"].content)',
            "body = mock_llm_calls.last_call.request.body",
        ),
    ],
)
def test_what_a_handler_keeps_becomes_reads_of_calls(
    start: str, keep: str, old: str, new: str
) -> None:
    handler = f"""
    {start}
    def handler(request):
        {keep}
        return httpx.Response(200, json=completion("Hi"))
    """
    test = migrate(handler, f"ask({CLIENT.format('handler')})", old)
    assert test.split("\n    ") == [SET.format('"Hi"'), "ask(OpenAI())", new]


def handle(*lines: str) -> str:
    body = indent("\n".join(lines), "    ")
    return f"def handler(request):\n{body}\nask({CLIENT.format('handler')})"


def test_a_handler_may_name_what_it_keeps() -> None:
    handler = handle(
        "body = json.loads(request.content)",
        'model = body["model"]',
        'seen["model"] = model',
        'return httpx.Response(200, json=completion("Hi"))',
    )
    new = migrate("seen = {}", handler, 'assert seen["model"] == "m"')
    assert new.splitlines()[-1].strip() == (
        'assert mock_llm_calls.last_call.request.body["model"] == "m"'
    )
    # Here the response has it.
    response = handler.replace('completion("Hi")', "completion(model)")
    assert "depends on the prompt" in get_reason("seen = {}", response)
    # Here the name has two values.
    twice = response.replace('model = body["model"]', 'model = body\n    model = model["model"]')
    assert "depends on the prompt" in get_reason("seen = {}", twice)
    # Here it is not what was sent.
    changed = handler.replace('model = body["model"]', 'body["model"] = model = "m"')
    assert "depends on the prompt" in get_reason("seen = {}", changed)


@pytest.mark.parametrize(
    ("effect", "line"),
    [
        ('return_value=httpx.Response(200, json=completion("Hi"))', SET.format('"Hi"')),
        (
            "side_effect=httpx.ReadTimeout('slow')",
            'mock_llm_responses.set_error("*", templates.timeout())',
        ),
    ],
)
def test_a_handler_may_be_a_mock(effect: str, line: str) -> None:
    new = migrate(
        "from unittest.mock import Mock",
        f"handler = Mock({effect})",
        f"ask({CLIENT.format('handler')})",
    )
    assert new == f"{line}\n    ask(OpenAI())"


MODELS = 'httpx.Response(200, json={"data": [{"id": "text-embedding-3"}]})'


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (
            handle("if request.url.path:", "    return answer(request)", "return answer(request)"),
            "handler does more than return one response: if request.url.path:",
        ),
        (
            handle('assert request.headers["x"]', "return httpx.Response(500)"),
            'handler does more than return one response: assert request.headers["x"]',
        ),
        (handle("return httpx.Response(200, json={'a': request.url})"), "depends on the prompt"),
        (
            "from unittest.mock import Mock\n"
            "handler = Mock(side_effect=[httpx.Response(500), httpx.Response(429)])\n"
            f"ask({CLIENT.format('handler')})",
            "handler does not return one literal response",
        ),
        (handle("return next(answers)"), "handler does not return one literal response"),
        (f"ask({CLIENT.format('app.handler')})", "app.handler is not a function in this file"),
        (
            f"from unittest.mock import Mock\nlog = Mock(*parts)\nask({CLIENT.format('answer')})",
            "the arguments of Mock are not literal",
        ),
        (
            handle(f"return {MODELS}"),
            "the command does not recognise the response of handler as a model's response",
        ),
        (handle("return httpx.Response(404)"), "response with status 404 is unknown"),
        (
            handle("return httpx.Response(200, text='a')"),
            "body of the response is not literal JSON",
        ),
        (handle("raise ValueError"), "the old mock raises ValueError"),
        (
            f"client = {CLIENT.format('answer')}\nclient.models.list()",
            "the client sends a request that is not a model call: client.models.list()",
        ),
        (
            f"ask({CLIENT.format('answer')}, {CLIENT.format('lambda request: None')})",
            "the test has 2 fake transports",
        ),
        (
            f"ask({CLIENT.format('answer')})\nassert answer.calls",
            "the test also uses answer for something",
        ),
        (
            f"http = httpx.Client(transport={TRANSPORT.format('answer')})\n"
            "ask(OpenAI(http_client=http))\nhttp.close()",
            "the test also uses http for something",
        ),
        (
            "ask(OpenAI(base_url='https://llm.example/v1', http_client=httpx.Client("
            f"transport={TRANSPORT.format('answer')})))",
            "the client does not use the default server of a known API: OpenAI(",
        ),
        (
            f"ask({CLIENT.replace('OpenAI', 'AzureOpenAI').format('answer')})",
            "the client does not use the default server of a known API: AzureOpenAI(",
        ),
        (
            "ask(Mistral(client=httpx.Client(transport=httpx.MockTransport(answer)), "
            "async_client=other))",
            "only one of the HTTP clients",
        ),
        (
            f"body = completion('Hi')\nclient = "
            f"{CLIENT.format('lambda request: httpx.Response(200, json=body)')}\n"
            "body = {}\nask(client)",
            "the response contains body, which may change after the client is created",
        ),
        (
            f"def new_client(): return {CLIENT.format('answer')}\nask(new_client())",
            "the client has a fake transport: OpenAI(",
        ),
        (
            "seen = []\n"
            + handle("seen.append(request)", 'return httpx.Response(200, json=completion("Hi"))')
            + "\nassert seen[0].url",
            "seen[0].url reads a part of the HTTP request",
        ),
    ],
)
def test_what_is_not_understood_stays_with_a_reason(test: str, reason: str) -> None:
    assert reason in get_reason(test)


@pytest.mark.parametrize(
    "test",
    [
        f"ask(httpx.Client(transport={TRANSPORT.format('answer')}))",
        f"ask(httpx.Client(transport={TRANSPORT.format('answer')}), OpenAI())",
        "ask(OpenAI(http_client=httpx.Client()))",
        "ask(Mistral(client=httpx.Client()))",
    ],
)
def test_a_transport_of_another_client_stays(test: str) -> None:
    assert get_reason(test) == ""


def test_the_comments_on_arguments_stay() -> None:
    test = """
    client = OpenAI(
        api_key="x",  # any key
        # no network
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),  # fake
    )
    ask(client)
    """
    assert migrate(test).split("\n    ") == [
        "# no network",
        "# fake",
        SET.format('"Hi"'),
        "client = OpenAI(",
        '    api_key="x",  # any key',
        ")",
        "ask(client)",
    ]


def test_a_fixture_with_a_client_keeps_its_transport() -> None:
    fixture = f"""
@pytest.fixture
def client():
    return {CLIENT.format("answer")}

def test_it(client):
    ask(client)
"""
    result = rewrite(fixture)
    assert result.changed == ()
    [change] = result.manual_changes
    assert change.reason == "the client has a fake transport: httpx.MockTransport(answer)"


def test_a_handler_of_another_file_stays() -> None:
    reason = "the client has a fake transport: httpx.MockTransport(handler)"
    assert get_reason(f"ask({CLIENT.format('handler')})") == reason


def test_a_handler_that_another_test_needs_stays() -> None:
    tests = new_test(f"ask({CLIENT.format('answer')})") + "\ndef test_other():\n    answer(1)\n"
    result = rewrite(tests)
    assert result.changed == ("test_it",)
    assert "def answer(request):" in result.after
