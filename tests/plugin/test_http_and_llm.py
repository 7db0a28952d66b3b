"""A call of `llm` whose model sends HTTP requests is one call: counted once, wherever it goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.openai_server import OpenAIServer, openai_server


@pytest.fixture
def server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Yield a server, which a plugin of `llm` offers as a model."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with openai_server() as running:
        pytester.makeconftest(PLUGIN.format(url=running.url))
        yield running


PLUGIN = """
    import llm
    from llm.default_plugins.openai_models import AsyncChat, Chat
    from llm.plugins import pm

    class Plugin:
        @llm.hookimpl
        def register_models(self, register):
            models = [kind("loopback", model_name="served", api_base={url!r}) for kind in (Chat, AsyncChat)]
            register(*models)

    def pytest_configure(config):
        pm.register(Plugin(), "loopback")

    def pytest_unconfigure(config):
        pm.unregister(name="loopback")
"""  # noqa: E501
TEST = """
    import asyncio
    import llm
    import pytest

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("is_async", [False, True])
    def test_it(is_async, stream, mock_llm_calls{more}):
        if is_async:
            async def ask():
                return await llm.get_async_model("loopback").prompt("Hi", stream=stream).text()
            text = asyncio.run(ask())
        else:
            text = llm.get_model("loopback").prompt("Hi", stream=stream).text()
        assert text == {text!r}
        assert len(mock_llm_calls.calls) == {calls}
"""


@pytest.mark.parametrize(
    ("ini", "text", "calls", "sent", "arguments"),
    [
        ("", '{"success": true}', 1, 0, ()),
        ("llm_mock_passthrough = loopback", "Answer 1 to: Hi", 0, 4, ()),
        ("", "Answer 1 to: Hi", 1, 4, ("--llm-mock-record=all",)),
    ],
    ids=["mocked", "passing through", "recorded"],
)
def test_a_call_of_llm_is_counted_once(
    ini: str,
    text: str,
    calls: int,
    sent: int,
    arguments: tuple[str, ...],
    pytester: pytest.Pytester,
    server: OpenAIServer,
) -> None:
    pytester.makeini(f"[pytest]\nllm_mock_hosts = 127.0.0.1\n{ini}")
    pytester.makepyfile(
        TEST.format(text=text, calls=calls, more=", llm_mock_cassette" if arguments else "")
    )
    # One of the runs is a process whose `llm` has not loaded its plugins.
    run = pytester.runpytest_subprocess if arguments else pytester.runpytest
    run(*arguments).assert_outcomes(passed=4)
    assert len(server.requests) == sent


def test_a_live_test_reaches_the_provider_and_the_next_does_not(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makeini("[pytest]\nllm_mock_hosts = 127.0.0.1")
    pytester.makepyfile(
        f"""
        import openai
        import pytest

        CLIENT = openai.OpenAI(base_url={server.url!r}, api_key="none")

        def ask():
            messages = [{{"role": "user", "content": "Hi"}}]
            return CLIENT.chat.completions.create(model="loopback", messages=messages).choices[0].message.content

        @pytest.mark.llm_live
        def test_live():
            assert ask() == "Answer 1 to: Hi"

        def test_mocked(mock_llm_responses):
            mock_llm_responses.set("loopback", "Hi!")
            assert ask() == "Hi!"

        @pytest.mark.llm_live
        def test_live_again():
            assert ask() == "Answer 1 to: Hi"
        """  # noqa: E501
    )
    pytester.runpytest("--llm-mock-live", "-p", "no:randomly").assert_outcomes(passed=3)
    assert len(server.requests) == 2
