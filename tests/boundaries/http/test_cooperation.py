"""A test's own mocks take precedence, whichever library it uses."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import openai
import pytest
import requests

from llm_mock import LLMMock

CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
CHOICE = {
    "index": 0,
    "message": {"role": "assistant", "content": "of the test"},
    "finish_reason": "stop",
}
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [CHOICE],
}


def text_of(completion: Any) -> Any:
    return completion["choices"][0]["message"]["content"]


def by_openai() -> Any:
    return text_of(openai.OpenAI().chat.completions.create(**QUESTION).model_dump())


def by_async_openai() -> Any:
    async def ask() -> Any:
        async with openai.AsyncOpenAI() as client:
            return text_of((await client.chat.completions.create(**QUESTION)).model_dump())

    return asyncio.run(ask())


def by_httpx() -> Any:
    return text_of(httpx.post(CHAT, json=QUESTION).json())


def by_async_httpx() -> Any:
    async def ask() -> Any:
        async with httpx.AsyncClient() as client:
            return text_of((await client.post(CHAT, json=QUESTION)).json())

    return asyncio.run(ask())


def by_requests() -> Any:
    return text_of(requests.post(CHAT, json=QUESTION, timeout=10).json())


def with_respx(ask: Callable[[], Any]) -> Any:
    respx = pytest.importorskip("respx")
    with respx.mock:
        respx.post(CHAT).respond(json=ANSWER)
        return ask()


def with_respx_over_httpx2(ask: Callable[[], Any]) -> Any:
    respx = pytest.importorskip("respx")
    pytest.importorskip("pytest_httpx2")
    # Before version 3 openai asks by httpx.
    with respx.mock(using="httpcore2" if openai.__version__ >= "3" else "httpcore") as router:
        router.post(CHAT).respond(json=ANSWER)
        return ask()


def with_responses(ask: Callable[[], Any]) -> Any:
    responses = pytest.importorskip("responses")
    with responses.RequestsMock() as mock:
        mock.post(CHAT, json=ANSWER)
        return ask()


def with_requests_mock(ask: Callable[[], Any]) -> Any:
    with pytest.importorskip("requests_mock").Mocker() as mock:
        mock.post(CHAT, json=ANSWER)
        return ask()


@pytest.mark.parametrize(
    ("mocked", "ask"),
    [
        (with_respx, by_httpx),
        (with_respx, by_async_httpx),
        (with_respx_over_httpx2, by_openai),
        (with_respx_over_httpx2, by_async_openai),
        (with_responses, by_requests),
        (with_requests_mock, by_requests),
    ],
)
def test_another_mock_wins(mocked: Any, ask: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert ask() == "Hi!"
    assert mocked(ask) == "of the test"
    assert ask() == "Hi!"
    assert len(mock_llm_responses.calls) == 2


def wsgi(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("content-type", "application/json")])
    return [json.dumps(ANSWER).encode()]


@pytest.mark.parametrize(
    "transport",
    [
        httpx2.MockTransport(lambda request: httpx2.Response(200, json=ANSWER)),
        httpx2.WSGITransport(app=wsgi),
    ],
    ids=lambda transport: type(transport).__name__,
)
def test_a_transport_of_the_test_wins(transport: Any, mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI(http_client=httpx2.Client(transport=transport))
    assert text_of(client.chat.completions.create(**QUESTION).model_dump()) == "of the test"
    assert mock_llm_calls.calls == []


def test_an_asgi_transport_wins(mock_llm_calls: LLMMock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(ANSWER).encode()})

    async def ask() -> Any:
        http_client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
        return await openai.AsyncOpenAI(http_client=http_client).chat.completions.create(**QUESTION)

    assert text_of(asyncio.run(ask()).model_dump()) == "of the test"
    assert mock_llm_calls.calls == []


CASSETTE = """
interactions:
- request: {{body: null, headers: {{}}, method: POST, uri: '{url}'}}
  response:
    body: {{string: '{answer}'}}
    headers: {{content-type: [application/json]}}
    status: {{code: 200, message: OK}}
version: 1
"""


@pytest.mark.parametrize(
    "ask", ["httpx.post(URL, json=QUESTION)", "requests.post(URL, json=QUESTION)"]
)
def test_a_cassette_of_vcr_is_replayed(ask: str, pytester: pytest.Pytester) -> None:
    pytest.importorskip("vcr")
    folder = pytester.mkdir("cassettes")
    (folder / "it.yaml").write_text(CASSETTE.format(url=CHAT, answer=json.dumps(ANSWER)))
    pytester.makepyfile(
        f"""
        import httpx, requests, vcr

        URL, QUESTION = {CHAT!r}, {QUESTION!r}

        def test_it(mock_llm_calls):
            with vcr.use_cassette("cassettes/it.yaml", record_mode="none", match_on=["method", "uri"]):
                assert {ask}.json()["choices"][0]["message"]["content"] == "of the test"
            assert mock_llm_calls.calls == []
        """  # noqa: E501
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_run_without_sockets_is_answered(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_socket")
    pytester.makepyfile(
        f"""
        import httpx, requests

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hi!")
            for library in (httpx, requests):
                assert "Hi!" in library.post({CHAT!r}, json={QUESTION!r}).text
        """
    )
    pytester.runpytest_subprocess("-p", "socket", "--disable-socket").assert_outcomes(passed=1)


def test_the_fixtures_and_markers_of_others_win(pytester: pytest.Pytester) -> None:
    plugins = ("pytest_httpx", "pytest_httpx2", "pytest_recording")
    for plugin in plugins:
        pytest.importorskip(plugin)
    folder = pytester.mkdir("cassettes") / "test_it"
    folder.mkdir()
    (folder / "test_recording.yaml").write_text(
        CASSETTE.format(url=CHAT, answer=json.dumps(ANSWER))
    )
    pytester.makepyfile(
        test_it=f"""
        import httpx, httpx2, pytest

        URL, QUESTION, ANSWER = {CHAT!r}, {QUESTION!r}, {ANSWER!r}

        def test_httpx(httpx_mock, mock_llm_calls):
            httpx_mock.add_response(json=ANSWER)
            assert "of the test" in httpx.post(URL, json=QUESTION).text
            assert mock_llm_calls.calls == []

        def test_httpx2(httpx2_mock, mock_llm_calls):
            httpx2_mock.post(URL).respond(json=ANSWER)
            assert "of the test" in httpx2.post(URL, json=QUESTION).text
            assert mock_llm_calls.calls == []

        @pytest.mark.vcr
        def test_recording(mock_llm_calls):
            assert "of the test" in httpx.post(URL, json=QUESTION).text
            assert mock_llm_calls.calls == []
        """
    )
    options = [
        option
        for plugin in plugins
        for option in ("-p", plugin.replace("pytest_recording", "recording"))
    ]
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=3)


@pytest.mark.parametrize("ask", [by_openai, by_async_openai])
def test_a_mocked_call_costs_nothing_of_httpcore(
    ask: Callable[[], Any], mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    for library in ("httpcore", "httpcore2"):
        monkeypatch.setattr(importlib.import_module(library), "Request", None)
    assert ask() == "Hi!"
